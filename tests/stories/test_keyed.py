"""Keyed tables: one row a key, whoever wrote it and however often."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from anabranch.errors import (
    AnabranchError,
    ColumnInUse,
    ColumnMismatch,
    InvalidOption,
    KindRefused,
    NotFound,
    NullViolation,
    OptionConflict,
    Refused,
    SchemaError,
    UnknownOption,
    UnsupportedType,
)
from tests.stories.telling import rows, told


def keyed(lake, engine="deduplicate", columns="id INT, v STRING, n INT", key="id", more="", **options):
    """d.t, and the table."""
    properties = ", ".join(f"'{k}' = '{v}'" for k, v in {"merge-engine": engine, **options}.items())
    told(lake, f"CREATE TABLE d.t ({columns}, PRIMARY KEY ({key})) {more} TBLPROPERTIES ({properties})")
    return lake.table("d.t")


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_later_row_replaces_an_earlier_one(any_lake):
    keyed(any_lake)
    told(
        any_lake,
        "INSERT INTO d.t VALUES (3, 'c', 1), (1, 'a', 1)",
        "INSERT INTO d.t VALUES (1, 'A', NULL), (2, 'b', 2)",
    )
    assert rows(any_lake, "d.t") == [(1, "A", None), (2, "b", 2), (3, "c", 1)]
    assert any_lake.table("d.t").count() == 3


def test_rows_of_one_write_meet_too(lake):
    table = keyed(lake)
    table.write([{"id": 1, "v": "first"}, {"id": 1, "v": "second"}])
    assert rows(lake, "d.t") == [(1, "second", None)]


def test_kinds_come_in_a_column(lake):
    table = keyed(lake)
    table.write([{"id": 1, "v": "a", "_kind": "+I"}, {"id": 2, "v": "b", "_kind": "+I"}])
    table.write([{"id": 1, "v": "a", "_kind": "-D"}, {"id": 2, "v": "B", "_kind": "+U"}])
    assert rows(lake, "d.t") == [(2, "B", None)]
    told(lake, "INSERT INTO d.t (id, _kind) VALUES (2, '-D')")
    assert rows(lake, "d.t") == []


def test_kinds_come_in_a_column_of_the_table(lake):
    table = keyed(lake, columns="id INT, op STRING", **{"rowkind.field": "op"})
    table.write([{"id": 1, "op": "+I"}, {"id": 2, "op": "+I"}])
    table.write([{"id": 1, "op": "-D"}])
    assert rows(lake, "d.t") == [(2, "+I")]


def test_first_row_keeps_the_first(lake):
    table = keyed(lake, "first-row")
    table.write([{"id": 1, "v": "a"}])
    table.write([{"id": 1, "v": "b"}, {"id": 2, "v": "c"}])
    assert rows(lake, "d.t") == [(1, "a", None), (2, "c", None)]


def test_partial_updates_fill_in(lake):
    table = keyed(lake, "partial-update")
    table.write([{"id": 1, "v": "a"}, {"id": 2, "v": "b", "n": 2}])
    table.write([{"id": 1, "n": 7}])
    assert rows(lake, "d.t") == [(1, "a", 7), (2, "b", 2)]
    assert table.count() == 2


def test_a_sequence_field_decides_before_the_arrival(lake):
    table = keyed(lake, **{"sequence.field": "n"})
    table.write([{"id": 1, "v": "new", "n": 5}])
    table.write([{"id": 1, "v": "late", "n": 3}])
    assert rows(lake, "d.t") == [(1, "new", 5)]
    told(lake, "DELETE FROM d.t WHERE id = 1")
    assert rows(lake, "d.t") == []


def test_keys_of_several_columns_and_types(lake):
    keyed(lake, columns="s STRING, d DATE, x DECIMAL(20,2), v INT", key="s, d, x")
    told(lake, "INSERT INTO d.t VALUES ('a', DATE'2026-01-01', 1.5, 1), ('a', DATE'2026-01-02', 1.5, 2)")
    told(lake, "INSERT INTO d.t VALUES ('a', DATE'2026-01-01', 1.50, 3), ('b', DATE'2026-01-01', 1.5, 4)")
    assert sorted(row[3] for row in rows(lake, "d.t")) == [2, 3, 4]


def test_partitions(any_lake):
    keyed(any_lake, columns="id INT, day STRING, v INT", key="id, day", more="PARTITIONED BY (day)")
    told(any_lake, "INSERT INTO d.t VALUES (1, 'mon', 1), (1, 'tue', 1)", "INSERT INTO d.t VALUES (1, 'mon', 2)")
    assert rows(any_lake, "d.t") == [(1, "mon", 2), (1, "tue", 1)]
    told(any_lake, "INSERT OVERWRITE d.t PARTITION (day = 'mon') VALUES (5, 5)")
    assert rows(any_lake, "d.t") == [(1, "tue", 1), (5, "mon", 5)]
    told(any_lake, "OPTIMIZE d.t", "ALTER TABLE d.t DROP PARTITION (day = 'tue')")
    assert rows(any_lake, "d.t") == [(5, "mon", 5)]


def test_a_partition_of_both_zeros_stays_in_the_order_of_keys(lake):
    """0.0 and -0.0 are one partition, and one key: a part that had its rows by zeros first would be out of order."""
    table = keyed(lake, columns="p DOUBLE, id INT, v INT", key="p, id", more="PARTITIONED BY (p)")
    table.write({"p": [0.0, -0.0, 0.0, -0.0], "id": [1, 2, 3, 4], "v": [1, 1, 1, 1]})
    table.write({"p": [-0.0, 0.0, -0.0], "id": [1, 2, 3], "v": [2, 2, 2]})
    assert rows(lake, "d.t") == [(0.0, 1, 2), (0.0, 2, 2), (0.0, 3, 2), (0.0, 4, 1)]
    assert table.lookup({"p": [0.0] * 4, "id": [1, 2, 3, 4]})["v"].to_pylist() == [2, 2, 2, 1]
    told(lake, "OPTIMIZE d.t")
    assert rows(lake, "d.t") == [(0.0, 1, 2), (0.0, 2, 2), (0.0, 3, 2), (0.0, 4, 1)]


# --- DELETE and UPDATE ------------------------------------------------------------------------------------------------


def test_delete_and_update(any_lake):
    keyed(any_lake)
    told(
        any_lake, "INSERT INTO d.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)", "INSERT INTO d.t VALUES (2, 'B', 20)"
    )
    assert told(any_lake, "DELETE FROM d.t WHERE n = 2") == [(0,)]  # the row that it was
    assert told(any_lake, "DELETE FROM d.t WHERE n = 20") == [(1,)]
    assert told(any_lake, "UPDATE d.t SET n = n + 1, v = NULL WHERE id > 1") == [(1,)]
    assert rows(any_lake, "d.t") == [(1, "a", 1), (3, None, 4)]
    assert told(any_lake, "DELETE FROM d.t") == [(2,)]
    told(any_lake, "INSERT INTO d.t VALUES (1, 'again', 1)")
    assert rows(any_lake, "d.t") == [(1, "again", 1)]


def test_an_update_of_a_partial_update_table_sets_null_too(lake):
    table = keyed(lake, "partial-update")
    table.write([{"id": 1, "v": "a", "n": 1}])
    told(lake, "UPDATE d.t SET v = NULL WHERE id = 1")
    table.write([{"id": 1, "n": 5}])
    assert rows(lake, "d.t") == [(1, None, 5)]
    told(lake, "OPTIMIZE d.t")
    assert rows(lake, "d.t") == [(1, None, 5)]


def test_truncate_and_overwrite(lake):
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1)", "INSERT OVERWRITE d.t VALUES (2, 'b', 2)")
    assert rows(lake, "d.t") == [(2, "b", 2)]
    told(lake, "TRUNCATE TABLE d.t")
    assert rows(lake, "d.t") == []


# --- versions, branches, schemas --------------------------------------------------------------------------------------


def test_every_version_reads_as_it_was_before_and_after_compaction(lake):
    table = keyed(lake, "partial-update")
    seen = {}
    for step in range(12):
        table.write([{"id": step % 4, "v": f"v{step}"}, {"id": step % 3, "n": step}])
        seen[lake.version] = rows(lake, "d.t")
    told(lake, "OPTIMIZE d.t")
    assert {version: rows(lake, "d.t", version) for version in seen} == seen


def test_branches_go_their_own_ways(lake):
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1)", "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (1, 'dev', 1)")
    told(lake, "INSERT INTO d.t VALUES (1, 'main', 1)", "OPTIMIZE d.t", "OPTIMIZE d.t@dev")
    assert (rows(lake, "d.t"), rows(lake, "d.t@dev")) == ([(1, "main", 1)], [(1, "dev", 1)])


def test_restore_brings_the_order_of_writes_back(lake):
    keyed(lake)
    told(lake, "INSERT INTO d.t VALUES (1, 'a', 1)", "INSERT INTO d.t VALUES (1, 'b', 1)")
    version = lake.version
    told(lake, "TRUNCATE TABLE d.t", "INSERT INTO d.t VALUES (1, 'c', 1)", f"RESTORE TABLE d.t TO VERSION {version}")
    assert rows(lake, "d.t") == [(1, "b", 1)]


def test_columns_come_go_and_widen(lake):
    table = keyed(lake)
    table.write([{"id": 1, "v": "a", "n": 1}, {"id": 2, "v": "b", "n": 2}])
    told(lake, "ALTER TABLE d.t ADD COLUMN x INT DEFAULT 9", "ALTER TABLE d.t DROP COLUMN v")
    told(lake, "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT", "ALTER TABLE d.t RENAME COLUMN id TO key")
    table.write([{"key": 2**40, "n": 3, "x": 3}, {"key": 1, "n": 10, "x": 10}])
    assert rows(lake, "d.t") == [(1, 10, 10), (2, 2, 9), (2**40, 3, 3)]
    told(lake, "OPTIMIZE d.t")
    assert rows(lake, "d.t") == [(1, 10, 10), (2, 2, 9), (2**40, 3, 3)]
    assert table.lookup([2**40, 2]).to_pydict() == {"key": [2**40, 2], "n": [3, 2], "x": [3, 9]}


# --- lookup -----------------------------------------------------------------------------------------------------------


def test_lookup_gives_rows_in_the_order_of_the_keys(lake):
    table = keyed(lake, "partial-update")
    table.write([{"id": i, "v": f"v{i}"} for i in range(10)])
    table.write([{"id": 3, "n": 3}])
    assert table.lookup([7, 3, 99, 3]).to_pylist() == [
        {"id": 7, "v": "v7", "n": None},
        {"id": 3, "v": "v3", "n": 3},
        {"id": 3, "v": "v3", "n": 3},
    ]
    assert table.lookup({"id": [1]}, columns=["v"]).to_pydict() == {"v": ["v1"]}
    assert table.lookup([]).num_rows == 0


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ([None], NullViolation),
        ([{"x": 1}], ColumnMismatch),
        (["one"], AnabranchError),
        ([{"id": 1, "v": "a"}], ColumnMismatch),
    ],
)
def test_keys_that_are_none(lake, keys, error):
    table = keyed(lake)
    with pytest.raises(error):
        table.lookup(keys)


def test_lookup_needs_a_key(lake):
    lake.create_table("d.u", "a INT")
    with pytest.raises(Refused, match="no primary key"):
        lake.table("d.u").lookup([1])


# --- many small writes ------------------------------------------------------------------------------------------------


def naive(model, engine, key, values):
    """What the row of a key becomes."""
    old = model.get(key)
    if engine == "deduplicate" or old is None:
        model[key] = values
    elif engine == "partial-update":
        model[key] = tuple(o if n is None else n for o, n in zip(old, values, strict=True))


@pytest.mark.parametrize("sort_engine", ["vectorized", "loser-tree", "min-heap"])
@pytest.mark.parametrize("engine", ["deduplicate", "first-row", "partial-update"])
def test_compaction_beside_writes_keeps_every_row(lake, engine, sort_engine):
    table = keyed(lake, engine, "id INT, a INT, b INT", **{"sort-engine": sort_engine})
    chance, model = random.Random(7), {}
    for step in range(40):
        made = [(chance.randrange(60), chance.choice([None, step]), chance.choice([None, step])) for _ in range(8)]
        for key, *values in made:
            naive(model, engine, key, tuple(values))
        ids, a, b = zip(*made, strict=True)
        table.write(
            pa.table({"id": pa.array(ids, pa.int32()), "a": pa.array(a, pa.int32()), "b": pa.array(b, pa.int32())})
        )
        if step % 7 == 0:
            assert rows(lake, "d.t") == sorted(((k, *v) for k, v in model.items()), key=lambda r: r[0])
    lake._session.shared.compactor.wait()
    view = lake._session.view(table._open())
    assert len(view.state.parts) == 40
    assert len(view.parts) < 12, "runs were merged in the background"
    found = {row["id"]: (row["a"], row["b"]) for row in table.to_arrow().to_pylist()}
    assert found == model


def test_combined_rows_of_several_partitions(lake):
    """What was combined before hides its own old version, whichever partition it is in."""
    table = keyed(lake, "partial-update", "id INT, p INT, a INT", "id, p", "PARTITIONED BY (p)")
    model = {}
    for step in range(6):
        made = [(id, p, step) for id in range(3) for p in range(2) if (id + p + step) % 3]
        model |= {(id, p): a for id, p, a in made}
        table.write([dict(zip(("id", "p", "a"), row, strict=True)) for row in made])
        assert rows(lake, "d.t") == sorted((*key, a) for key, a in model.items())


# --- compaction forgets nothing that a later record can tell ----------------------------------------------------------

FORGETTING = {
    "a delete stays at its sequence": ({"sequence.field": "s"}, [(1, 1, 1, "+I"), (1, 1, 5, "-D")], (1, 3, 3), []),
    "a sum has been taken from": (
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        [(1, 5, 1, "-D")], (1, 3, 2), [(1, -2, 2)]
    ),
    "a retract advanced a group": (
        {"merge-engine": "partial-update", "fields.s.sequence-group": "v"}, [(1, 5, 5, "-D")], (1, 3, 3), [(1, None, 5)]
    ),
    "a removed row starts from nothing": (
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        [(1, 1, 1, "+I"), (1, 1, 1, "-D")], (1, None, 2), [(1, None, 2)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("told_before", FORGETTING)
@pytest.mark.parametrize("compacting", ["never", "before", "on another branch", "twice"])
def test_compaction_forgets_nothing_that_a_later_record_can_tell(lake, told_before, compacting):
    options, before, after, expected = FORGETTING[told_before]
    properties = ", ".join(f"'{name}' = '{word}'" for name, word in options.items())
    told(lake, f"CREATE TABLE d.t (id INT, v INT, s INT, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    table = lake.table("d.t")
    for record in before:
        table.write([dict(zip(("id", "v", "s", "_kind"), record, strict=True))])
    told(lake, "CREATE BRANCH dev")
    if compacting != "never":
        told(lake, "OPTIMIZE d.t")
        assert rows(lake, "d.t") == []
    if compacting == "twice":
        version = lake.version
        told(lake, "OPTIMIZE d.t")
        assert lake.version == version, "there was nothing to do"
    on = lake.on("dev") if compacting == "on another branch" else lake
    on.table("d.t").write([dict(zip(("id", "v", "s"), after, strict=True))])
    assert rows(on, "d.t") == expected


def test_a_compacted_delete_keeps_its_sequence_in_a_merge(lake):
    keyed(lake, columns="id INT, v INT, s INT", **{"sequence.field": "s"})
    told(lake, "INSERT INTO d.t VALUES (1, 1, 1)", "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (1, 3, 3)")
    told(lake, "INSERT INTO d.t (id, s, _kind) VALUES (1, 5, '-D')", "OPTIMIZE d.t", "MERGE BRANCH dev")
    assert rows(lake, "d.t") == []


# --- bad input --------------------------------------------------------------------------------------------------------

CREATES = {
    "CREATE TABLE d.x (id INT, PRIMARY KEY (ie))": SchemaError,
    "CREATE TABLE d.x (id INT, v INT, PRIMARY KEY (id, id))": SchemaError,
    "CREATE TABLE d.x (id ARRAY<INT>, v INT, PRIMARY KEY (id))": UnsupportedType,
    "CREATE TABLE d.x (id INT, p INT, PRIMARY KEY (id)) PARTITIONED BY (p)": SchemaError,
    "CREATE TABLE d.x (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engine' = 'dedup')": InvalidOption,
    "CREATE TABLE d.x (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('merge-engin' = 'deduplicate')": UnknownOption,
    "CREATE TABLE d.x (id INT, v INT, PRIMARY KEY (id)) TBLPROPERTIES ('sequence.field' = 'w')": OptionConflict,
    "CREATE TABLE d.x (id INT, v INT) TBLPROPERTIES ('merge-engine' = 'deduplicate')": OptionConflict,
    "CREATE TABLE d.x (id INT PRIMARY KEY) TBLPROPERTIES ('num-sorted-run.stop-trigger' = '1')": InvalidOption,
    "CREATE TABLE d.x (id INT PRIMARY KEY) TBLPROPERTIES ('num-sorted-run.stop-trigger' = '4')": OptionConflict,
}


@pytest.mark.parametrize("statement", CREATES)
def test_tables_that_are_refused(lake, statement):
    with pytest.raises(CREATES[statement]):
        lake.sql(statement)
    assert lake.tables() == []


WRITES = {
    "null key": ([{"id": None, "v": "x"}], NullViolation),
    "unknown kind": ([{"id": 1, "_kind": "x"}], KindRefused),
    "no kind": ([{"id": 1, "_kind": None}], KindRefused),
    "no key": ([{"v": "x"}], ColumnMismatch),
}


@pytest.mark.parametrize("case", WRITES)
def test_rows_that_are_refused(lake, case):
    table = keyed(lake)
    table.write([{"id": 1, "v": "a"}])
    version = lake.version
    data, error = WRITES[case]
    with pytest.raises(error):
        table.write(data)
    assert (lake.version, rows(lake, "d.t")) == (version, [(1, "a", None)])


@pytest.mark.parametrize("engine", ["first-row", "partial-update"])
def test_retracts_where_the_engine_takes_none(lake, engine):
    table = keyed(lake, engine)
    with pytest.raises(KindRefused):
        table.write([{"id": 1, "_kind": "-D"}])
    with pytest.raises(Refused):
        lake.sql("DELETE FROM d.t WHERE id = 1")


ALTERS = {
    "ALTER TABLE d.t DROP COLUMN id": Refused,
    "ALTER TABLE d.t ALTER COLUMN id DROP NOT NULL": Refused,
    "ALTER TABLE d.t SET TBLPROPERTIES ('merge-engine' = 'first-row')": OptionConflict,
    "ALTER TABLE d.t SET TBLPROPERTIES ('sequence.field' = 'v')": OptionConflict,
    "ALTER TABLE d.t UNSET TBLPROPERTIES ('sequence.field')": OptionConflict,
    "ALTER TABLE d.t RENAME COLUMN n TO m": ColumnInUse,
    "ALTER TABLE d.t DROP COLUMN n": ColumnInUse,
    "UPDATE d.t SET id = 2": Refused,
    "UPDATE d.t SET nothing = 2": NotFound,
}


@pytest.mark.parametrize("statement", ALTERS)
def test_changes_that_would_break_the_key_or_the_engine(lake, statement):
    table = keyed(lake, **{"sequence.field": "n"})
    table.write([{"id": 1, "v": "a", "n": 1}])
    version = lake.version
    with pytest.raises(ALTERS[statement]):
        lake.sql(statement)
    assert (lake.version, rows(lake, "d.t")) == (version, [(1, "a", 1)])
