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

# --- stories: what three branches rarely come to by chance ------------------------------------------------------------

Story = list[Step]
anything = steps_of(statements)
now_and_then = st.lists(anything, max_size=1)
assigned = st.lists(assigns, min_size=1, max_size=1).map(tuple)
of_table = st.one_of(  # changes of d.t
    st.builds(s.SetProperty, st.just("d.t"), st.sampled_from("xyz"), st.sampled_from("12")),
    st.builds(s.UnsetProperty, st.just("d.t"), st.sampled_from("xy")),
    st.builds(s.RenameTable, st.just("d.t"), st.sampled_from(["d.v", "d.w"])),
    st.builds(s.AddColumn, st.just("d.t"), specs),
    st.builds(s.DropColumn, st.just("d.t"), labels),
    st.builds(s.SetNotNull, st.just("d.t"), labels),
    st.builds(s.Widen, st.just("d.t"), labels, types),
    st.builds(s.Update, st.just("d.t"), assigned),  # of all rows
    st.builds(s.Update, st.just("d.t"), assigned),
    updates,
    deletes,
    inserts(),
)
of_database = st.one_of(
    st.builds(s.SetDatabaseProperty, st.just("d"), st.sampled_from("xyz"), st.sampled_from("12")),
    st.builds(s.UnsetDatabaseProperty, st.just("d"), st.sampled_from("xy")),
    st.builds(s.RenameDatabase, st.just("d"), st.sampled_from(["e", "f"])),
)
PROPERTIES = [
    s.SetProperty("d.t", "x", "0"),
    s.SetProperty("d.t", "y", "0"),
    s.SetDatabaseProperty("d", "x", "0"),
    s.SetDatabaseProperty("d", "y", "0"),
]
"""What `d` and `d.t` have before there are branches."""


def some(kinds: st.SearchStrategy[s.Statement], least: int = 0, most: int = 2) -> st.SearchStrategy[list[s.Statement]]:
    return st.lists(kinds, min_size=least, max_size=most)


def on(branch: str, *found: s.Statement) -> Story:
    return [(branch, statement) for statement in found]


@st.composite
def takes(draw: st.DrawFn, theirs: str) -> s.Statement:
    """What another branch has comes by a merge, or its last commit by a pick."""
    side = draw(st.sampled_from([None, None, None, "OURS", "THEIRS"]))
    merge = s.Merge(theirs, side, draw(detects))
    return draw(st.sampled_from([merge, merge, merge, s.CherryPick(f"{theirs}@0", side)]))


@st.composite
def undone(draw: st.DrawFn, branch: str, table: str = "d.t") -> s.Statement:
    """The last commits of a branch."""
    to = draw(st.sampled_from([-1, -1, -2]))
    ways = [s.RestoreTable(table, to), s.RestoreBranch(to), s.Revert(f"{branch}@{to + 1}")]
    return draw(st.sampled_from([ways[0], *ways]))


@st.composite
def alike(draw: st.DrawFn) -> Story:
    """Two branches set or unset the same property of d.t or d, beside other changes of it, and meet."""
    one, other, third = draw(st.permutations(BRANCHES))
    same, kinds = draw(
        st.sampled_from(
            [
                (s.UnsetProperty("d.t", "x"), of_table),
                (s.UnsetProperty("d.t", "x"), of_table),
                (s.SetProperty("d.t", "z", "1"), of_table),
                (s.UnsetDatabaseProperty("d", "x"), of_database),
                (s.SetDatabaseProperty("d", "z", "1"), of_database),
            ]
        )
    )
    found = []
    for branch in (one, other):
        found += on(branch, same, *draw(some(kinds, 1, 3)))
    if draw(st.sampled_from([False, False, True])):
        found += on(one, draw(undone(one)))
    found += on(one, s.Merge(other, None, draw(detects)), draw(takes(other))) + draw(now_and_then)
    return found + on(other, draw(takes(one))) + on(third, draw(takes(one)), draw(takes(other)))


