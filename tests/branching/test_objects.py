"""Databases, tables and partitions, merged three ways.

A record is written `name key=value … #comment`; `~` before it: dropped; empty: never there. A table is `database.name`.
Several bases are a tuple.
"""

from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.branching.law import APPEND_TABLES, DATABASES, RULES
from anabranch.branching.objects import check_names, merge_database, merge_partitions, merge_table, three_way
from anabranch.model.records import DatabaseRecord, TableRecord


def attributes(text):
    text, _, comment = text.partition(" #")
    name, *pairs = text.removeprefix("~").split()
    properties = dict(pair.split("=") for pair in pairs)
    return {"name": name, "properties": properties, "comment": comment or None, "dropped": text.startswith("~")}


def database(text, id="D"):
    return DatabaseRecord(id, **attributes(text)) if text else None


def table(text, id="T", schema_id=1):
    if not text:
        return None
    found = attributes(text)
    parent, _, found["name"] = found["name"].rpartition(".")
    return TableRecord(id, parent, schema_id=schema_id, **found)


class Case(NamedTuple):
    name: str
    base: str | tuple[str, ...]
    ours: str
    theirs: str
    merged: str | None = None
    changes: str = ""
    rule: str | None = None

    @property
    def bases(self):
        return (self.base,) if isinstance(self.base, str) else self.base


BOTH_KINDS = [
    Case("nothing happened", "d.t", "d.t", "d.t", "d.t"),
    Case("nothing anywhere", "", "", "", ""),
    Case("created on ours", "", "d.t", "", "d.t"),
    Case("created on theirs", "", "", "d.t k=1", "d.t k=1", "create"),
    Case("created and dropped on theirs", "", "", "~d.t", ""),
    Case("created and dropped on ours", "", "~d.t", "", "~d.t"),
    Case("dropped before the base, revived on theirs", "~d.t", "~d.t", "d.t", "d.t", "restore"),
    Case("dropped before the base, revived on ours", "~d.t", "d.t", "~d.t", "d.t"),
    # drop
    Case("dropped on theirs", "d.t", "d.t", "~d.t", "~d.t", "drop"),
    Case("undone by going back before it was made", "d.t", "d.t", "", "~d.t", "drop"),
    Case("dropped on ours", "d.t", "~d.t", "d.t", "~d.t"),
    Case("dropped on both", "d.t", "~d.t", "~d.t", "~d.t"),
    Case("drop beside rename", "d.t", "d.u", "~d.t", "~d.u", "drop"),
    Case("drop beside set", "d.t", "d.t k=1", "~d.t", "~d.t k=1", "drop"),
    Case("drop beside unset", "d.t k=1", "d.t", "~d.t k=1", "~d.t", "drop"),
    Case("rename beside drop", "d.t", "~d.t", "d.u", rule="drop"),
    Case("set beside drop", "d.t", "~d.t", "d.t k=1", rule="drop"),
    Case("another value beside drop", "d.t k=1", "~d.t k=1", "d.t k=2", rule="drop"),
    Case("unset beside drop", "d.t k=1", "~d.t k=1", "d.t", rule="drop"),
    Case("comment beside drop", "d.t", "~d.t", "d.t #c", rule="drop"),
    Case("set and unset again beside drop", "d.t", "~d.t", "d.t", "~d.t"),
    # rename
    Case("renamed on theirs", "d.t", "d.t", "d.u", "d.u", "rename"),
    Case("renamed on ours", "d.t", "d.u", "d.t", "d.u"),
    Case("renamed alike", "d.t", "d.u", "d.u", "d.u"),
    Case("renamed on both: theirs' name", "d.t", "d.u", "d.v", "d.v", "rename"),
    Case("renamed in case alone", "d.t", "d.t", "d.T", "d.T", "rename"),
    Case("rename beside set", "d.t", "d.t k=1", "d.u", "d.u k=1", "rename"),
    Case("rename beside unset", "d.t k=1", "d.t", "d.u k=1", "d.u", "rename"),
    Case("set beside rename", "d.t", "d.u", "d.t k=1", "d.u k=1", "properties"),
    Case("unset beside rename", "d.t k=1", "d.u k=1", "d.t", "d.u", "properties"),
    # properties
    Case("set on ours", "d.t", "d.t k=1", "d.t", "d.t k=1"),
    Case("set on theirs", "d.t", "d.t", "d.t k=1", "d.t k=1", "properties"),
    Case("other keys on both", "d.t", "d.t j=1", "d.t k=1", "d.t j=1 k=1", "properties"),
    Case("set alike", "d.t", "d.t k=1", "d.t k=1", "d.t k=1"),
    Case("both set: theirs' value", "d.t k=0", "d.t k=1", "d.t k=2", "d.t k=2", "properties"),
    Case("both set anew: theirs' value", "d.t", "d.t k=1", "d.t k=2", "d.t k=2", "properties"),
    Case("set beside unset", "d.t k=0", "d.t", "d.t k=2", "d.t k=2", "properties"),
    Case("unset beside set", "d.t k=0", "d.t k=1", "d.t", "d.t", "properties"),
    Case("unset beside unset of another", "d.t j=0 k=0", "d.t j=0", "d.t k=0", "d.t", "properties"),
    Case("unset on theirs", "d.t k=0", "d.t k=0", "d.t", "d.t", "properties"),
    Case("unset on ours", "d.t k=0", "d.t", "d.t k=0", "d.t"),
    Case("1 to 2 to 1 is nothing", "d.t k=1", "d.t k=2", "d.t k=1", "d.t k=2"),
    # comments
    Case("comment on theirs", "d.t", "d.t", "d.t #c", "d.t #c", "comment"),
    Case("comment on ours", "d.t", "d.t #c", "d.t", "d.t #c"),
    Case("comment on both: theirs'", "d.t #a", "d.t #b", "d.t #c", "d.t #c", "comment"),
    Case("comment dropped on theirs", "d.t #a", "d.t #b", "d.t", "d.t", "comment"),
    Case("everything", "d.t j=1 #a", "d.t j=2", "d.u k=3 #a", "d.u k=3", "rename properties"),
    # several bases
    Case("bases agree", ("d.t", "d.t"), "d.u", "d.t", "d.u"),
    Case("bases disagree: both renamed", ("d.t", "d.u"), "d.t", "d.u", "d.u", "rename"),
    Case("bases disagree: both set", ("d.t k=1", "d.t k=2"), "d.t k=1", "d.t k=2", "d.t k=2", "properties"),
    Case("bases disagree, heads alike", ("d.t k=1", "d.t"), "d.t", "d.t", "d.t"),
    Case("one base lacks it, renamed on ours", ("d.t", ""), "d.u", "d.t", "d.u"),
    Case("one base lacks it, dropped on theirs", ("d.t", ""), "d.t", "~d.t", "~d.t", "drop"),
    Case("one base lacks it, dropped on ours", ("d.t", ""), "~d.t", "d.t", rule="drop"),
    Case("no base has it, both do", "", "d.t k=1 j=1", "d.u k=2", "d.u k=2 j=1", "rename properties"),
]

