"""Spark's own Parquet writer: its parts are those of the kernel, in rows, bounds and positions, and all or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from anabranch.errors import DataError, NullViolation, StorageError, ValueOutOfRange
from anabranch.execution import file_columns, spark_keyed, spark_parquet, spark_writer
from anabranch.execution.estimates import planned
from anabranch.execution.reader import ROW_ID, read_table
from anabranch.execution.shape import by_place
from anabranch.execution.slots import Slots
from anabranch.model.part import POSITION_BITS, bounds_of, row_groups
from anabranch.model.schema import Column, Schema
from anabranch.model.types import Struct, StructField, parse_type
from anabranch.options import Limits
from anabranch.storage.files import Files
from anabranch.storage.parquet import Destination
from tests.execution.conftest import WAYS
from tests.execution.plans import plan_of
from tests.execution.rows import rows

# Column -> its type and a value of `id`; every third value of each is NULL.
VALUES = {
    "tiny": ("TINYINT", "CAST(id % 100 AS TINYINT)"),
    "small": ("SMALLINT", "CAST(id - 100 AS SMALLINT)"),
    "big": ("BIGINT", "id * 3000000000"),
    "f": ("FLOAT", "CAST(IF(id % 50 = 7, 'NaN', id / 7) AS FLOAT)"),
    "x": ("DOUBLE", "id / 7 - 10"),
    "nan_first": ("DOUBLE", "CASE WHEN id < 5 THEN double('NaN') ELSE -id / 3 END"),
    "nan_last": ("DOUBLE", "CASE WHEN id > 295 THEN double('NaN') ELSE -id / 3 END"),
    "nan_only": ("DOUBLE", "double('NaN')"),
    "infinite": ("DOUBLE", "CASE id % 4 WHEN 0 THEN double('-Infinity') WHEN 1 THEN double('Infinity') ELSE id END"),
    "zero": ("DOUBLE", "CASE WHEN id % 2 = 0 THEN double('-0.0') ELSE double('0.0') END"),
    "minus_zero": ("FLOAT", "float('-0.0')"),
    "d5": ("DECIMAL(5,2)", "CAST(id - 150 AS DECIMAL(5,2)) / 2"),
    "d18": ("DECIMAL(18,3)", "CAST(id * 1000000 AS DECIMAL(18,3))"),
    "d38": ("DECIMAL(38,10)", "-CAST(id AS DECIMAL(38,10))"),
    "s": ("STRING", "concat('é', id, '😀')"),
    "empty": ("STRING", "''"),
    "long": ("STRING", "concat(repeat('日', 40), id)"),
    "very_long": ("STRING", "concat(id, repeat('x', 5000))"),
    "highest": ("STRING", "repeat('\U0010ffff', 1500)"),
    "no_text": ("STRING", "CAST(X'FFFE' AS STRING)"),
    "bytes": ("BINARY", "CAST(string(id) AS BINARY)"),
    "flag": ("BOOLEAN", "id % 2 = 0"),
    "always": ("BOOLEAN", "true"),
    "day": ("DATE", "date_add(DATE '1500-06-01', CAST(id * 1000 AS INT))"),
    "at": ("TIMESTAMP", "timestamp_micros(id * 12345678901 - 62000000000000000)"),
    "far": ("TIMESTAMP", "timestamp_micros(300000000000000000 + id)"),
    "wall": ("TIMESTAMP_NTZ", "CAST(date_add(DATE '1880-06-01', CAST(id AS INT)) AS TIMESTAMP_NTZ)"),
    "nothing": ("INT", "CAST(NULL AS INT)"),
    "xs": ("ARRAY<SMALLINT>", "array(CAST(id AS SMALLINT), NULL)"),
    "m": ("MAP<STRING, STRUCT<p: DECIMAL(9,2)>>", "map('k', named_struct('p', CAST(id AS DECIMAL(9,2))))"),
    "st": ("STRUCT<`y z`: INT, t: ARRAY<STRUCT<at: TIMESTAMP>>>",
           "named_struct('y z', CAST(id AS INT), 't', array(named_struct('at', timestamp_micros(id))))"),
    "odd a.b`;{}(),=": ("INT", "CAST(id AS INT)"),
}  # fmt: skip
COLUMNS = ", ".join(f"`{name.replace('`', '``')}` {type_}" for name, (type_, _) in VALUES.items())
SELECTED = ", ".join(f"IF((id + {n}) % 3 = 0, NULL, {value})" for n, (_, value) in enumerate(VALUES.values()))
QUERY = f"SELECT CAST(id AS INT), {SELECTED} FROM range(0, 300, 1, {{tasks}})"
GROUP = 64


@pytest.fixture
def both(new_lake, monkeypatch):
    """Writes a query's rows into `d.spark` and, by kernels, into `d.kernel`."""
    monkeypatch.setitem(spark_parquet._OPTIONS, "parquet.block.row.count.limit", str(GROUP))

    def written(columns, query, way="local"):
        lake = new_lake(WAYS[way])
        for name, why in (("d.spark", None), ("d.kernel", "a test wants it")):
            lake.create_table(name, columns)
            with monkeypatch.context() as patch:
                patch.setattr(spark_writer, "why_kernel", lambda *_, why=why: why)
                lake.sql(f"INSERT INTO {name} {query}")
        return lake

    return written


