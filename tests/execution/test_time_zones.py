"""A Spark session in another zone reads times without a zone by its own: what this process decides must not differ."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys

import pytest

import anabranch
from anabranch.errors import MergeConflict
from anabranch.options import Limits

pytestmark = pytest.mark.spark

WHERE = "at >= TIMESTAMP '2026-06-01 00:00:00'"  # in Berlin that is 22:00 UTC of the day before


@pytest.fixture
def berlin(spark, conf):
    conf("spark.sql.session.timeZone", "Europe/Berlin")
    return spark


def test_parts_and_rows_are_chosen_as_spark_reads_the_literal(berlin, tmp_path):
    lake = anabranch.connect(tmp_path / "lake", spark=berlin, durability="process", limits=Limits(local_scan=-1))
    lake.create_database("d")
    table = lake.create_table("d.t", "id INT, at TIMESTAMP")
    for id, hour in ((1, 21), (2, 23)):  # one part each, around the line
        lake.sql(f"INSERT INTO d.t VALUES ({id}, TIMESTAMP '2026-05-31 {hour}:00:00+00:00')")
    assert [row.id for row in lake.sql(f"SELECT id FROM d.t WHERE {WHERE}").collect()] == [2]
    assert table.delete(WHERE) == 1
    assert table.to_arrow().column("id").to_pylist() == [1]


TEXTS = {  # each is about midnight in Berlin, and a condition on rows; Arrow evaluates the first ones alone
    "a literal": "at = TIMESTAMP '2026-06-01 00:00:00'",
    "a text": "at = '2026-06-01 00:00:00'",
    "the day of a time": "CAST(at AS DATE) = day",
    "only Spark knows it": "date_format(at, 'HH') = '00'",
    "no column of times": "from_unixtime(1780264800 + id - id, 'HH') = '00'",
}


@pytest.mark.parametrize("where", TEXTS.values(), ids=TEXTS)
def test_statements_run_again_in_the_zone_that_they_ran_in_or_not_at_all(berlin, conf, tmp_path, where):
    lake = anabranch.connect(tmp_path / "lake", spark=berlin, durability="process")
    lake.create_database("d")
    lake.create_table("d.t", "id INT, at TIMESTAMP, day DATE")
    midnight = "TIMESTAMP '2026-06-01 00:00:00', DATE '2026-06-01'"
    lake.sql(f"INSERT INTO d.t VALUES (1, {midnight})")
    lake.sql("CREATE BRANCH dev")
    assert lake.sql(f"DELETE FROM d.t@dev WHERE {where}").first().rows_deleted == 1
    lake.sql(f"INSERT INTO d.t VALUES (2, {midnight}), (3, TIMESTAMP '2026-06-01 03:00:00', DATE '2026-06-02')")
    matched = [2] if "unixtime" not in where else [2, 3]
    assert [one.ours["id"] for one in lake.conflicts("dev", detect="row")] == matched
    conf("spark.sql.session.timeZone", "UTC")
    assert [one.ours["id"] for one in lake.conflicts("dev", detect="row")] == [2, 3]  # it cannot be known here
    with pytest.raises(MergeConflict, match="ran in Europe/Berlin, but this session is in UTC"):
        lake.merge("dev", detect="row", resolve="theirs")
    conf("spark.sql.session.timeZone", "Europe/Berlin")
    lake.merge("dev", detect="row", resolve="theirs")
    left = lake.table("d.t").to_arrow(columns=["id"]).column("id").to_pylist()
    assert left == [id for id in (2, 3) if id not in matched]


def test_what_ran_in_utc_is_known_in_every_zone(spark, conf, tmp_path):
    conf("spark.sql.session.timeZone", "UTC")
    lake = anabranch.connect(tmp_path / "lake", spark=spark, durability="process")
    lake.create_database("d")
    lake.create_table("d.t", "id INT, at TIMESTAMP")
    lake.sql("INSERT INTO d.t VALUES (1, TIMESTAMP '2026-06-01 00:00:00')")
    lake.sql("CREATE BRANCH dev")
    lake.sql("UPDATE d.t@dev SET at = TIMESTAMP '2026-07-01 00:00:00' WHERE at = '2026-06-01 00:00:00'")
    lake.sql("INSERT INTO d.t VALUES (2, TIMESTAMP '2026-06-01 00:00:00'), (3, TIMESTAMP '2026-05-31 22:00:00')")
    conf("spark.sql.session.timeZone", "Europe/Berlin")
    assert [one.ours["id"] for one in lake.conflicts("dev", detect="row")] == [2]
    lake.merge("dev", detect="row", resolve="theirs")
    found = {row["id"]: row["at"].isoformat() for row in lake.table("d.t").to_arrow().to_pylist()}
    assert (found[1], found[2]) == ("2026-07-01T00:00:00+00:00",) * 2
    assert found[3] == "2026-05-31T22:00:00+00:00"


def test_merges_hold_conditions_against_inserts_as_spark_reads_them(berlin, tmp_path):
    lake = anabranch.connect(tmp_path / "lake", spark=berlin, durability="process")
    lake.create_database("d")
    lake.create_table("d.t", "id INT, at TIMESTAMP, day DATE")
    lake.sql("INSERT INTO d.t VALUES (1, TIMESTAMP '2026-06-02 00:00:00', NULL)")
    lake.sql("CREATE BRANCH dev")
    lake.sql(f"UPDATE d.t@dev SET day = at WHERE {WHERE}")
    for id, hour in ((2, 21), (3, 23)):
        lake.sql(f"INSERT INTO d.t VALUES ({id}, TIMESTAMP '2026-05-31 {hour}:00:00+00:00', NULL)")
    assert [one.ours["id"] for one in lake.conflicts("dev", detect="row")] == [3]
    lake.merge("dev", detect="row", resolve="theirs")
    found = lake.table("d.t").to_arrow(columns=["id", "day"]).to_pylist()
    assert {row["id"]: row["day"] for row in found} == {1: dt.date(2026, 6, 2), 2: None, 3: dt.date(2026, 6, 1)}


# --- assignments ------------------------------------------------------------------------------------------------------

# Instants and walls around the spring gap (2026-03-08) and the autumn overlap (2026-11-01) of New York, days that are
# others in UTC, a moment before zones were whole hours, and NULL.
INSTANTS = [
    "TIMESTAMP '2026-03-08 06:59:59Z'",
    "TIMESTAMP '2026-03-08 07:00:00Z'",
    "TIMESTAMP '2026-11-01 05:30:00Z'",
    "TIMESTAMP '2026-11-01 06:30:00.123456Z'",
    "TIMESTAMP '2026-01-01 03:00:00Z'",
    "TIMESTAMP '1850-06-01 00:00:00Z'",
    "NULL",
]
WALLS = [
    "TIMESTAMP_NTZ '2026-03-08 01:59:59'",
    "TIMESTAMP_NTZ '2026-03-08 02:30:00'",
    "TIMESTAMP_NTZ '2026-03-08 03:00:00'",
    "TIMESTAMP_NTZ '2026-11-01 01:30:00'",
    "TIMESTAMP_NTZ '1850-06-01 00:00:00'",
    "NULL",
]
DAYS = ["DATE '2026-03-08'", "DATE '2026-11-01'", "DATE '1850-06-01'", "NULL"]
VALUES = {"TIMESTAMP": INSTANTS, "TIMESTAMP_NTZ": WALLS, "DATE": DAYS}
TARGETS = ["DATE", "TIMESTAMP_NTZ", "STRING", "TIMESTAMP"]
COLUMNS = ", ".join(f"c{place} {target}" for place, target in enumerate(TARGETS))
NAMES = ["id", *(f"c{place}" for place in range(len(TARGETS)))]
NULLS = ", ".join(["NULL"] * len(TARGETS))


def rows_of(source):
    """SQL of rows with the id and the value once for each target, of the source type throughout."""
    values = (f"CAST({text} AS {source})" for text in VALUES[source])
    return ", ".join(f"({id}, {', '.join([value] * len(TARGETS))})" for id, value in enumerate(values))


def query_of(source):
    return f"SELECT * FROM VALUES {rows_of(source)} AS v({', '.join(NAMES)})"


def insert_select(lake, source):
    lake.sql(f"INSERT INTO d.t {query_of(source)}")


def insert_values(lake, source):
    lake.sql(f"INSERT INTO d.t VALUES {rows_of(source)}")


def insert_literals(lake, source):
    rows = (", ".join([text] * len(TARGETS)) for text in VALUES[source])
    lake.sql("INSERT INTO d.t VALUES " + ", ".join(f"({id}, {row})" for id, row in enumerate(rows)))


def overwrite(lake, source):
    lake.sql(f"INSERT INTO d.t VALUES (99, {NULLS})")
    lake.sql(f"INSERT OVERWRITE d.t {query_of(source)}")


def write_frame(lake, source):
    lake.table("d.t").write(lake.spark.sql(query_of(source)))


def write_arrow(lake, source):
    lake.table("d.t").write(lake.spark.sql(query_of(source)).toArrow())


def update(lake, source):
    lake.sql("INSERT INTO d.t VALUES " + ", ".join(f"({id}, {NULLS})" for id in range(len(VALUES[source]))))
    whens = " ".join(f"WHEN {id} THEN CAST({text} AS {source})" for id, text in enumerate(VALUES[source]))
    lake.sql("UPDATE d.t SET " + ", ".join(f"{name} = CASE id {whens} END" for name in NAMES[1:]))


def merged(lake, using):
    lake.sql(f"INSERT INTO d.t VALUES (0, {NULLS})")
    lake.sql(f"MERGE INTO d.t USING {using} ON d.t.id = s.id "
             "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")  # fmt: skip


def merge_values(lake, source):
    merged(lake, f"VALUES {rows_of(source)} AS s({', '.join(NAMES)})")


def merge_query(lake, source):
    merged(lake, f"({query_of(source)}) s")


def merge_arrow(lake, source):
    merge = lake.table("d.t").merge(lake.spark.sql(query_of(source)).toArrow(), on=["id"])
    merge.when_matched().update("*").when_not_matched().insert("*").execute()


WAYS = [insert_select, insert_values, insert_literals, overwrite, write_frame, write_arrow, update,
        merge_values, merge_query, merge_arrow]  # fmt: skip


@pytest.fixture
def new_york(spark, conf):
    conf("spark.sql.session.timeZone", "America/New_York")
    return spark


@pytest.fixture
def lake_of(new_york, new_lake):
    return lambda **limits: new_lake(Limits(**limits))


KNOWN: dict[str, list[list[object]]] = {}


def by_spark(spark, source):
    """What Spark's own CAST makes of the values: a list for each target."""
    if source not in KNOWN:
        KNOWN[source] = cast_by_spark(spark, source)
    return KNOWN[source]


