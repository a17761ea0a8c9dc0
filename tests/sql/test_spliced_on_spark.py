"""Spliced queries on Spark: columns cut and conditions pushed as prepared, and the right rows come out.

A number stands for that many rows.
"""

import pytest

from anabranch.sql import prepare, splice
from anabranch.sql.cursor import Cursor

pytestmark = pytest.mark.spark

TABLES = {
    ("d", "t"): "SELECT * FROM VALUES (1, 'a', array(1, 2)), (2, 'b', array(3)), (3, NULL, array()) AS v(id, s, xs)",
    ("e", "t"): "SELECT * FROM VALUES (1, 10), (4, 40) AS v(id, n)",
    ("d", "u"): "SELECT * FROM VALUES (1, 'x'), (1, 'y'), (3, 'z') AS v(id, w)",
    ("d", "o dd.`x"): "SELECT 7 AS id",
}
DEV = "SELECT * FROM VALUES (1, 'A', array(9)), (5, 'e', array(8)) AS v(id, s, xs)"

CASES = {
    "SELECT * FROM d.t ORDER BY id": 3,
    "SELECT t.* FROM d.t": 3,
    "SELECT s.w, t.s FROM (VALUES (1, 'x'), (9, 'y') AS v(id, w)) s JOIN d.t ON t.id = s.id": [("x", "a")],
    "SELECT d.t.* FROM d.t": 3,
    "SELECT d.t.s FROM d.t WHERE d.t.id = 1": [("a",)],
    "TABLE d.t": 3,
    "(TABLE d.t) UNION ALL (TABLE d.t@dev)": 5,
    "FROM d.t SELECT id WHERE id > 1": [(2,), (3,)],
    "SELECT t.id, u.w FROM d.t JOIN d.u ON t.id = u.id ORDER BY 1, 2": [(1, "x"), (1, "y"), (3, "z")],
    "SELECT t.id, w FROM d.t LEFT JOIN d.u USING (id) ORDER BY 1, 2": [(1, "x"), (1, "y"), (2, None), (3, "z")],
    "WITH t AS (SELECT id FROM d.t WHERE id < 3), c AS (FROM t) SELECT c.id FROM c JOIN d.t ON c.id = d.t.id": 2,
    "SELECT id FROM (SELECT id, s FROM d.t) q WHERE s IS NULL": [(3,)],
    "SELECT id FROM d.t WHERE EXISTS (SELECT 1 FROM d.u WHERE u.id = t.id) ORDER BY id": [(1,), (3,)],
    "SELECT id FROM d.t WHERE EXISTS (SELECT 1 FROM e.t WHERE e.t.id = d.t.id)": [(1,)],
    "SELECT id FROM d.t WHERE id = (SELECT max(t.id) FROM d.t)": [(3,)],
    "SELECT id FROM d.t WHERE id NOT IN (SELECT id FROM d.u)": [(2,)],
    "SELECT id, row_number() OVER (PARTITION BY id > 1 ORDER BY id DESC) AS n FROM d.t ORDER BY 1": [
        (1, 1),
        (2, 2),
        (3, 1),
    ],
    "SELECT t.id, x FROM d.t LATERAL VIEW explode(xs) v AS x ORDER BY 1, 2": [(1, 1), (1, 2), (2, 3)],
    "SELECT t.id, v.x FROM d.t LATERAL VIEW explode(d.t.xs) v AS x ORDER BY 1, 2": [(1, 1), (1, 2), (2, 3)],
    "SELECT t.id, r.id FROM d.t, LATERAL (SELECT u.id FROM d.u WHERE u.id = t.id LIMIT 1) r ORDER BY 1": [
        (1, 1),
        (3, 3),
    ],
    "SELECT transform(xs, t -> t + 1) FROM d.t WHERE id = 1": [([2, 3],)],
    "SELECT filter(xs, x -> x > d.t.id) FROM d.t WHERE id = 1": [([2],)],
    "SELECT 'd.t', \"FROM d.t\", 'it''s' FROM d.t WHERE id = 1": [("d.t", "FROM d.t", "it's")],
    "SELECT /*+ BROADCAST(t) */ /* {d.t} */ id -- from d.t {x}\nFROM d.t /* d.t@dev */ WHERE id = 1": [(1,)],
    """SELECT get_json_object('{"a": {"b": 1}}', '$.a.b') FROM d.t WHERE id = 1""": [("1",)],
    "SELECT d.t.id, e.t.n FROM d.t JOIN e.t ON d.t.id = e.t.id": [(1, 10)],
    "SELECT a.s, b.s FROM d.t a JOIN d.t@dev b ON a.id = b.id": [("a", "A")],
    "SELECT t.s, b.s FROM d.t JOIN d.t VERSION AS OF 'dev' AS b ON t.id = b.id": [("a", "A")],
    "SELECT count(*) FROM d.t, d.t@dev": [(6,)],
    "SELECT id FROM d.`o dd.``x`": [(7,)],
    "SELECT `o dd.``x`.id FROM d.`o dd.``x`": [(7,)],
    "SELECT d.`o dd.``x`.id FROM `d`.`o dd.``x`": [(7,)],
    "SELECT id FROM range(2) ORDER BY id": [(0,), (1,)],
    "SELECT r.id FROM range(4) r JOIN d.t ON r.id = t.id ORDER BY 1": [(1,), (2,), (3,)],
    "SELECT a FROM VALUES (1), (2) AS v(a) JOIN d.t ON a = id ORDER BY a": [(1,), (2,)],
    "SELECT x.b FROM d.t AS x(a, b, c) WHERE x.a = 2": [("b",)],
    "SELECT count(*) FROM d.t TABLESAMPLE (100 PERCENT) WHERE t.id > 0": [(3,)],
    "SELECT * FROM (SELECT id, w FROM d.u) PIVOT (count(id) FOR w IN ('x', 'y'))": [(1, 1)],
    "SELECT t.id FROM d.t LEFT ANTI JOIN d.u ON t.id = u.id": [(2,)],
    "SELECT id FROM d.t WHERE id IN (TABLE d.`o dd.``x`)": [],
    "SELECT '{' || '}'": [("{}",)],
    "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT max(n) FROM r, d.t": [(3,)],
    "SELECT id FROM d.t WHERE id = 1;": [(1,)],
    "WITH a AS (SELECT id FROM d.t) (WITH b AS (SELECT id FROM a) SELECT count(*) FROM b)": [(3,)],
}


