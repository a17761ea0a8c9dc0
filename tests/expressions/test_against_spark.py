"""Every expression gives here what it gives in Spark: the type, each row's value, or an error on that row."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import types as pat

from anabranch.errors import ExpressionError, NeedsSpark
from anabranch.expressions import compile_expression, literal_sql, parse_expression, spark_name
from anabranch.expressions.strings import PLAIN_CASE

from . import cases
from .rows import Expressions, rows

pytestmark = pytest.mark.spark

RANDOM = 320
# Rows on which an expression fails here are asked of Spark one by one, up to this many in all.
FAILURES = 20
TABLE = rows(48, seed=7)


@pytest.fixture(scope="module")
def session(spark):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    # createDataFrame reads a timestamp without a zone as one with the session's.
    frame = spark.createDataFrame(TABLE).selectExpr("* EXCEPT (tn)", "CAST(tn AS TIMESTAMP_NTZ) AS tn")
    frame.createOrReplaceTempView("expression_rows")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)
    spark.catalog.dropTempView("expression_rows")


def evaluated(text: str):
    """The compiled expression, and a value (as a list of one) or None for each row: None where it fails."""
    compiled = compile_expression(parse_expression(text), TABLE.schema, table="expression_rows")
    try:
        return compiled, [[value] for value in plain(compiled(TABLE))]
    except NeedsSpark:
        raise
    except ExpressionError:
        found = []
        for position in range(TABLE.num_rows):
            try:
                found.append(plain(compiled(TABLE.slice(position, 1))))
            except NeedsSpark:
                raise
            except ExpressionError:
                found.append(None)
        return compiled, found


def plain(column: pa.ChunkedArray) -> list:
    """Values that compare exactly: NaN by its name, -0.0 apart from 0.0, times as numbers."""
    if pat.is_date32(column.type):
        column = column.cast(pa.int32())
    if pat.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return [repr(value) if isinstance(value, float) else value for value in column.to_pylist()]


def guarded(text: str, found: list) -> str:
    """The expression over the rows on which it does not fail here."""
    failing = [str(position) for position, value in enumerate(found) if value is None]
    return f"CASE WHEN id NOT IN ({', '.join(failing)}) THEN {text} END" if failing else text


def check(session, texts: list[str]) -> tuple[int, int]:
    """Compares all expressions; gives how many were evaluated here and how many need Spark."""
    known = []
    for text in texts:
        try:
            known.append((text, *evaluated(text)))
        except NeedsSpark:
            continue
    wrong = []
    for start in range(0, len(known), 50):
        wrong += compare(session, known[start : start + 50])
    failing = [(text, found.index(None)) for text, _, found in known if None in found]
    for text, position in failing[:: max(len(failing) // FAILURES, 1)]:
        try:
            value = session.sql(f"SELECT {text} AS r FROM expression_rows WHERE id = {position}").collect()
            wrong.append(f"{text}: fails here on row {position}, Spark gives {value}")
        except Exception as error:
            # A query that Spark cannot even analyse would pass for one that fails.
            if "DATATYPE_MISMATCH" in str(error) or "PARSE" in str(error):
                wrong.append(f"{text}: {error}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])
    return len(known), len(texts) - len(known)


def compare(session, known: list) -> list[str]:
    selected = ", ".join(f"{guarded(text, found)} AS r{n}" for n, (text, _, found) in enumerate(known))
    try:
        frame = session.sql(f"SELECT id, {selected} FROM expression_rows")
        result = frame.toArrow().sort_by("id")
    except Exception as error:
        if len(known) == 1:
            return [f"{known[0][0]}: evaluates here, fails in Spark: {str(error)[:300]}"]
        half = len(known) // 2
        return compare(session, known[:half]) + compare(session, known[half:])
    wrong = []
    for n, (text, compiled, found) in enumerate(known):
        theirs_type = frame.schema[f"r{n}"].dataType.simpleString()
        if theirs_type != spark_name(compiled.type):
            wrong.append(f"{text}: is {spark_name(compiled.type)} here, {theirs_type} in Spark")
            continue
        for position, (ours, theirs) in enumerate(zip(found, plain(result.column(f"r{n}")), strict=True)):
            if ours is not None and ours != [theirs]:
                row = TABLE.slice(position, 1)
                read = {name: plain(row.column(name))[0] for name in compiled.columns}
                wrong.append(f"{text}: on {read} is {ours[0]!r} here, {theirs!r} in Spark")
                break
    return wrong


def test_the_tables_of_cases(session):
    texts = [text for text, _ in cases.VALUES] + cases.MORE
    evaluated_here, needs_spark = check(session, texts)
    assert needs_spark == 0, needs_spark
    assert evaluated_here == len(texts)


def test_random_expressions(session):
    make = Expressions(seed=20240229)
    texts = list(dict.fromkeys(make.any(depth) for depth in (1, 2, 3, 4) for _ in range(RANDOM // 4)))
    evaluated_here, _ = check(session, texts)
    assert evaluated_here > len(texts) // 2


@pytest.mark.parametrize("how", ["column", "literal"])
def test_odd_text_in_casts(session, how):
    """Each text is NULL, a value or Spark's to read, never something else."""
    table = pa.table({"c": cases.ODD_TEXT})
    frame = session.createDataFrame(table.append_column("n", pa.array(range(len(cases.ODD_TEXT)))))
    theirs = (
        frame.selectExpr("n", *(f"TRY_CAST(c AS {type}) AS `{type}`" for type in cases.TYPES)).toArrow().sort_by("n")
    )
    wrong, read = [], 0
    for type in cases.TYPES:
        for text, expected in zip(cases.ODD_TEXT, plain(theirs.column(type)), strict=True):
            operand = "c" if how == "column" else literal_sql(pa.scalar(text))
            row = pa.table({"c": [text]})
            try:
                found = plain(compile_expression(parse_expression(f"TRY_CAST({operand} AS {type})"), row.schema)(row))
            except NeedsSpark:
                continue
            read += 1
            if found != [expected]:
                wrong.append(f"{text!r} as {type}: {found[0]!r} here, {expected!r} in Spark")
    assert not wrong, "\n".join(wrong)
    # A column leaves more to Spark than a literal does: only fixed-width dates are read from it.
    assert read > len(cases.ODD_TEXT) * len(cases.TYPES) * (0.7 if how == "column" else 0.8)


