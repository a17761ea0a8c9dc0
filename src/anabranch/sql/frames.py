"""Queries on Spark: every table of a prepared query becomes a scan frame, and the spliced text runs over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from anabranch import expressions
from anabranch.commands.session import OpenTable, Ref, Session
from anabranch.errors import AnabranchError, NeedsSpark, SqlError
from anabranch.execution.failures import spark_failures
from anabranch.execution.plan import ScanPlan, plan_scan
from anabranch.execution.predicate import Predicate, Scope
from anabranch.model.schema import Schema
from anabranch.model.types import backticked
from anabranch.sql import refs
from anabranch.sql.query import PreparedQuery, TableUse, prepare
from anabranch.sql.splicing import splice
from anabranch.sql.views import views_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_query(
    session: Session,
    text: str,
    args: Any = None,
    frames: Mapping[str, Any] | None = None,
    *,
    ids_at: int | None = None,
) -> DataFrame:
    """A query as a Spark DataFrame. `ids_at`: the table whose name starts there also has `_row_id` and `_origin`."""
    given = {name: as_frame(session, frame) for name, frame in (frames or {}).items()}
    prepared = prepare(text, given.keys(), views_of(session))
    plans = plans_of(session.at(session.head()), prepared)
    spark = session.shared.spark()
    labels = [label for plan in plans for label in plan.view.schema.labels]
    with spark_failures(labels=labels, text=text):
        made = {}
        for number, (plan, use) in enumerate(zip(plans, prepared.tables, strict=True)):
            made[f"anabranch_{number}"] = _frame(session, plan, ids=use.start == ids_at)
        return spark.sql(splice(prepared, list(made)), args, **made, **given)


def plans_of(session: Session, prepared: PreparedQuery) -> list[ScanPlan]:
    """How each table of a query is read; this is what EXPLAIN shows."""
    return [_plan(session, use, prepared.text) for use in prepared.tables]


def open_use(session: Session, name: refs.Name) -> OpenTable:
    return session.table(name.parts, session.resolve(position_ref(name.ref)))


def position_ref(ref: refs.Ref | None) -> Ref:
    """A ref of the text as commands take it."""
    if ref is None:
        return Ref()
    return Ref(ref.name, ref.version, None if ref.timestamp is None else micros(ref.timestamp))


def micros(timestamp: str) -> int:
    """A timestamp literal, or an ISO time, in microseconds."""
    import pyarrow as pa

    text = timestamp if timestamp.strip().upper().startswith("TIMESTAMP") else f"TIMESTAMP '{timestamp.strip()}'"
    try:
        value = expressions.constant(expressions.parse_expression(text), pa.timestamp("us", "UTC"))
        return value.value
    except AnabranchError as error:
        raise SqlError(f"'{timestamp}' is not a time: write it as 'YYYY-MM-DD HH:MM:SS'") from error


def _plan(session: Session, use: TableUse, text: str) -> ScanPlan:
    table = open_use(session, use.name)
    labels = None
    if use.columns is not None:
        labels = [label for label in table.schema.labels if label.lower() in use.columns]
        labels = labels or [_narrowest(table.schema)]
    where = _pushed(session, use, table.schema)
    with session.times():
        plan = plan_scan(session.view(table), labels, where)
        try:
            if where is not None:
                where.compiled(table.schema)
            return plan.as_hint()
        except NeedsSpark:  # it may still skip parts; rows are filtered by Spark alone
            return plan.unfiltered()


def _narrowest(schema: Schema) -> str:
    """The column to read when only rows are counted."""
    return min(schema.columns, key=lambda column: _WIDTHS.get(str(column.type), 99)).label


_WIDTHS = {"boolean": 0, "tinyint": 1, "smallint": 2, "int": 4, "date": 4, "float": 4, "bigint": 8, "double": 8}


def _pushed(session: Session, use: TableUse, schema: Schema) -> Predicate | None:
    """The conjuncts of the query's condition that are on columns of this table."""
    if use.predicate is None:
        return None
    kept = []
    for conjunct in expressions.conjuncts(expressions.parse_expression(use.predicate)):
        names = {column.name for column in conjunct.find_all(exp.Column)}
        if all(schema.find(name) for name in names) and session.decides(schema, names):
            kept.append(f"({conjunct.sql(dialect='spark')})")
    return Predicate(" AND ".join(kept), Scope(alias=use.alias)) if kept else None


def _frame(session: Session, plan: ScanPlan, *, ids: bool) -> DataFrame:
    from anabranch.execution.spark_scan import scan_frame

    spark, limits = session.shared.spark(), session.shared.limits
    carried = plan.view.carried
    key = (id(carried), plan.view.schema.id, plan.columns, plan.where, ids, limits, id(spark))
    # The entry keeps what is read alive, so that its id is not given to others.
    return session.remember(key, lambda: (scan_frame(spark, plan, limits, ids=ids), carried))[0]


def as_frame(session: Session, data: Any) -> DataFrame:
    """What a user passes as a frame: a DataFrame of Spark, or anything that Arrow can hold."""
    from anabranch.execution.incoming import arrow_table, is_spark_frame

    if is_spark_frame(data):
        return data
    rows = arrow_table(data)  # what cannot be one starts no Spark
    return session.shared.spark().createDataFrame(rows)


def table_frame(session: Session, table: OpenTable, labels: Sequence[str] | None, where: str | None) -> DataFrame:
    """A whole table, or some columns and rows of it, as a Spark DataFrame."""
    from pyspark.sql import functions as F

    wanted = [column.label for column in table.schema.select(labels)]
    if where is None:
        return _frame(session, plan_scan(session.view(table), wanted), ids=False)
    predicate = Predicate(where, Scope((table.database.name, table.record.name)))
    try:
        more = predicate.compiled(table.schema).columns
        plan = plan_scan(session.view(table), list(dict.fromkeys([*wanted, *sorted(more)])), predicate)
        plan = plan.as_hint()
    except NeedsSpark:
        plan = plan_scan(session.view(table))
    with spark_failures():
        rows = _frame(session, plan, ids=False).alias(table.record.name).where(where)
        return rows.select(*[F.col(backticked(label)) for label in wanted])