@pytest.mark.spark
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_all_types(both, way):
    lake = both(f"id INT, {COLUMNS.replace('`no_text` STRING, ', '')}", _without("no_text"), way)
    expected = rows(lake.table("d.kernel").to_arrow())
    assert expected.total() == 300
    assert rows(lake.table("d.spark").to_arrow()) == expected
    assert rows(lake.sql("SELECT * FROM d.spark").toArrow()) == expected


def _without(name):
    """The query without one column, of one task."""
    at = list(VALUES).index(name)
    left = f"IF((id + {at}) % 3 = 0, NULL, {VALUES[name][1]}), "
    assert left in QUERY
    return QUERY.replace(left, "").format(tasks=1)


@pytest.mark.spark
def test_bounds_of_all_types(both):
    lake = both(f"id INT, {COLUMNS}", QUERY.format(tasks=1))
    (ours,), (kernels,) = plan_of(lake, "d.spark").parts, plan_of(lake, "d.kernel").parts
    assert row_groups(ours) == (64, 64, 64, 64, 44)
    assert ours.rows == kernels.rows == 300
    for column in plan_of(lake, "d.spark").view.schema.columns:
        found, expected = bounds_of(ours, column.physical), bounds_of(kernels, column.physical)
        if column.label in ("very_long", "highest") and expected.min is None:  # too long for Arrow's statistics
            start = {"very_long": "0" + "x" * 63, "highest": "\U0010ffff" * 64}[column.label]
            assert (found.min, found.max, found.nulls) == (start, None, 100)
        else:
            assert found == expected, column.label
    assert bounds_of(ours, "nan_only").max == "NaN"


PREDICATES = [
    "f > 30", "f = float('NaN')", "f <= 0", "x < -9", "nan_first > 0", "nan_first = double('NaN')", "nan_first > -1",
    "nan_last >= double('Infinity')", "nan_last < -50", "nan_only > 1e300", "nan_only < 0", "nan_only IS NULL",
    "zero = 0.0", "zero < 0", "zero >= double('-0.0')", "infinite = double('Infinity')",
    "infinite > double('Infinity')", "d5 = 25", "d18 > 298000000", "d38 < -298", "s > 'é9'", "s LIKE 'é29%'",
    "`long` >= repeat('日', 40)", "`long` > concat(repeat('日', 40), 'z')", "very_long > '298'", "empty = ''",
    "very_long < concat('1', repeat('x', 64))", "highest > 'z'", "highest = repeat('\U0010ffff', 1500)",
    "highest > repeat('\U0010ffff', 64)", "flag = false", "always = false", "always", "day < DATE '1600-01-01'",
    "at < TIMESTAMP '0010-01-01 00:00:00Z'", "far > TIMESTAMP '9999-12-31 00:00:00Z'",
    "wall = TIMESTAMP_NTZ '1880-06-06 00:00:00'", "nothing IS NOT NULL", "nothing IS NULL", "tiny > 98", "tiny IS NULL",
]  # fmt: skip