@pytest.mark.parametrize("op", cases.MATCHED)
def test_patterns(session, op):
    table = pa.table({"n": range(len(cases.LINES)), "c": cases.LINES})
    texts = [f"c {op} {literal_sql(pa.scalar(pattern))}" for pattern in cases.MATCHED[op]]
    theirs = session.createDataFrame(table).selectExpr("n", *texts).toArrow().sort_by("n")
    for position, text in enumerate(texts, start=1):
        ours = compile_expression(parse_expression(text), table.schema)(table).to_pylist()
        expected = theirs.column(position).to_pylist()
        assert ours == expected, (
            text,
            [line for line, one, two in zip(cases.LINES, ours, expected, strict=True) if one != two],
        )


def test_today_is_todays(session):
    compiled = compile_expression(parse_expression("current_date()"), TABLE.schema)
    today = dt.datetime.now(dt.timezone.utc).date()
    assert compiled(TABLE)[0].as_py() == today == session.sql("SELECT current_date()").collect()[0][0]
    assert not compiled.deterministic


def test_case_of_letters(session):
    """Every letter that upper and lower accept has one upper and lower case, the same in Spark."""
    letters = [chr(code) for code in [*range(1, 0x500), *range(0x3000, 0x3100), 0x9FFF, 0xAC00, 0x1F600]]
    table = pa.table({"c": letters})
    accepted = table.filter(pc.match_substring_regex(table["c"], PLAIN_CASE))
    ours = [compile_expression(parse_expression(f"{name}(c)"), table.schema)(accepted) for name in ("upper", "lower")]
    theirs = session.createDataFrame(accepted).selectExpr("upper(c)", "lower(c)").toArrow()
    for mine, column in zip(ours, theirs.columns, strict=True):
        assert mine.to_pylist() == column.to_pylist()