SAME_PROPERTY = [
    Case("both unset", "d.t k=0", "d.t", "d.t", rule="same property"),
    Case("both unset one of two", "d.t j=0 k=0", "d.t j=0", "d.t j=0", rule="same property"),
    Case("both bases had it", ("d.t k=0", "d.t k=1"), "d.t", "d.t", rule="same property"),
]

TABLES = [
    Case("moved to another database on theirs", "d.t", "d.t", "e.t", "e.t", "rename"),
    Case("moved on ours, renamed on theirs", "d.t", "e.t", "d.u", "e.u", "rename"),
    Case("moved beside drop", "d.t", "~d.t", "e.t", rule="drop"),
]


def without_database(text):
    return text.replace("d.t", "t").replace("d.T", "T").replace("d.u", "u").replace("d.v", "v")


def ids(cases):
    return {"argvalues": cases, "ids": [case.name for case in cases]}


def check(case, merged, read):
    if case.rule is not None:
        assert [conflict.rule for conflict in merged.conflicts] == [case.rule]
        assert case.rule in RULES
        assert merged.record == read(case.ours)
        assert merged.changes == ()
    else:
        assert merged.conflicts == ()
        assert merged.record == read(case.merged)
        assert merged.changes == tuple(case.changes.split())


@pytest.mark.parametrize("case", **ids([*BOTH_KINDS, *SAME_PROPERTY]))
def test_databases(case):
    def read(text):
        return database(without_database(text))

    check(case, merge_database([read(b) for b in case.bases], read(case.ours), read(case.theirs)), read)