@pytest.mark.spark
def test_skipping_parts_loses_no_row(both):
    """Four parts; what Spark finds in the rows as they were is what it finds in the table."""
    lake = both(f"id INT, {COLUMNS}", QUERY.format(tasks=4), "native")
    assert len(plan_of(lake, "d.spark").parts) == 4
    named = ["id", *VALUES]
    lake.spark.sql(QUERY.format(tasks=1)).toDF(*named).createOrReplaceTempView("as_they_were")
    counts = ", ".join(f"count_if({predicate})" for predicate in PREDICATES)
    (expected,) = lake.spark.sql(f"SELECT {counts} FROM as_they_were").collect()
    union = " UNION ALL ".join(
        f"SELECT {n} AS n, count(*) AS c FROM d.spark WHERE {predicate}" for n, predicate in enumerate(PREDICATES)
    )
    found = {row.n: row.c for row in lake.sql(union).collect()}
    assert [(p, found[n]) for n, p in enumerate(PREDICATES)] == list(zip(PREDICATES, expected, strict=True))
    for predicate, count in (("minus_zero = 0", 200), ("zero = 0", 200), ("x < -9", found[PREDICATES.index("x < -9")])):
        assert lake.table("d.spark").to_arrow(["id"], where=predicate).num_rows == count


@pytest.mark.spark
@pytest.mark.parametrize("way", ["local", "native"])
def test_row_ids(both, way):
    lake = both("id INT, s STRING", "SELECT CAST(id AS INT), string(id) FROM range(0, 300, 1, 2)", way)
    plan = plan_of(lake, "d.spark")
    found = read_table(plan, ids=True)
    expected = [np.arange(part.rows) + (part.slot << POSITION_BITS) for part in plan.parts]
    assert found.column(ROW_ID).to_numpy().tolist() == np.concatenate(expected).tolist()
    for name in ("d.spark", "d.kernel"):
        lake.sql(f"DELETE FROM {name} WHERE id % 7 = 3")
        lake.sql(f"UPDATE {name} SET s = concat(s, '!') WHERE id % 64 < 2")
    left = rows(lake.table("d.kernel").to_arrow())
    assert rows(lake.table("d.spark").to_arrow()) == rows(lake.sql("SELECT * FROM d.spark").toArrow()) == left


@pytest.mark.spark
@pytest.mark.parametrize(("query", "parts"), [
    ("SELECT CAST(id AS INT) FROM range(0)", []),
    ("SELECT CAST(id AS INT) FROM range(0, 100, 1, 4) WHERE id < 0", []),
    ("SELECT CAST(id AS INT) FROM range(0, 100, 1, 4) WHERE id = 60", [1]),
    ("SELECT CAST(id AS INT) FROM range(0, 100, 1, 4) WHERE id >= 50", [25, 25]),
])  # fmt: skip
def test_empty_files_are_no_parts(new_lake, files_in, query, parts):
    lake = new_lake()
    lake.create_table("d.t", "id INT")
    version = lake.version
    lake.sql(f"INSERT INTO d.t {query}")
    assert lake.version == version + bool(parts)
    assert [part.rows for part in plan_of(lake, "d.t").parts] == parts
    assert len(files_in(lake)) == len(parts)
    assert _folders(lake) == {f"slot={part.slot}" for part in plan_of(lake, "d.t").parts}


def _folders(lake):
    return {path.name for path in Path(lake._session.shared.files.root, "data").glob("*/*")}


@pytest.mark.spark
def test_settings_of_the_session_do_not_reach_the_files(both, conf):
    settings = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": "false",
    }
    for name, value in settings.items():
        conf(name, value)
    lake = both(f"id INT, {COLUMNS.replace('`no_text` STRING, ', '')}", _without("no_text"))
    assert {name: lake.spark.conf.get(name) for name in settings} == settings
    assert rows(lake.table("d.spark").to_arrow()) == rows(lake.table("d.kernel").to_arrow())
    files = {}
    for name in ("d.spark", "d.kernel"):
        plan = plan_of(lake, name)
        files[name] = pq.ParquetFile(plan.view.files.path(plan.parts[0].path)).schema_arrow
    assert _shown(files["d.spark"]) == _shown(files["d.kernel"])


