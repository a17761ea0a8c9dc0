"""Random histories: statements over few names and small numbers, so that branches meet on the same things often."""

from hypothesis import strategies as st

from . import statements as s
from .pair import CHERRY_PICKS, MERGES, REVERTS, REWRITES, Step

BRANCHES = ["main", "dev", "exp"]
TABLES = ["d.t", "d.u"]
LABELS = ["k", "a", "b", "c"]
PARTITION = "p"
TYPES = ["INT", "BIGINT", "DOUBLE"]

branches = st.sampled_from(BRANCHES)
tables = st.sampled_from(["d.t", "d.t", "d.t", "d.u"])
any_tables = st.sampled_from([*TABLES, "d.v", "e.t"])
databases = st.sampled_from(["d", "e"])
labels = st.sampled_from(LABELS)
new_labels = st.sampled_from(["b", "c", "C", "x"])
types = st.sampled_from(TYPES)
small = st.integers(0, 3)
values = st.one_of(small, small, small, st.none())
back = st.integers(-4, -1)
commits = st.builds("{}@{}".format, branches, st.integers(-3, 0))
refs = st.one_of(branches, commits)

comparisons = st.one_of(
    st.builds(
        s.Comparison, st.sampled_from(["k", "k", "a", "b", "c", "p"]), st.sampled_from(["=", "<>", "<", ">="]), small
    ),
    st.builds(s.Comparison, labels, st.just("IS"), st.none()),
)
wheres = st.one_of(
    st.tuples(st.builds(s.Comparison, st.just("k"), st.just("="), small)),
    st.lists(comparisons, max_size=2).map(tuple),
)
assigns = st.one_of(
    st.builds(s.Assign, st.sampled_from(["a", "a", "b", "c", "p", "k"]), values),
    st.builds(s.Assign, st.sampled_from(["a", "b"]), small, st.sampled_from(["a", "b", "k"])),
)
specs = st.builds(s.ColumnSpec, new_labels, types, st.booleans(), values)
partitions = st.tuples(st.just(PARTITION), st.integers(0, 1))


@st.composite
def rows_of(draw: st.DrawFn, columns: list[str], most: int = 3) -> tuple[tuple[str, ...], tuple[tuple, ...]]:
    more = draw(st.lists(labels, unique=True, max_size=2))
    named = tuple(dict.fromkeys([*columns, *(label for label in more if label not in columns)]))
    row = st.tuples(
        *(st.integers(0, 1) if label == PARTITION else small if label == "k" else values for label in named)
    )
    return named, tuple(draw(st.lists(row, min_size=1, max_size=most)))


@st.composite
def inserts(draw: st.DrawFn) -> s.Statement:
    named, rows = draw(rows_of(["k", "a", PARTITION]))
    return s.Insert(draw(tables), named, rows)


@st.composite
def overwrites(draw: st.DrawFn) -> s.Statement:
    partition = draw(st.none() | partitions)
    named, rows = draw(rows_of(["k", "a"] if partition else ["k", "a", PARTITION], most=2))
    return s.Overwrite(draw(tables), partition, named, rows)


updates = st.builds(
    s.Update, tables, st.lists(assigns, min_size=1, max_size=2, unique_by=lambda a: a.column).map(tuple), wheres
)
deletes = st.builds(s.Delete, tables, wheres)
emptying = st.one_of(
    st.builds(s.Truncate, tables, st.none() | partitions),
    st.builds(s.DropPartition, tables, partitions),
    st.builds(s.AddPartition, tables, st.tuples(st.just(PARTITION), st.integers(0, 3))),
)
columns = st.one_of(
    st.builds(s.AddColumn, tables, specs),
    st.builds(s.AddColumn, tables, specs),
    st.builds(s.DropColumn, tables, labels),
    st.builds(s.RenameColumn, tables, labels, new_labels),
    st.builds(s.Widen, tables, labels, types),
    st.builds(s.SetNotNull, tables, labels),
    st.builds(s.DropNotNull, tables, labels),
    st.builds(s.SetDefault, tables, labels, small),
    st.builds(s.DropDefault, tables, labels),
)
objects = st.one_of(
    st.builds(s.CreateDatabase, databases),
    st.builds(s.DropDatabase, databases, st.booleans()),
    st.builds(s.RenameDatabase, databases, databases),
    st.builds(s.SetDatabaseProperty, databases, st.sampled_from("xy"), st.sampled_from("12")),
    st.builds(s.UnsetDatabaseProperty, databases, st.sampled_from("xy")),
    st.builds(s.DropTable, any_tables),
    st.builds(s.RenameTable, any_tables, any_tables),
    st.builds(
        s.CreateTable,
        any_tables,
        st.just((s.ColumnSpec("k", "INT"), s.ColumnSpec("a", "INT", default=1), s.ColumnSpec("p", "INT"))),
        st.none() | st.just(PARTITION),
    ),
    st.builds(s.SetProperty, tables, st.sampled_from("xy"), st.sampled_from("12")),
    st.builds(s.UnsetProperty, tables, st.sampled_from("xy")),
)
restores = st.one_of(
    st.builds(s.RestoreTable, any_tables, back),
    st.builds(s.RestoreTable, tables, back),
    st.builds(s.RestoreDatabase, databases, back),
    st.builds(s.RestoreBranch, back),
)
branching = st.one_of(
    st.builds(s.CreateBranch, st.sampled_from(["dev", "exp", "new"]), branches, st.none() | back),
    st.builds(s.DropBranch, st.sampled_from(["dev", "exp", "new"])),
)
detects = st.sampled_from([None, "file", "row", "cell"])
sides = st.sampled_from([None, None, "OURS", "THEIRS"])
merges = st.one_of(
    st.builds(s.Merge, branches, st.none(), detects),
    st.builds(s.Merge, branches, st.none(), detects),
    st.builds(s.Merge, refs, st.sampled_from([None, "OURS", "THEIRS"]), detects),
)