def cast_by_spark(spark, source):
    casts = ", ".join(f"CAST(c{place} AS {target})" for place, target in enumerate(TARGETS))
    found = spark.sql(f"SELECT {casts} FROM ({query_of(source)}) ORDER BY id").toArrow()
    return [column.to_pylist() for column in found.columns]


def stored(lake):
    return [c.to_pylist() for c in lake.table("d.t").to_arrow().sort_by("id").columns[1:]]


def selected(lake, columns):
    return [c.to_pylist() for c in lake.sql(f"SELECT {', '.join(columns)} FROM d.t ORDER BY id").toArrow().columns]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"], ids=["append", "keyed"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_assignments_are_casts_in_the_sessions_zone(way, key, lake_of, new_york):
    lake = lake_of()
    for source in VALUES:
        lake.sql("DROP TABLE IF EXISTS d.t")
        lake.sql(f"CREATE TABLE d.t (id INT, {COLUMNS}{key})")
        way(lake, source)
        assert stored(lake) == by_spark(new_york, source), source


@pytest.mark.parametrize("partitioned", ["", " PARTITIONED BY (id)"], ids=["plain", "partitioned"])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id)"], ids=["append", "keyed"])
def test_jobs_cast_as_this_process_does(key, partitioned, lake_of, new_york):
    lake = lake_of(local_insert=-1, local_work=-1)
    for source in VALUES:
        lake.sql("DROP TABLE IF EXISTS d.t")
        lake.sql(f"CREATE TABLE d.t (id INT, {COLUMNS}{key}){partitioned}")
        insert_select(lake, source)
        assert stored(lake) == by_spark(new_york, source), source