def _shown(schema):
    """Names and types; that something happens to hold no NULL may stand in a file."""
    return [(field.name, str(field.type).replace(" not null", "")) for field in schema]


@pytest.mark.spark
@pytest.mark.parametrize("codec", ["snappy", "zstd", "lz4", "none"])
def test_compression(both, codec):
    lake = both("id INT", "SELECT 7 FROM range(5)")
    for name in ("d.spark", "d.kernel"):
        lake.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.compression' = '{codec}')")
    lake.sql("INSERT INTO d.spark SELECT 7 FROM range(10)")
    lake.table("d.kernel").write({"id": [7] * 10})
    last = [plan_of(lake, name).parts[-1] for name in ("d.spark", "d.kernel")]
    found = [
        pq.read_metadata(plan_of(lake, name).view.files.path(part.path)).row_group(0).column(0).compression
        for name, part in zip(("d.spark", "d.kernel"), last, strict=True)
    ]
    assert found[0] == found[1]
    assert lake.sql("SELECT sum(id) FROM d.spark").collect()[0][0] == 7 * sum(
        p.rows for p in plan_of(lake, "d.spark").parts
    )


# --- conversions ------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_columns_that_differ_from_row_to_row(spark, monkeypatch):
    columns = ["id", "uuid() AS `a.b`", "IF(id % 9 = 0, NULL, rand()) AS c", "id % 7 AS d", "array(id) AS e"]
    rows = spark.range(3000).selectExpr(*columns)
    assert spark_parquet.unlike(rows, planned(rows)) == [], "few rows"
    monkeypatch.setattr(spark_parquet, "_WORTH_A_LOOK", 0)
    assert spark_parquet.unlike(rows, planned(rows)) == ["id", "a.b", "c"]
    for other in (rows.where("id > 5"), rows.orderBy("d")):
        assert spark_parquet.unlike(other, planned(other)) == [], "the first rows may take as long as all"


@pytest.mark.spark
def test_a_column_without_a_dictionary(new_lake, spark, files_in, monkeypatch):
    monkeypatch.setattr(spark_keyed, "unlike", lambda *_: [names[1], names[3]])
    lake = new_lake(limits=Limits(local_insert=-1))
    lake.sql("CREATE TABLE d.t (id BIGINT, `x#y` INT, `z w` INT, `a.b` INT, PRIMARY KEY (id))")
    names = [column.physical for column in lake.table("d.t")._open().schema.columns]
    lake.sql("INSERT INTO d.t SELECT id, id % 3, id % 4, id % 5 FROM range(3000)")
    (file,) = files_in(lake)
    group = pq.read_metadata(file).row_group(0)
    assert [group.column(at).has_dictionary_page for at in range(1, 4)] == [False, True, True], "a dot is a path's"
    assert lake.table("d.t").count() == 3000


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("INT", "id - 5"), ("TINYINT", "id"), ("BIGINT", "CAST(id AS INT)"), ("DOUBLE", "CAST(id AS INT)"),
        ("FLOAT", "id / 3"), ("INT", "id + 0.5D"), ("INT", "-id - 0.9D"), ("DECIMAL(5,2)", "id / 3"),
        ("DECIMAL(5,1)", "CAST(id AS DECIMAL(10,3)) + 0.250"), ("INT", "CAST(id AS DECIMAL(10,3)) + 0.9"),
        ("DOUBLE", "CAST(id AS DECIMAL(38,2)) / 3"), ("BIGINT", "CAST(id AS FLOAT)"), ("FLOAT", "1e300"),
        ("DOUBLE", "9007199254740993 + id"), ("INT", "NULL"), ("DECIMAL(20,0)", "id"), ("STRUCT<p: INT>", "NULL"),
        ("STRUCT<p: INT, q: STRING>", "named_struct('other', CAST(id AS INT), 'names', 'x')"),
        ("FLOAT", "double('NaN')"),
    ],
)  # fmt: skip
def test_numbers_become_what_the_kernel_makes_of_them(both, conf, ansi, target, value):
    conf("spark.sql.ansi.enabled", ansi)
    lake = both(f"c {target}", f"SELECT {value} FROM range(20)")
    assert rows(lake.table("d.spark").to_arrow()) == rows(lake.table("d.kernel").to_arrow())


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    ("target", "value", "said"),
    [
        ("TINYINT", "id + 120", "a value does not fit column 'c d' of type tinyint: the value is 128."),
        ("INT", "id * 3000000000", "the value is 3000000000."),
        ("INT", "double('NaN')", "of type int: the value is "),
        ("BIGINT", "float(1e20)", "of type bigint: the value is "),
        ("DECIMAL(3,1)", "id * 100", "of type decimal(3,1): the value is 100."),
        ("DECIMAL(3,1)", "CAST(id * 33.35 AS DECIMAL(10,2))", "the value is 100.05."),
        ("SMALLINT", "CAST(id * 5000 AS DECIMAL(20,1))", "the value is 35000.0."),
    ],
)
def test_numbers_that_do_not_fit(new_lake, conf, files_in, ansi, target, value, said):
    conf("spark.sql.ansi.enabled", ansi)
    lake = new_lake()
    lake.create_table("d.t", f"`c d` {target}")
    with pytest.raises(ValueOutOfRange) as raised:
        lake.sql(f"INSERT INTO d.t SELECT {value} FROM range(0, 10, 1, 1)")
    assert said in str(raised.value)
    assert "SQLSTATE" not in str(raised.value)
    assert files_in(lake) == set() == _folders(lake)


