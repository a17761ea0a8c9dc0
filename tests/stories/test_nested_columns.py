"""Fields inside structs, arrays and maps change as columns do: by name for users, never by rewriting a file."""

import pytest

from anabranch.errors import AlreadyExists, NotFound, NullViolation, Refused, SchemaError
from tests.stories.telling import rows, told

PLACES = {
    "in a struct": ("STRUCT<x: INT, y: STRING>", "named_struct('x', 1, 'y', 'a')", "s", lambda value: value),
    "in a struct of a struct": (
        "STRUCT<n: STRUCT<x: INT, y: STRING>>",
        "named_struct('n', named_struct('x', 1, 'y', 'a'))",
        "s.n",
        lambda value: value["n"],
    ),
    "in an array": (
        "ARRAY<STRUCT<x: INT, y: STRING>>",
        "array(named_struct('x', 1, 'y', 'a'))",
        "s.element",
        lambda value: value[0],
    ),
    "in a map": (
        "MAP<STRING, STRUCT<x: INT, y: STRING>>",
        "map('k', named_struct('x', 1, 'y', 'a'))",
        "s.value",
        lambda value: dict(value)["k"],
    ),
    "in an array of maps of structs": (
        "ARRAY<MAP<STRING, STRUCT<x: INT, y: STRING>>>",
        "array(map('k', named_struct('x', 1, 'y', 'a')))",
        "s.element.value",
        lambda value: dict(value[0])["k"],
    ),
}


@pytest.fixture(params=PLACES.values(), ids=PLACES.keys())
def nested(request, lake):
    """A lake with `d.t (id, s)`, the path of the inner struct, and the inner structs of all rows, by id."""
    type_, value, path, inner = request.param
    told(
        lake,
        f"CREATE TABLE d.t (id INT, s {type_})",
        f"INSERT INTO d.t VALUES (1, {value}), (2, NULL)",
    )

    def structs():
        return {id_: None if found is None else inner(found) for id_, found in rows(lake, "d.t")}

    return lake, path, structs