@pytest.mark.parametrize("case", **ids([*BOTH_KINDS, *TABLES, *(c._replace(rule="A0") for c in SAME_PROPERTY)]))
def test_tables(case):
    check(case, merge_table([table(b) for b in case.bases], table(case.ours), table(case.theirs)), table)


PROBES = {
    "drop": lambda record: replace(record, dropped=True),
    "rename": lambda record: replace(record, name=f"{record.name}_new"),
    "properties": lambda record: replace(record, properties={**record.properties, "new": record.name}),
    "set properties": lambda record: replace(record, properties={**record.properties, "new": record.name}),
    "unset properties": lambda record: replace(record, properties={}),
}


@pytest.mark.parametrize(("theirs", "ours"), [key for key in DATABASES if set(key) <= PROBES.keys()])
def test_each_cell_of_databases(theirs, ours):
    base = database("d k=1")
    merged = merge_database([base], PROBES[ours](base), PROBES[theirs](base))
    assert bool(merged.conflicts) == (DATABASES[theirs, ours] in ("X", "same property"))


@pytest.mark.parametrize(("theirs", "ours"), [key for key in APPEND_TABLES if set(key) <= PROBES.keys()])
def test_each_cell_of_tables(theirs, ours):
    base = table("d.t k=1")
    merged = merge_table([base], PROBES[ours](base), PROBES[theirs](base))
    assert bool(merged.conflicts) == (APPEND_TABLES[theirs, ours] == "X")


def test_the_schema_stays_ours_unless_the_table_is_new():
    base, ours, theirs = (table("d.t", schema_id=n) for n in (1, 2, 3))
    assert merge_table([base], ours, replace(theirs, name="u")).record.schema_id == 2
    assert merge_table([None], None, theirs).record.schema_id == 3


def test_rows_count_as_a_change_beside_a_drop():
    base, dropped = table("d.t"), table("~d.t")
    assert merge_table([base], dropped, base).conflicts == ()
    (conflict,) = merge_table([base], dropped, base, theirs_changed_rows=True, name="d.t").conflicts
    assert (conflict.object, conflict.kind, conflict.rule) == ("d.t", "table", "drop")
    assert (conflict.base, conflict.ours, conflict.theirs) == ("t", "dropped", "rows or columns")
    assert merge_table([base], base, dropped, theirs_changed_rows=True).changes == ("drop",)


@pytest.mark.parametrize("theirs", ["d.u", "d.t k=1"])
def test_a_drop_conflict_resolved(theirs):
    case = [table("d.t")], table("~d.t"), table(theirs)
    assert merge_table(*case, resolve="ours").record == table("~d.t")
    assert merge_table(*case, resolve="ours").changes == ()
    assert merge_table(*case, resolve="theirs").record == table(theirs)
    assert merge_table(*case, resolve="theirs").changes == ("restore",)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_property_conflict_resolved(side):
    merged = merge_table([table("d.t k=0 j=0")], table("d.t j=0"), table("d.t j=1"), resolve=side)
    assert (merged.record, merged.conflicts, merged.changes) == (table("d.t j=1"), (), ("properties",))


def test_a_database_that_one_side_dropped_and_the_other_uses():
    live, dropped = database("d"), database("~d")
    (conflict,) = merge_database([live], dropped, live, theirs_changed_tables=True).conflicts
    assert conflict.rule == "drop"
    assert merge_database([live], dropped, live, theirs_changed_tables=True, resolve="theirs").record == live
    merged = merge_database([live], live, dropped, ours_filled_it="created a table in it")
    assert [c.rule for c in merged.conflicts] == ["database"]
    assert merged.record == live
    assert merge_database([live], live, dropped, ours_filled_it="created a table in it", resolve="ours").record == live
    assert (
        merge_database([live], live, dropped, ours_filled_it="created a table in it", resolve="theirs").record
        == dropped
    )
    assert merge_database([live], live, live, ours_filled_it="created a table in it").conflicts == ()


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("databases", "tables", "found"),
    [
        ("d e", "d.t d.u e.t", []),
        ("d D", "", ["database names D"]),
        ("d ~D", "d.t ~d.t", []),
        ("d", "d.t d.T", ["table names d.T"]),
        ("d", "d.t d.T d.t", ["table names d.T", "table names d.t"]),
        ("d", "d.straße d.STRASSE", ["table names d.STRASSE"]),
        ("~d", "~d.t", []),
        ("~d", "d.t", ["table database d.t"]),
        ("", "d.t", ["table database d.t"]),
        ("d D", "d.t D.t", ["database names D"]),
    ],
)
def test_names(databases, tables, found):
    parents = [database(text, id=text.removeprefix("~")) for text in databases.split()]
    records = [table(text, id=str(n)) for n, text in enumerate(tables.split())]
    assert [f"{c.kind} {c.rule} {c.object}" for c in check_names(parents, records)] == found


