"""Random histories of keyed tables: few keys and small numbers, so that branches meet on the same keys often."""

from hypothesis import strategies as st

from . import statements as s
from .histories import BRANCHES, back, commits, refs, small, values
from .pair import Step

TABLE = st.just("d.t")

branches = st.sampled_from(BRANCHES)
wheres = st.one_of(
    st.tuples(st.builds(s.Comparison, st.just("k"), st.just("="), small)),
    st.tuples(st.builds(s.Comparison, st.sampled_from(["k", "a", "b"]), st.sampled_from(["<", ">=", "<>"]), small)),
    st.just(()),
)
assigns = st.one_of(
    st.builds(s.Assign, st.sampled_from(["a", "a", "b", "c", "k"]), values),
    st.builds(s.Assign, st.sampled_from(["a", "b"]), small, st.sampled_from(["a", "b", "k"])),
)


@st.composite
def rows_of(draw: st.DrawFn, most: int = 3) -> tuple[tuple[str, ...], tuple[tuple, ...]]:
    named = ("k", *draw(st.sampled_from([("a",), ("b",), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "c")])))
    row = st.tuples(small, *(values for _ in named[1:]))
    return named, tuple(draw(st.lists(row, min_size=1, max_size=most)))


@st.composite
def upserts(draw: st.DrawFn) -> s.Statement:
    return s.Insert("d.t", *draw(rows_of()))


@st.composite
def overwrites(draw: st.DrawFn) -> s.Statement:
    return s.Overwrite("d.t", None, *draw(rows_of(2)))


columns = st.one_of(
    st.builds(s.AddColumn, TABLE, st.builds(s.ColumnSpec, st.sampled_from(["b", "c"]), st.just("INT"), default=values)),
    st.builds(s.DropColumn, TABLE, st.sampled_from(["a", "b", "c", "k"])),
    st.builds(s.RenameColumn, TABLE, st.sampled_from(["a", "b", "k"]), st.sampled_from(["b", "c"])),
    st.builds(s.Widen, TABLE, st.sampled_from(["a", "k"]), st.just("BIGINT")),
)
MIX = [
    (10, upserts()),
    (5, st.builds(s.Update, TABLE, st.lists(assigns, min_size=1, max_size=1).map(tuple), wheres)),
    (4, st.builds(s.Delete, TABLE, wheres)),
    (1, overwrites()),
    (1, st.builds(s.Truncate, TABLE)),
    (2, st.builds(s.Rewrite, TABLE)),
    (1, columns),
    (1, st.builds(s.RestoreTable, TABLE, back)),
    (1, st.builds(s.RestoreBranch, back)),
    (1, st.builds(s.CreateBranch, st.just("new"), branches, st.none() | back)),
    (6, st.builds(s.Merge, branches)),
    (6, st.builds(s.Merge, refs, st.sampled_from([None, "OURS", "THEIRS"]))),
    (2, st.builds(s.CherryPick, commits)),
    (2, st.builds(s.Revert, commits)),
]
statements = st.sampled_from([kind for weight, kind in MIX for _ in range(weight)]).flatmap(lambda kind: kind)


@st.composite
def beginnings(draw: st.DrawFn) -> list[Step]:
    specs = (s.ColumnSpec("k", "INT", not_null=True), s.ColumnSpec("a", "INT"), s.ColumnSpec("b", "INT"))
    found = [
        s.CreateDatabase("d"),
        s.CreateKeyed("d.t", specs, "k", draw(st.sampled_from(list(s.ENGINES)))),
        s.Insert(
            "d.t", ("k", "a", "b"), tuple(draw(st.lists(st.tuples(small, values, values), max_size=3)) or [(0, 0, 0)])
        ),
        s.CreateBranch("dev", "main"),
        s.CreateBranch("exp", "main"),
    ]
    return [("main", statement) for statement in found]


# (Nobody learns much from a branch that is merged into itself.)
steps = st.tuples(branches, statements).filter(lambda step: getattr(step[1], "theirs", None) != step[0])

histories = st.builds(
    lambda beginning, steps: beginning + steps,
    beginnings(),
    st.lists(steps, min_size=6, max_size=20),
)