@st.composite
def moves(draw: st.DrawFn) -> Story:
    """d.t moves to another database, and one of the two, or the table, goes back; another branch has changes of it."""
    one, other, third = draw(st.permutations(BRANCHES))
    of_moved = st.builds(s.Update, st.just("e.t"), assigned, wheres)
    found = on(one, s.CreateDatabase("e"))
    if draw(st.booleans()):
        found += on(other, s.Merge(one))
    found += on(one, s.RenameTable("d.t", "e.t"), *draw(some(of_moved, most=1)))
    if draw(st.sampled_from([False, False, True])):
        found += on(one, s.CreateTable("d.t", (s.ColumnSpec("k", "INT"), s.ColumnSpec("a", "INT"))))
    to = st.sampled_from([-3, -2, -2, -1])
    back = st.one_of(
        st.builds(s.RestoreDatabase, st.sampled_from(["d", "e", "e"]), to),
        st.builds(s.RestoreTable, st.sampled_from(["d.t", "e.t"]), to),
    )
    found += on(one, draw(back)) + on(other, *draw(some(of_table)))
    found += on(other, draw(takes(one))) + draw(now_and_then) + on(one, *draw(some(back, most=1)))
    return found + on(third, draw(takes(other)), draw(takes(one)))


@st.composite
def cascades(draw: st.DrawFn) -> Story:
    """A drop of d comes by way of a third branch to one that has made something in it."""
    one, other, third = draw(st.permutations(BRANCHES))
    made = s.CreateTable("d.v", (s.ColumnSpec("k", "INT"), s.ColumnSpec("a", "INT")))
    filled = s.Insert("d.v", ("k", "a"), ((1, 1),))
    found = on(one, s.DropDatabase("d", draw(st.sampled_from([True, True, False]))))
    found += on(other, *draw(st.sampled_from([[made], [made, filled], [s.RenameTable("d.t", "d.v")]])))
    found += draw(now_and_then)
    found += on(third, *draw(some(of_table, most=1)), draw(takes(one)), *draw(some(undone(third), most=1)))
    return found + on(other, draw(takes(third))) + draw(now_and_then) + on(third, draw(takes(other)))


@st.composite
def twins(draw: st.DrawFn) -> Story:
    """Two branches add a column of one name, which a merge makes one; that is undone there, the other branch goes on
    with its column, and the third one takes from both."""
    one, other, third = draw(st.permutations(BRANCHES))
    fills = st.one_of(
        st.builds(s.Update, st.just("d.t"), st.tuples(st.builds(s.Assign, st.just("c"), small)), wheres),
        st.builds(s.Insert, st.just("d.t"), st.just(("k", "c")), st.tuples(st.tuples(small, small))),
    )
    found = []
    for branch in (one, other):
        added = s.AddColumn("d.t", s.ColumnSpec("c", draw(types), default=draw(values)))
        found += on(branch, added, *draw(some(st.one_of(fills, fills, of_table))))
    found += on(one, draw(takes(other)), draw(undone(one))) + draw(now_and_then)
    if draw(st.booleans()):
        found += on(other, draw(fills))
        found += on(third, draw(takes(one)), *draw(some(fills, most=1)), draw(takes(other)))
    else:
        found += on(third, draw(takes(one))) + on(other, draw(fills)) + on(third, draw(takes(other)))
    return found + draw(st.lists(st.sampled_from(BRANCHES).flatmap(meeting), max_size=3))


def meeting(branch: str) -> st.SearchStrategy[Step]:
    others = st.sampled_from([name for name in BRANCHES if name != branch])
    return st.tuples(st.just(branch), others.flatmap(takes))


# Which stories there are, and how often.
STORIES = [
    (3, alike()),
    (2, moves()),
    (2, cascades()),
    (3, twins()),
]
stories = st.sampled_from([story for weight, story in STORIES for _ in range(weight)]).flatmap(lambda story: story)


def with_properties(beginning: list[Step]) -> list[Step]:
    """Set before there are branches."""
    at = next(at for at, (_, statement) in enumerate(beginning) if isinstance(statement, s.CreateBranch))
    return [*beginning[:at], *on("main", *PROPERTIES), *beginning[at:]]


histories_of_stories = st.builds(
    lambda beginning, story, steps: with_properties(beginning) + story + steps,
    beginnings(),
    stories,
    st.lists(anything, max_size=6),
)
