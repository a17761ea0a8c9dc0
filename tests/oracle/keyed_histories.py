"""Random histories of keyed tables: few keys and small numbers, so that branches meet on the same keys often."""

from hypothesis import strategies as st

from . import statements as s
from .histories import BRANCHES, back, commits, refs, sides, small, steps_of, values
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


partitions = st.tuples(st.just("p"), st.integers(0, 1))
kinds = st.sampled_from(["+I", "+U", "-D", "-D", "-U"])


@st.composite
def rows_of(
    draw: st.DrawFn, most: int = 3, *, partition: bool = True, kind: bool = False
) -> tuple[tuple[str, ...], tuple[tuple, ...]]:
    fields = draw(st.sampled_from([("a",), ("b",), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "c")]))
    named = ("k", *fields, *(("p",) if partition else ()), *((s.KIND,) if kind else ()))
    of_labels = {"k": small, "p": st.integers(0, 1), s.KIND: kinds}
    row = st.tuples(*(of_labels.get(label, values) for label in named))
    return named, tuple(draw(st.lists(row, min_size=1, max_size=most)))


@st.composite
def upserts(draw: st.DrawFn) -> s.Statement:
    return s.Insert("d.t", *draw(rows_of()))


@st.composite
def records(draw: st.DrawFn) -> s.Statement:
    return s.Insert("d.t", *draw(rows_of(kind=True)))


@st.composite
def overwrites(draw: st.DrawFn) -> s.Statement:
    partition = draw(st.none() | partitions)
    return s.Overwrite("d.t", partition, *draw(rows_of(2, partition=partition is None)))


columns = st.one_of(
    st.builds(s.AddColumn, TABLE, st.builds(s.ColumnSpec, st.sampled_from(["b", "c"]), st.just("INT"), default=values)),
    st.builds(s.DropColumn, TABLE, st.sampled_from(["a", "b", "c", "k"])),
    st.builds(s.RenameColumn, TABLE, st.sampled_from(["a", "b", "k"]), st.sampled_from(["b", "c"])),
    st.builds(s.Widen, TABLE, st.sampled_from(["a", "k"]), st.just("BIGINT")),
)
MIX = [
    (8, upserts()),
    (4, records()),
    (5, st.builds(s.Update, TABLE, st.lists(assigns, min_size=1, max_size=1).map(tuple), wheres)),
    (4, st.builds(s.Delete, TABLE, wheres)),
    (1, overwrites()),
    (1, st.builds(s.Truncate, TABLE, st.none() | partitions)),
    (1, st.builds(s.DropPartition, TABLE, partitions)),
    (2, st.builds(s.Rewrite, TABLE)),
    (1, columns),
    (1, st.builds(s.RestoreTable, TABLE, back)),
    (1, st.builds(s.RestoreBranch, back)),
    (1, st.builds(s.CreateBranch, st.just("new"), branches, st.none() | back)),
    (6, st.builds(s.Merge, branches)),
    (6, st.builds(s.Merge, refs, st.sampled_from([None, "OURS", "THEIRS"]))),
    (2, st.builds(s.CherryPick, commits, sides)),
    (2, st.builds(s.Revert, commits, sides)),
]
statements = st.sampled_from([kind for weight, kind in MIX for _ in range(weight)]).flatmap(lambda kind: kind)


@st.composite
def beginnings(draw: st.DrawFn) -> list[Step]:
    specs = tuple(s.ColumnSpec(label, "INT", not_null=label in ("k", "p")) for label in ("k", "a", "b", "p"))
    primary, partitioned_by = draw(st.sampled_from([(("k",), None), (("k", "p"), None), (("k", "p"), "p")]))
    row = st.tuples(small, values, values, st.integers(0, 1))
    found = [
        s.CreateDatabase("d"),
        s.CreateKeyed("d.t", specs, primary, draw(st.sampled_from(list(s.ENGINES))), partitioned_by),
        s.Insert("d.t", ("k", "a", "b", "p"), tuple(draw(st.lists(row, min_size=1, max_size=3)))),
        s.CreateBranch("dev", "main"),
        s.CreateBranch("exp", "main"),
    ]
    return [("main", statement) for statement in found]


steps = steps_of(statements)
sides = st.sampled_from([None, "OURS", "THEIRS"])


@st.composite
def crossings(draw: st.DrawFn) -> list[Step]:
    """Both branches change, and each takes the other as it was before: by merges, so that from now on they have two
    bases, or by picks."""
    changes = st.one_of(upserts(), records(), st.builds(s.Delete, TABLE, wheres))
    found: list[Step] = [(branch, draw(changes)) for branch in ("main", "dev") for _ in range(draw(st.integers(1, 2)))]
    takes = draw(st.sampled_from([s.Merge, s.Merge, s.CherryPick]))
    found += [("main", takes("dev@0", draw(sides))), ("dev", takes("main@-1", draw(sides)))]
    return found + draw(st.lists(st.sampled_from([("main", s.Merge("dev")), ("dev", s.Merge("main"))]), max_size=1))


@st.composite
def returns(draw: st.DrawFn) -> list[Step]:
    """dev drops a column and writes, main writes too; the write comes to main, or the column back to dev."""
    updates = st.builds(s.Update, TABLE, st.lists(assigns, min_size=1, max_size=1).map(tuple), wheres)
    writes = st.one_of(upserts(), updates, st.builds(s.Delete, TABLE, wheres))
    found: list[Step] = [("dev", s.DropColumn("d.t", draw(st.sampled_from(["a", "b"])))), ("dev", draw(writes))]
    found += [("main", write) for write in draw(st.lists(writes, max_size=2))]
    coming = [("main", s.CherryPick("dev@0", draw(sides))), ("dev", s.Revert("dev@-1", draw(sides)))]
    return found + draw(st.lists(st.sampled_from(coming), min_size=1, max_size=2))


histories = st.builds(
    lambda beginning, crossing, steps: beginning + crossing + steps,
    beginnings(),
    st.just([]) | crossings() | returns(),
    st.lists(steps, min_size=6, max_size=20),
)