def test_fields_are_added_as_null(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t ADD COLUMN {path}.z DOUBLE")
    assert structs() == {1: {"x": 1, "y": "a", "z": None}, 2: None}


def test_fields_are_added_at_a_place(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t ADD COLUMNS ({path}.z DOUBLE FIRST, {path}.w INT AFTER x)")
    assert list(structs()[1].items()) == [("z", None), ("x", 1), ("w", None), ("y", "a")]


def test_fields_are_renamed(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t RENAME COLUMN {path}.x TO renamed")
    assert structs() == {1: {"renamed": 1, "y": "a"}, 2: None}


def test_fields_are_dropped_and_the_name_used_again_reads_null(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t DROP COLUMN {path}.x")
    assert structs() == {1: {"y": "a"}, 2: None}
    told(lake, f"ALTER TABLE d.t ADD COLUMN {path}.x INT")
    assert structs() == {1: {"y": "a", "x": None}, 2: None}


def test_fields_swap_their_names(nested):
    lake, path, structs = nested
    for old, new in (("x", "t"), ("y", "x"), ("t", "y")):
        told(lake, f"ALTER TABLE d.t RENAME COLUMN {path}.{old} TO {new}")
    assert structs() == {1: {"y": 1, "x": "a"}, 2: None}


def test_fields_widen(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t ALTER COLUMN {path}.x TYPE BIGINT")
    assert structs() == {1: {"x": 1, "y": "a"}, 2: None}
    assert "x:bigint" in {row[0]: row[1] for row in told(lake, "DESCRIBE d.t")}["s"]
    with pytest.raises(SchemaError, match="x"):
        told(lake, f"ALTER TABLE d.t ALTER COLUMN {path}.x TYPE INT")


def test_fields_move_and_are_commented(nested):
    lake, path, structs = nested
    told(lake, f"ALTER TABLE d.t ALTER COLUMN {path}.y FIRST", f"ALTER TABLE d.t ALTER COLUMN {path}.y COMMENT 'why'")
    assert list(structs()[1].items()) == [("y", "a"), ("x", 1)]


def test_rows_written_after_a_change_stand_beside_the_old_ones(nested):
    lake, path, structs = nested
    told(
        lake,
        f"ALTER TABLE d.t RENAME COLUMN {path}.x TO y2",
        f"ALTER TABLE d.t ALTER COLUMN {path}.y2 TYPE BIGINT",
        f"ALTER TABLE d.t DROP COLUMN {path}.y",
        f"ALTER TABLE d.t ADD COLUMN {path}.y BOOLEAN",
    )
    schema = lake.table("d.t").schema
    template = rows(lake, "d.t")
    assert structs() == {1: {"y2": 1, "y": None}, 2: None}
    # Old rows copied as they now read, through write.
    import pyarrow as pa

    lake.table("d.t").write(
        pa.table({"id": [3, 4], "s": pa.array([row[1] for row in template], schema.field("s").type)})
    )
    assert structs() == {1: {"y2": 1, "y": None}, 2: None, 3: {"y2": 1, "y": None}, 4: None}


def test_what_cannot_be_done_to_fields_says_so(nested):
    lake, path, structs = nested
    before, seen = lake.version, structs()
    for change, error, word in [
        (f"ADD COLUMN {path}.X INT", AlreadyExists, "X"),
        (f"RENAME COLUMN {path}.x TO Y", AlreadyExists, "Y"),
        (f"DROP COLUMN {path}.nothing", NotFound, "nothing"),
        (f"RENAME COLUMN {path}.yy TO z", NotFound, "y'"),
        (f"ADD COLUMN {path}.z INT DEFAULT 5", SchemaError, "z"),
        (f"ADD COLUMN {path}.z INT NOT NULL", SchemaError, "z"),
        ("ADD COLUMN id.z INT", SchemaError, "id"),
        (f"ALTER COLUMN {path}.x SET DEFAULT 5", SchemaError, "x"),
    ]:
        with pytest.raises(error, match=word):
            told(lake, f"ALTER TABLE d.t {change}")
    told(lake, f"ALTER TABLE d.t DROP COLUMN {path}.x")
    with pytest.raises(Refused, match="last field"):
        told(lake, f"ALTER TABLE d.t DROP COLUMN {path}.y")
    told(lake, f"RESTORE TABLE d.t TO VERSION {before}")
    assert structs() == seen


@pytest.mark.parametrize(
    ("narrow", "wide", "value", "reads"),
    [
        ("ARRAY<INT>", "ARRAY<BIGINT>", "array(1, NULL)", [1, None]),
        ("MAP<STRING, FLOAT>", "MAP<STRING, DOUBLE>", "map('a', CAST(0.5 AS FLOAT))", [("a", 0.5)]),
        ("ARRAY<ARRAY<TINYINT>>", "ARRAY<ARRAY<INT>>", "array(array(CAST(1 AS TINYINT)))", [[1]]),
        ("STRUCT<x: INT>", "STRUCT<x: BIGINT>", "named_struct('x', 1)", {"x": 1}),
    ],
)
def test_whole_nested_types_widen(lake, narrow, wide, value, reads):
    told(
        lake,
        f"CREATE TABLE d.t (id INT, v {narrow})",
        f"INSERT INTO d.t VALUES (1, {value}), (2, NULL)",
        f"ALTER TABLE d.t ALTER COLUMN v TYPE {wide}",
        f"INSERT INTO d.t VALUES (3, {value})",
    )
    assert rows(lake, "d.t") == [(1, reads), (2, None), (3, reads)]


@pytest.mark.parametrize("path", ["l.element", "m.value"])
def test_elements_and_values_themselves_widen_by_their_path(lake, path):
    told(lake, "CREATE TABLE d.t (l ARRAY<INT>, m MAP<STRING, INT>)", "INSERT INTO d.t VALUES (array(1), map('a', 2))")
    told(lake, f"ALTER TABLE d.t ALTER COLUMN {path} TYPE BIGINT")
    assert rows(lake, "d.t") == [([1], [("a", 2)])]
    assert "bigint" in str(told(lake, "DESCRIBE d.t"))


def test_not_null_fields_are_checked_where_their_struct_is(lake):
    told(
        lake,
        "CREATE TABLE d.t (id INT, s STRUCT<x: INT NOT NULL, y: STRING>)",
        "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'y', NULL)), (2, NULL)",
    )
    with pytest.raises(Exception, match=r"s\.x"):
        told(lake, "INSERT INTO d.t VALUES (3, named_struct('x', CAST(NULL AS INT), 'y', 'a'))")
    assert rows(lake, "d.t") == [(1, {"x": 1, "y": None}), (2, None)]
    told(lake, "ALTER TABLE d.t ALTER COLUMN s.x DROP NOT NULL")
    told(lake, "INSERT INTO d.t VALUES (3, named_struct('x', CAST(NULL AS INT), 'y', 'a'))")
    assert len(rows(lake, "d.t")) == 3


@pytest.mark.parametrize("case", PLACES.values(), ids=PLACES)
def test_not_null_holds_in_every_struct(lake, case):
    type_, value, path, _ = case
    lacking = value.replace("'a'", "NULL")
    told(
        lake, f"CREATE TABLE d.t (id INT, s {type_})", f"INSERT INTO d.t VALUES (1, {value}), (2, NULL), (3, {lacking})"
    )
    with pytest.raises(NullViolation, match=rf"'{path}\.Y' of 'd\.t' cannot become NOT NULL.*\(1 row\)"):
        told(lake, f"ALTER TABLE d.t ALTER COLUMN {path}.Y SET NOT NULL")
    told(lake, "DELETE FROM d.t WHERE id = 3", f"ALTER TABLE d.t ALTER COLUMN {path}.y SET NOT NULL")
    with pytest.raises(NullViolation, match=rf"'{path}\.y' of 'd\.t' is NOT NULL.*\(1 row\)"):
        told(lake, f"INSERT INTO d.t VALUES (4, {value}), (5, NULL), (6, {lacking})")
    with pytest.raises(NullViolation):
        told(lake, f"UPDATE d.t SET s = {lacking}")
    told(lake, f"UPDATE d.t SET s = {value}", f"ALTER TABLE d.t ALTER COLUMN {path}.y DROP NOT NULL")
    told(lake, f"INSERT INTO d.t VALUES (6, {lacking})")
    assert [id_ for id_, _ in rows(lake, "d.t")] == [1, 2, 6]


def test_predicates_read_fields(lake):
    told(
        lake,
        "CREATE TABLE d.t (id INT, s STRUCT<x: INT, y: STRING>)",
        "INSERT INTO d.t VALUES (1, named_struct('x', 1, 'y', 'a')), (2, named_struct('x', 2, 'y', 'b')), (3, NULL)",
        "ALTER TABLE d.t RENAME COLUMN s.x TO renamed",
    )
    assert rows(lake, "d.t", columns=["id"], where="s.renamed = 2") == [(2,)]
    told(lake, "DELETE FROM d.t WHERE s.renamed IS NULL", "DELETE FROM d.t AS q WHERE q.s.y = 'a'")
    assert rows(lake, "d.t", columns=["id"]) == [(2,)]