@pytest.mark.parametrize("source", VALUES)
def test_times_inside_arrays_maps_and_structs(source, lake_of, new_york):
    """Beside a number that is no business of Spark's: it is refused if it does not fit, whatever the session's mode."""
    lake = lake_of()
    nested = [f"STRUCT<a:ARRAY<{t}>,m:MAP<INT,{t}>,s:STRUCT<n:SMALLINT,x:{t}>>" for t in TARGETS]
    lake.sql("CREATE TABLE d.t (id INT, " + ", ".join(f"c{place} {type_}" for place, type_ in enumerate(nested)) + ")")
    made = "named_struct('a', array({0}, NULL), 'm', map(1, {0}), 's', named_struct('n', {1}L, 'x', {0}))"

    def insert(n):
        columns = ", ".join(made.format(name, n) for name in NAMES[1:])
        lake.sql(f"INSERT INTO d.t SELECT id, {columns} FROM ({query_of(source)})")

    insert(300)
    for path in ("a[0]", "m[1]", "s.x"):
        assert selected(lake, [f"{name}.{path}" for name in NAMES[1:]]) == by_spark(new_york, source)
    assert {n for numbers in selected(lake, [f"{name}.s.n" for name in NAMES[1:]]) for n in numbers} == {300}
    new_york.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(anabranch.AnabranchError, match="does not fit column 'c0'"):
            insert(40_000)
    finally:
        new_york.conf.unset("spark.sql.ansi.enabled")


