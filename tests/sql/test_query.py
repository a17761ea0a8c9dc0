"""What a query reads: tables and their scopes, needed columns, pushed conditions, and the spliced text."""

import pytest

from anabranch.errors import SqlError
from anabranch.sql import Name, Ref, prepare, splice


def reads(text, frames=()):
    return [str(use.name) for use in prepare(text, frames).tables]


SCOPES = {
    "SELECT 1": [],
    "SELECT * FROM d.t": ["d.t"],
    "SELECT * FROM d.t, e.u JOIN f.v ON true": ["d.t", "e.u", "f.v"],
    "SELECT * FROM (d.t CROSS JOIN d.u) JOIN (d.v) ON true": ["d.t", "d.u", "d.v"],
    "WITH t AS (SELECT * FROM d.t) SELECT * FROM t": ["d.t"],
    "WITH t AS (SELECT 1) SELECT * FROM T": [],
    "WITH t AS (SELECT 1) SELECT * FROM d.t": ["d.t"],
    "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b, a": [],
    "WITH a AS (SELECT 1) SELECT (SELECT max(x) FROM a) FROM d.t WHERE EXISTS (SELECT * FROM a)": ["d.t"],
    "SELECT * FROM (WITH a AS (SELECT * FROM d.t) SELECT * FROM a) q": ["d.t"],
    "WITH a AS (WITH b AS (SELECT * FROM d.t) SELECT * FROM b) SELECT * FROM a": ["d.t"],
    "WITH a AS (SELECT 1) SELECT * FROM a UNION ALL SELECT * FROM a UNION SELECT * FROM d.t": ["d.t"],
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r": [],
    "SELECT * FROM range(10), explode(array(1)), VALUES (1) AS v(a)": [],
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b') AS v(a, b)) s JOIN d.t ON t.id = s.a": ["d.t"],
    "SELECT * FROM (VALUES 1, 2 v(a)) `s t`, (VALUES (1) AS w(a)) WHERE a = 1": [],
    "SELECT * FROM d.t LATERAL VIEW explode(xs) x AS y": ["d.t"],
    "SELECT * FROM d.t, LATERAL (SELECT * FROM d.u WHERE u.id = t.id)": ["d.t", "d.u"],
    "SELECT /*+ BROADCAST(x) */ 'FROM d.u' FROM d.t x -- FROM d.v": ["d.t"],
    "SELECT d.t.c FROM d.t WHERE a IN (SELECT b FROM d.u) AND EXISTS (SELECT 1 FROM d.v)": ["d.t", "d.u", "d.v"],
    "(TABLE d.t) EXCEPT TABLE d.u": ["d.t", "d.u"],
    "WITH c AS (TABLE d.t) TABLE c": ["d.t"],
    "SELECT table.a FROM d.table": ["d.table"],
    "SELECT DISTINCT table FROM d.t WHERE (table IS NULL)": ["d.t"],
    "SELECT a AS table FROM d.t UNION ALL TABLE d.u LIMIT 3": ["d.t", "d.u"],
}


@pytest.mark.parametrize("text", SCOPES)
def test_scopes(text):
    assert reads(text) == SCOPES[text]


def test_refs_are_read_where_they_stand():
    text = (
        "SELECT * FROM d.t@dev@3 a, `d`.`t@dev`@`x y` b, d.t VERSION AS OF 'v1' c, d.t FOR TIMESTAMP AS OF '2026' AS e"
    )
    prepared = prepare(text)
    assert [use.name for use in prepared.tables] == [
        Name(("d", "t"), Ref("dev", version=3)),
        Name(("d", "t@dev"), Ref("x y")),
        Name(("d", "t"), Ref("v1")),
        Name(("d", "t"), Ref(timestamp="2026")),
    ]
    assert [text[use.start : use.end] for use in prepared.tables] == [
        "d.t@dev@3",
        "`d`.`t@dev`@`x y`",
        "d.t VERSION AS OF 'v1'",
        "d.t FOR TIMESTAMP AS OF '2026'",
    ]
    assert [use.alias for use in prepared.tables] == ["a", "b", "c", "e"]