upserts = st.builds(
    s.Upsert,
    tables,
    st.lists(st.tuples(small, values), min_size=1, max_size=3, unique_by=lambda row: row[0]).map(tuple),
)

# What a history is made of, and how often.
MIX = [
    (4, inserts()),
    (6, updates),
    (4, deletes),
    (2, overwrites()),
    (2, emptying),
    (5, columns),
    (2, objects),
    (2, restores),
    (1, branching),
    (6 if MERGES else 0, merges),
    (2 if CHERRY_PICKS else 0, st.builds(s.CherryPick, commits, sides)),
    (2 if REVERTS else 0, st.builds(s.Revert, commits, sides)),
    (1 if REWRITES else 0, st.builds(s.Rewrite, tables)),
]
# (st.one_of would flatten its parts and forget the weights.)
statements = st.sampled_from([kind for weight, kind in MIX for _ in range(weight)]).flatmap(lambda kind: kind)

# What tables know of rows alone, with MERGE INTO among it.
OF_ROWS = [
    (3, inserts()),
    (3, updates),
    (6, upserts),
    (3, deletes),
    (1, overwrites()),
    (1, st.builds(s.RestoreTable, tables, back)),
    (6, merges),
    (1, st.builds(s.CherryPick, commits, sides)),
    (1, st.builds(s.Revert, commits, sides)),
    (1, st.builds(s.Rewrite, tables)),
]
of_rows = st.sampled_from([kind for weight, kind in OF_ROWS for _ in range(weight)]).flatmap(lambda kind: kind)


@st.composite
def beginnings(draw: st.DrawFn) -> list[Step]:
    """A database, one or two tables with some rows, and two branches."""
    found: list[s.Statement] = [s.CreateDatabase("d")]
    for table in TABLES[: draw(st.integers(1, 2))]:
        specs = [
            s.ColumnSpec("k", "INT", not_null=True),
            s.ColumnSpec("a", "INT", default=draw(values)),
            s.ColumnSpec("b", "INT"),
            s.ColumnSpec(PARTITION, "INT"),
        ]
        found.append(s.CreateTable(table, tuple(specs), draw(st.sampled_from([PARTITION, PARTITION, None]))))
        named, rows = draw(rows_of(["k", "a", PARTITION]))
        found.append(s.Insert(table, named[:3], tuple(row[:3] for row in rows)))
    found += [s.CreateBranch("dev", "main"), s.CreateBranch("exp", draw(st.sampled_from(["main", "dev"])))]
    return [("main", statement) for statement in found]


def steps_of(kinds: st.SearchStrategy[s.Statement]) -> st.SearchStrategy[Step]:
    """Nobody learns much from a branch that is merged into itself."""
    return st.tuples(branches, kinds).filter(lambda step: getattr(step[1], "theirs", None) != step[0])


def histories_of(kinds: st.SearchStrategy[s.Statement]) -> st.SearchStrategy[list[Step]]:
    return st.builds(list.__add__, beginnings(), st.lists(steps_of(kinds), min_size=4, max_size=20))


histories, histories_of_rows = histories_of(statements), histories_of(of_rows)