def nested(nullable):
    return Struct((StructField("p", parse_type("int"), "p", nullable),))


@pytest.mark.parametrize(
    ("column", "incoming", "why"),
    [
        (Column("c", parse_type("int"), "c"), "int", None),
        (Column("c", parse_type("int"), "c", nullable=False), "bigint", None),
        (Column("c", parse_type("int"), "c"), None, None),
        (Column("c", parse_type("double"), "c"), "decimal(10,2)", None),
        (Column("c", parse_type("string"), "c"), "int", "is string, the data is int"),
        (Column("c", parse_type("timestamp"), "c"), "date", "is timestamp, the data is date"),
        (Column("c", parse_type("timestamp"), "c"), "timestamp_ntz", "is timestamp, the data is timestamp_ntz"),
        (Column("c", parse_type("array<int>"), "c"), "array<int>", None),
        (Column("c", parse_type("array<int>"), "c"), "array<bigint>", "is array<int>, the data is array<bigint>"),
        (Column("c", parse_type("array<int>"), "c", nullable=False), "array<int>", "is nested and NOT NULL"),
        (Column("c", nested(True), "c"), "struct<p:int>", None),
        (Column("c", nested(False), "c"), "struct<p:int>", "has fields that are NOT NULL"),
    ],
)
def test_what_a_kernel_must_write(column, incoming, why):
    shape = by_place("d.t", Schema(1, (column,)), 1)
    types = [None if incoming is None else parse_type(incoming)]
    found = file_columns.why_kernel(Files("/somewhere"), shape, types)
    assert found == (None if why is None else f"column 'c' {why}")
    assert file_columns.why_kernel(Files("s3://bucket"), shape, types) == "the storage is not local"
    parted = by_place("d.t", Schema(1, (column,), partitioned_by=("c",)), 1)
    assert file_columns.why_kernel(Files("/somewhere"), parted, types) == "the table is partitioned"


@pytest.mark.spark
def test_explain_names_the_writer(new_lake):
    lake = new_lake()
    lake.create_table("d.t", "id INT, s STRING")
    for value, note in (
        ("string(id)", "Spark's own writer"),
        ("id", "kernels: column 's' is string, the data is bigint"),
    ):
        told = lake.sql(f"EXPLAIN EXTENDED INSERT INTO d.t SELECT id, {value} FROM range(3)").collect()
        assert [tuple(row)[0::6] for row in told if row[1] == "write"] == [("d.t", note)]