SPLICED = {
    "SELECT '{a}' FROM d.t WHERE x = '{\"k\": 1}'": "SELECT '{{a}}' FROM {f0} AS `t` WHERE x = '{{\"k\": 1}}'",
    "SELECT '{a}'": "SELECT '{a}'",
    "SELECT d.t.c, d.t.*, t.c FROM d.t": "SELECT `t`.c, `t`.*, t.c FROM {f0} AS `t`",
    "SELECT d.t.s.f.g[0].h FROM d.t": "SELECT `t`.s.f.g[0].h FROM {f0} AS `t`",
    "SELECT D.T.c FROM d.t": "SELECT `t`.c FROM {f0} AS `t`",
    "SELECT x.c FROM d.t AS x": "SELECT x.c FROM {f0} AS x",
    "SELECT d.t.c FROM d.t x": "SELECT d.t.c FROM {f0} x",
    "SELECT d.t.a, e.t.b FROM d.t, e.t": "SELECT `d.t`.a, `e.t`.b FROM {f0} AS `d.t`, {f1} AS `e.t`",
    "SELECT a FROM d.t, d.t@dev": "SELECT a FROM {f0} AS `d.t`, {f1} AS `d.t#2`",
    "SELECT t.a FROM d.t, d.u t": None,
    "SELECT a FROM d.t UNION SELECT t.a FROM d.t": "SELECT a FROM {f0} AS `t` UNION SELECT t.a FROM {f1} AS `t`",
    "SELECT t.a FROM d.t WHERE EXISTS (SELECT 1 FROM e.t WHERE t.b = d.t.a)": (
        "SELECT `d.t`.a FROM {f0} AS `d.t` WHERE EXISTS (SELECT 1 FROM {f1} AS `e.t` WHERE `e.t`.b = `d.t`.a)"
    ),
    "TABLE d.t@dev": "TABLE {f0}",
    "SELECT * FROM d.t@dev TABLESAMPLE (5 ROWS)": "SELECT * FROM {f0} TABLESAMPLE (5 ROWS) AS `t`",
    "SELECT * FROM d.t PIVOT (sum(a) FOR b IN (1))": "SELECT * FROM {f0} AS `t` PIVOT (sum(a) FOR b IN (1))",
    "SELECT * FROM d.`a{b}`": "SELECT * FROM {f0} AS `a{{b}}`",
    "SELECT * FROM d.t/* c */JOIN d.u@dev ON true": "SELECT * FROM {f0} AS `t`/* c */JOIN {f1} AS `u` ON true",
    "SELECT :a, ? FROM d.t": "SELECT :a, ? FROM {f0} AS `t`",
    "SELECT 'it''s', nvl2(a, 1, 2) FROM d.t": "SELECT 'it''s', nvl2(a, 1, 2) FROM {f0} AS `t`",
}


@pytest.mark.parametrize("text", SPLICED)
def test_splice(text):
    if SPLICED[text] is None:
        with pytest.raises(SqlError, match="may mean 2 tables"):
            prepare(text)
        return
    prepared = prepare(text)
    assert splice(prepared, [f"f{index}" for index in range(len(prepared.tables))]) == SPLICED[text]


def test_given_frames():
    prepared = prepare("SELECT {df[a]}, '{df}' FROM {df} JOIN d.t ON {df}.id = t.id", ["df"])
    assert splice(prepared, ["f"]) == "SELECT {df[a]}, '{{df}}' FROM {df} JOIN {f} AS `t` ON {df}.id = t.id"
    assert prepared.tables[0].columns is None
    assert splice(prepare("SELECT '{'", ["df"]), []) == "SELECT '{{'"


def needed(text):
    return [None if use.columns is None else use.columns & set("abcdefgh") for use in prepare(text).tables]


ALL = None
COLUMNS = {
    "SELECT a, count(*) FROM x.t WHERE b = 1 GROUP BY a ORDER BY sum(C)": [{"a", "b", "c"}],
    "SELECT count(*) FROM x.t": [set()],
    "SELECT `a` FROM x.t": [{"a"}],
    "SELECT * FROM x.t": [ALL],
    "SELECT * EXCEPT (a) FROM x.t": [ALL],
    "SELECT t.*, u.a FROM x.t JOIN x.u": [ALL, {"a"}],
    "SELECT x.t.* FROM x.t JOIN x.u": [ALL, set()],
    "SELECT struct(*) FROM x.t": [ALL],
    "SELECT count(DISTINCT *) FROM x.t": [ALL],
    "SELECT a FROM x.t WHERE EXISTS (SELECT * FROM x.u WHERE b)": [{"a", "b"}, ALL],
    "SELECT * FROM (SELECT a FROM x.t)": [{"a"}],
    "WITH w AS (SELECT a FROM x.t) SELECT * FROM w": [{"a"}],
    "SELECT nobody.* FROM x.t": [ALL],
    "SELECT a FROM x.t NATURAL JOIN x.u": [ALL, ALL],
    "SELECT a FROM x.t AS y(a, b)": [ALL],
    "SELECT a FROM x.t PIVOT (sum(b) FOR c IN (1))": [ALL],
    "SELECT IDENTIFIER('a') FROM x.t": [ALL],
    "TABLE x.t": [ALL],
    "FROM x.t": [ALL],
}