def test_a_name_conflict_tells_the_two_apart():
    (conflict,) = check_names([database("d", id="d")], [table("d.t", id="1"), table("d.T", id="2")])
    assert (conflict.ours, conflict.theirs) == ("table d.t, id 1", "table d.T, id 2")


def test_a_table_renamed_twice_over_meets_another():
    """Each merge is clean; together they collide."""
    renamed = merge_table([table("d.t")], table("d.t"), table("d.u")).record
    taken = table("d.u", id="other")
    assert [c.rule for c in check_names([database("d", id="d")], [renamed, taken])] == ["names"]


# --- partitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bases", "ours", "theirs", "merged"),
    [
        (["a"], "a", "a", "a"),
        (["a"], "ab", "ac", "abc"),
        (["ab"], "a", "b", ""),
        (["a"], "ab", "ab", "ab"),
        (["ab"], "a", "a", "a"),
        (["a"], "a", "", ""),
        (["a"], "", "a", ""),
        (["a", "a"], "ab", "", "b"),
        (["a", ""], "a", "a", "a"),
        (["a", ""], "", "", ""),
        ([], "a", "b", "ab"),
    ],
)
def test_partitions(bases, ours, theirs, merged):
    sets = [frozenset(base) for base in bases]
    assert merge_partitions(sets, frozenset(ours), frozenset(theirs)) == (frozenset(merged), ())
    assert merge_partitions(sets, frozenset(theirs), frozenset(ours)) == (frozenset(merged), ())


def test_partitions_on_which_the_bases_disagree():
    case = [frozenset("a"), frozenset()], frozenset("a"), frozenset()
    (conflict,) = merge_partitions(*case, table="d.t")[1]
    assert (conflict.object, conflict.kind, conflict.rule, conflict.row) == ("d.t", "partition", "A7", "a")
    assert (conflict.ours, conflict.theirs) == ("added", "dropped")
    assert merge_partitions(*case, resolve="ours") == (frozenset("a"), ())
    assert merge_partitions(*case, resolve="theirs") == (frozenset(), ())


# --- properties -------------------------------------------------------------------------------------------------------

names = st.sampled_from(["t", "u", "v"])
records = st.builds(
    TableRecord,
    id=st.just("T"),
    database_id=st.sampled_from("de"),
    name=names,
    schema_id=st.just(1),
    properties=st.dictionaries(st.sampled_from("jk"), st.sampled_from("12")),
    comment=st.sampled_from([None, "a", "b"]),
    dropped=st.booleans(),
)
maybe = st.none() | records


def live(record):
    return None if record is None or record.dropped else record


def unset(base, head):
    return bool(base and head and base.properties.keys() - head.properties.keys())


@given(maybe, maybe)
def test_one_side_alone_gets_its_way(base, changed):
    taken = merge_table([base], base, changed)
    kept = merge_table([base], changed, base)
    assert not taken.conflicts
    assert not kept.conflicts
    assert live(taken.record) == live(changed)
    assert kept.record == changed
    assert kept.changes == ()


@given(maybe, maybe)
def test_alike_heads_conflict_only_where_both_unset(base, head):
    merged = merge_table([base], head, head)
    assert bool(merged.conflicts) == unset(live(base), live(head))
    assert merged.changes == ()
    assert merged.record == head


@given(maybe, maybe, maybe, st.sampled_from(["ours", "theirs"]))
def test_a_resolution_leaves_no_conflict_and_a_second_merge_changes_nothing(base, ours, theirs, side):
    merged = merge_table([base], ours, theirs, resolve=side)
    assert not merged.conflicts
    again = merge_table([theirs], merged.record, theirs)
    assert (live(again.record), again.changes) == (live(merged.record), ())


@given(st.lists(st.integers(0, 2), min_size=1, max_size=3), st.integers(0, 2), st.integers(0, 2))
def test_three_way(bases, ours, theirs):
    merged = three_way(bases, ours, theirs)
    assert merged in (ours, theirs)
    assert (merged == theirs) == (ours == theirs or set(bases) != {theirs})