@pytest.fixture(scope="module")
def frames(spark):
    return {name: spark.sql(query) for name, query in TABLES.items()} | {("d", "t", "dev"): spark.sql(DEV)}


def run(spark, frames, text, args=None):
    prepared = prepare(text)
    names = [f"table_{index}" for index in range(len(prepared.tables))]
    given = {}
    for name, use in zip(names, prepared.tables, strict=True):
        frame = frames[(*use.name.parts, *([use.name.ref.name] if use.name.ref else []))]
        if use.columns is not None:
            frame = frame.select([column for column in frame.columns if column.lower() in use.columns])
        if use.predicate is not None:
            frame = frame.where(use.predicate)
        given[name] = frame
    return spark.sql(splice(prepared, names), args, **given)


@pytest.mark.parametrize("text", CASES)
def test_a_spliced_query(spark, frames, text):
    rows = [tuple(row) for row in run(spark, frames, text).collect()]
    expected = CASES[text]
    assert (len(rows) if isinstance(expected, int) else rows) == expected


def test_parameters_pass(spark, frames):
    assert run(spark, frames, "SELECT s FROM d.t WHERE id = :x", {"x": 2}).collect() == [("b",)]
    assert run(spark, frames, "SELECT s FROM d.t WHERE id = ? AND '{?}' = ?", [2, "{?}"]).collect() == [("b",)]


def test_given_frames_keep_their_braces(spark, frames):
    prepared = prepare("SELECT {mine}.w, '{mine}' FROM {mine} JOIN d.t ON {mine}.id = t.id AND t.id = 3", ["mine"])
    assert [use.name.parts for use in prepared.tables] == [("d", "t")]
    found = spark.sql(splice(prepared, ["t0"]), mine=frames["d", "u"], t0=frames["d", "t"])
    assert found.collect() == [("z", "{mine}")]


@pytest.mark.parametrize(
    "literal",
    [
        "'it''s'",
        "''''",
        '"a""b"',
        "'a' 'b'",
        r"'a\n\t\\b'",
        r"'\u0041\101\%\_\x'",
        r"r'a\nb'",
        "'é😀'",
        r"'\''",
        r"'\Z'",
        r"'\0'",
        r"'\177\200'",
    ],
)
def test_strings_are_read_as_spark_reads_them(spark, literal):
    assert Cursor(literal).string("a string") == spark.sql(f"SELECT {literal}").first()[0]