@pytest.mark.parametrize("text", COLUMNS)
def test_needed_columns(text):
    assert needed(text) == COLUMNS[text]


def pushed(text):
    return [use.predicate for use in prepare(text).tables]


PUSHED = {
    "SELECT * FROM d.t WHERE a = 1": ["(`a` = 1)"],
    "SELECT * FROM d.t WHERE (t.a > -1.5 AND d.t.b <= 'x') AND c <=> true": [
        "(`a` > -1.5) AND (`b` <= 'x') AND (`c` <=> true)"
    ],
    "SELECT * FROM d.t WHERE 5 > a AND DATE '2026-01-01' = b": ["(`a` < 5) AND (`b` = DATE '2026-01-01')"],
    "SELECT * FROM d.t WHERE a IN (1, 2) AND b BETWEEN 1 AND 2 AND c IS NULL AND e IS NOT NULL AND f LIKE 'it''s%'": [
        "(`a` IN (1, 2)) AND (`b` BETWEEN 1 AND 2) AND (`c` IS NULL) AND (`e` IS NOT NULL) AND (`f` LIKE 'it\\'s%')"
    ],
    "SELECT * FROM d.t WHERE `o``dd` = 1": ["(`o``dd` = 1)"],
    "SELECT * FROM d.t WHERE a = 1 OR b = 1": [None],
    "SELECT * FROM d.t WHERE a <> 1 AND NOT a = 1 AND a NOT IN (1)": [None],
    "SELECT * FROM d.t WHERE a = rand() AND b = c AND a + 1 = 2 AND f(a) = 1": [None],
    "SELECT * FROM d.t WHERE a = NULL AND a IN (1, NULL) AND a IN (SELECT 1)": [None],
    "SELECT * FROM d.t WHERE a = :x AND b = ?": [None],
    "SELECT * FROM d.t WHERE s.f = 1 AND t.s.f = 1 AND x[0] = 1": [None],
    r"SELECT * FROM d.t WHERE a LIKE 'x\%' AND a LIKE 'x' ESCAPE '/' AND b = '\\'": [None],
    "SELECT * FROM d.t HAVING a = 1": [None],
    "SELECT * FROM d.t, d.u WHERE a = 1 AND t.b = 1": ["(`b` = 1)", None],
    "SELECT * FROM d.t x JOIN d.u y ON x.a = 1 AND x.id = y.id WHERE y.b = 2": ["(`a` = 1)", "(`b` = 2)"],
    "SELECT * FROM d.t LEFT JOIN d.u ON t.c = 3 AND u.c = 3 WHERE t.a = 1 AND u.b IS NULL": ["(`a` = 1)", None],
    "SELECT * FROM d.t RIGHT JOIN d.u ON true WHERE t.a IS NULL AND u.b = 1": [None, "(`b` = 1)"],
    "SELECT * FROM d.t FULL JOIN d.u ON true WHERE t.a = 1 AND u.b = 1": [None, None],
    "SELECT * FROM d.t LEFT JOIN d.u ON true JOIN d.v ON u.a IS NULL AND t.a = 1": ["(`a` = 1)", None, None],
    "SELECT * FROM d.t JOIN d.u ON true RIGHT JOIN d.v ON true WHERE t.a = 1 AND v.b = 1": [None, None, "(`b` = 1)"],
    "SELECT * FROM d.t LEFT ANTI JOIN d.u ON u.a = 1 WHERE t.b = 1": ["(`b` = 1)", None],
    "SELECT * FROM d.t LATERAL VIEW explode(x) v AS y WHERE t.a = 1": [None],
    "SELECT * FROM d.t PIVOT (sum(a) FOR b IN (1)) WHERE c = 1": [None],
    "SELECT * FROM d.t TABLESAMPLE (5 ROWS) WHERE a = 1": [None],
    "SELECT * FROM d.t AS x(b, a) WHERE a = 1 AND x.b = 1": [None],
    "SELECT * FROM (SELECT * FROM d.t WHERE a = 1 LIMIT 5) q WHERE q.b = 1": ["(`a` = 1)"],
    "SELECT * FROM (SELECT * FROM d.t LIMIT 5) q WHERE a = 1": [None],
    "WITH c AS (SELECT * FROM d.t WHERE a = 1) SELECT * FROM c WHERE b = 2": ["(`a` = 1)"],
    "SELECT 1 FROM d.u WHERE EXISTS (SELECT 1 FROM d.t WHERE a = 1 AND t.b = 1)": [None, "(`b` = 1)"],
    "SELECT 1 FROM d.u WHERE EXISTS (SELECT 1 FROM (SELECT * FROM d.t WHERE a = 1) q)": [None, None],
    "SELECT (SELECT max(b) FROM d.t WHERE a = 1) FROM d.u": [None, None],
    "SELECT 1 FROM d.u JOIN d.v ON (SELECT max(b) FROM d.t WHERE a = 1) > 1": [None, None, None],
    "SELECT 1 FROM d.u, LATERAL (SELECT 1 FROM d.t WHERE a = 1)": [None, None],
    "SELECT * FROM d.t WHERE a = 1 UNION SELECT * FROM d.t WHERE a = 2": ["(`a` = 1)", "(`a` = 2)"],
    "SELECT * FROM d.t x JOIN d.u x ON true WHERE x.a = 1": [None, None],
    "WITH t AS (SELECT 1 a) SELECT * FROM t WHERE a = 1": [],
    "SELECT count(*), row_number() OVER (ORDER BY b) FROM d.t WHERE a = 1": ["(`a` = 1)"],
}