def test_without_a_spark_session_times_are_utc(tmp_path):
    """In a process of its own: the tests have a session."""
    code = f"""
import anabranch, sys
lake = anabranch.connect({str(tmp_path / "lake")!r}, durability="process")
lake.create_database("d")
lake.create_table("d.t", "id INT, at TIMESTAMP, c STRING")
lake.sql("INSERT INTO d.t VALUES (1, DATE '2026-01-01', TIMESTAMP '2026-01-01 12:00:00')")
row = lake.table("d.t").to_arrow().to_pylist()[0]
assert (row["at"].isoformat(), row["c"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01 12:00:00"), row
assert "pyspark" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "TZ": "America/New_York"})


# --- defaults and partitions ------------------------------------------------------------------------------------------

# A default that names a time without a zone -> what it means in New York (January, so five hours behind UTC).
FIXED = {
    ("TIMESTAMP", "TIMESTAMP '2026-01-01 00:00:00'"): dt.datetime(2026, 1, 1, 5, tzinfo=dt.timezone.utc),
    ("TIMESTAMP", "TIMESTAMP '2026-01-01 00:00:00Z'"): dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc),
    ("TIMESTAMP", "DATE '2026-01-01'"): dt.datetime(2026, 1, 1, 5, tzinfo=dt.timezone.utc),
    ("TIMESTAMP", "TIMESTAMP_NTZ '2026-01-01 00:00:00'"): dt.datetime(2026, 1, 1, 5, tzinfo=dt.timezone.utc),
    ("DATE", "TIMESTAMP '2026-01-01 00:00:00Z'"): dt.date(2025, 12, 31),
    ("TIMESTAMP_NTZ", "TIMESTAMP '2026-01-01 00:00:00Z'"): dt.datetime(2025, 12, 31, 19),
    ("STRING", "TIMESTAMP '2026-01-01 00:00:00Z'"): "2025-12-31 19:00:00",
    ("DATE", "DATE '2026-01-01'"): dt.date(2026, 1, 1),
}


def test_defaults_are_fixed_in_the_zone_of_the_session_that_declares_them(lake_of, new_york):
    lake = lake_of()
    declared = ", ".join(f"c{n} {type_} DEFAULT {text}" for n, (type_, text) in enumerate(FIXED))
    lake.sql(f"CREATE TABLE d.t (id INT, {declared})")
    for n, (type_, text) in enumerate(FIXED):
        lake.sql(f"ALTER TABLE d.t ADD COLUMN a{n} {type_}")
        lake.sql(f"ALTER TABLE d.t ALTER COLUMN a{n} SET DEFAULT {text}")
    lake.sql("INSERT INTO d.t (id) VALUES (1)")
    for n, (type_, text) in enumerate(FIXED):  # row 1 reads them as its initial defaults
        lake.sql(f"ALTER TABLE d.t ADD COLUMN b{n} {type_} DEFAULT {text}")
    every = ", ".join(["DEFAULT"] * 3 * len(FIXED))
    for zone in ("America/New_York", "UTC", "Asia/Tokyo"):
        new_york.conf.set("spark.sql.session.timeZone", zone)
        lake.sql("DELETE FROM d.t WHERE id <> 1")
        lake.sql(f"INSERT INTO d.t VALUES (2, {every})")
        lake.sql("INSERT INTO d.t (id) SELECT 3")
        lake.sql(
            "MERGE INTO d.t USING (SELECT 4 AS id) s ON d.t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        )
        for row in lake.table("d.t").to_arrow().to_pylist():
            for n, value in enumerate(FIXED.values()):
                assert [row[f"{kind}{n}"] for kind in "cab"] == [value] * 3, (zone, row["id"], n)


def test_what_changes_with_time_is_taken_in_the_zone_of_the_writer(lake_of, new_york):
    """In one of these two zones it is another day than in UTC, whatever the time."""
    lake = lake_of()
    lake.sql("CREATE TABLE d.t (id INT, c DATE DEFAULT current_date(), s DATE DEFAULT current_timestamp())")
    for zone in ("Etc/GMT-14", "Etc/GMT+12"):
        new_york.conf.set("spark.sql.session.timeZone", zone)
        lake.sql("TRUNCATE TABLE d.t")
        before = new_york.sql("SELECT current_date()").collect()[0][0]
        lake.sql("INSERT INTO d.t (id) VALUES (1)")
        lake.sql("INSERT INTO d.t VALUES (2, current_date(), DEFAULT)")
        lake.sql("INSERT INTO d.t (id) SELECT 3")
        lake.table("d.t").write([{"id": 4}])
        lake.sql("INSERT INTO d.t VALUES (5, NULL, NULL)")
        lake.sql("UPDATE d.t SET c = current_date(), s = DEFAULT WHERE id = 5")
        after = new_york.sql("SELECT current_date()").collect()[0][0]
        rows = lake.table("d.t").to_arrow().to_pylist()
        assert len(rows) == 5
        assert all(before <= row[name] <= after for row in rows for name in "cs"), rows


def test_partition_values_are_casts_too(lake_of):
    lake = lake_of()
    lake.sql("CREATE TABLE d.t (id INT, day DATE) PARTITIONED BY (day)")
    lake.sql("INSERT INTO d.t PARTITION (day = TIMESTAMP '2026-01-01 00:00:00Z') SELECT 1")
    assert lake.table("d.t").partitions() == ["day=2025-12-31"]
    lake.sql("TRUNCATE TABLE d.t PARTITION (day = TIMESTAMP '2026-01-01 04:59:59Z')")
    assert lake.table("d.t").count() == 0