# --- all or none ------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize("value", ["'x'", "repeat('\U0010ffff', 3000)", "concat(id, repeat('y', 9000))"])
def test_nulls_are_counted_in_long_texts_too(new_lake, files_in, value):
    lake = new_lake()
    lake.create_table("d.t", "s STRING NOT NULL")
    with pytest.raises(NullViolation, match=r"'s' of 'd\.t' .* \(4 rows\)"):
        lake.sql(f"INSERT INTO d.t SELECT IF(id % 5 = 4, NULL, {value}) FROM range(0, 20, 1, 3)")
    assert files_in(lake) == set() == _folders(lake)
    lake.sql(f"INSERT INTO d.t SELECT {value} FROM range(0, 20, 1, 3)")
    assert lake.table("d.t").to_arrow().num_rows == 20


def test_nulls_are_counted_by_reading_where_the_footer_does_not_say(tmp_path):
    import pyarrow as pa

    pq.write_table(pa.table({"c": [1, None, None]}), tmp_path / "f.parquet", write_statistics=False)
    files = Files(str(tmp_path))
    file = spark_parquet._opened(files, "f.parquet")
    assert spark_parquet._nulls(files, file, Column("c", parse_type("int"), "c", nullable=False)) == 2


@pytest.mark.spark
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("point", ["listed", "create_parent", "settle"])
def test_a_failure_after_the_job_leaves_nothing(new_lake, files_in, monkeypatch, point, error):
    lake = new_lake()
    lake.create_table("d.t", "id INT")
    version, original, calls = lake.version, getattr(Files, point), []

    def struck(*args):
        calls.append(1)
        if len(calls) == (1 if point == "listed" else 3):
            raise error
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Files, point, struck)
        with pytest.raises((OSError, StorageError, KeyboardInterrupt)):
            lake.sql("INSERT INTO d.t SELECT CAST(id AS INT) FROM range(0, 100, 1, 4)")
    assert calls
    assert lake.version == version
    assert files_in(lake) == set() == _folders(lake)
    lake.sql("INSERT INTO d.t SELECT CAST(id AS INT) FROM range(0, 100, 1, 4)")
    assert lake.table("d.t").to_arrow().num_rows == 100


# --- the interface for sorted parts -----------------------------------------------------------------------------------


@pytest.mark.spark
def test_parts_come_in_the_order_of_the_frame(spark, tmp_path, monkeypatch):
    """Range partitions, sorted inside; a partition may become several files."""
    monkeypatch.setitem(spark_parquet._OPTIONS, "maxRecordsPerFile", "100")
    schema = Schema(1, (Column("id", parse_type("bigint"), "id"),))
    to = Destination(Files(str(tmp_path), durable=False), schema)
    frame = spark.range(0, 3000, 1, 4).selectExpr("(id * 7919) % 3000 AS id")
    ordered = frame.repartitionByRange(12, "id").sortWithinPartitions("id")
    parts = spark_parquet.write_parquet(ordered, to, "d.t", lambda tasks, layers: Slots(10, tasks, layers))
    assert [part.slot for part in parts] == list(range(10, 10 + len(parts)))
    assert len(parts) > 24
    found = [pq.read_table(to.files.path(part.path)).column("id").to_pylist() for part in parts]
    assert [value for values in found for value in values] == list(range(3000))
    assert [(bounds_of(part, "id").min, bounds_of(part, "id").max) for part in parts] == [(v[0], v[-1]) for v in found]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"slot={part.slot}" for part in parts)


@pytest.mark.spark
def test_an_error_in_the_source_is_told_as_it_is(new_lake, files_in, tmp_path):
    lake = new_lake()
    lake.create_table("d.t", "id BIGINT")
    lake.spark.range(0, 1000, 1, 1).write.parquet(str(tmp_path / "source"))
    (file,) = (tmp_path / "source").glob("*.parquet")
    (file.with_name(f".{file.name}.crc")).unlink()
    data = bytearray(file.read_bytes())
    data[4:200] = b"\xff" * 196
    file.write_bytes(bytes(data))
    with pytest.raises((StorageError, DataError), match=file.name):
        lake.table("d.t").write(lake.spark.read.parquet(str(tmp_path / "source")))
    assert files_in(lake) == set() == _folders(lake)