@pytest.mark.parametrize("text", PUSHED)
def test_pushed_conditions(text):
    assert pushed(text) == PUSHED[text]


ERRORS = {
    "SELECT * FROM ¦t": "write database.table",
    "SELECT * FROM (SELECT f(1)¦ ": "expected ), found the end",
    "SELECT * FROM ¦a.b.c": "write database.table",
    "WITH c AS (SELECT * FROM ¦e), e AS (SELECT 1) SELECT * FROM c": "write database.table",
    "WITH c AS (SELECT * FROM ¦c) SELECT * FROM c": "write database.table",
    "SELECT x¦@dev FROM d.t": "can only follow the name of a table",
    "SELECT * FROM d.t a¦@dev": "can only follow the name of a table",
    "WITH c AS (SELECT 1) SELECT * FROM c¦@dev": "can only follow the name of a table",
    "SELECT * FROM range(3) ¦VERSION AS OF 3": "can only follow the name of a table",
    "SELECT * FROM d.t VERSION AS OF ¦:v": "expected a version",
    "SELECT * FROM d.t@dev@2 ¦VERSION AS OF 3": "two versions",
    "SELECT * FROM ¦IDENTIFIER('d.t')": "write database.table",
    "SELECT * FROM d.t ¦|> WHERE a": "pipe syntax",
    "SELECT {¦df} FROM d.t": "no frame called 'df'",
    "SELECT ¦} FROM d.t": "no meaning",
    "¦SHOW TABLES": "expected a query, found SHOW",
    "SELECT *\nFROM d.t\nWHER ¦x": "unexpected x",
    "SELECT * FROM ¦WHERE": "expected table name, found WHERE",
    "SELECT ¦t.a FROM d.t, e.t": "'t' may mean 2 tables",
    "¦SELECT 1; SELECT 2": "one single query",
    "SELECT ¦'a": "not closed",
}


@pytest.mark.parametrize("marked", ERRORS)
def test_an_error_and_its_position(marked):
    with pytest.raises(SqlError) as caught:
        prepare(marked.replace("¦", ""))
    assert ERRORS[marked] in str(caught.value)
    assert caught.value.position == marked.index("¦")


def test_long_chains_are_no_trouble():
    assert len(reads(" UNION ALL ".join(["SELECT a FROM d.t"] * 300))) == 300
    assert len(pushed("SELECT 1 FROM d.t WHERE " + " AND ".join(f"x{n} = {n}" for n in range(1500)))[0]) > 10_000
