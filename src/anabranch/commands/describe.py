"""What SHOW and DESCRIBE tell: read from the catalog alone."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Sequence
from typing import Any

from anabranch.commands import partitions
from anabranch.commands.apart import branch_table
from anabranch.commands.graph import log_graph
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Ref, Session
from anabranch.execution.plan import ScanPlan, choose_paths
from anabranch.model.history import Commit, Position
from anabranch.model.schema import Column
from anabranch.model.strings import literal
from anabranch.model.types import declared, quote_identifier


def like(names: Iterable[str], pattern: str | None) -> list[str]:
    """SHOW … LIKE: `*` and `%` stand for anything, `|` for a choice; case does not count."""
    if pattern is None:
        return list(names)
    choices = [choice.strip().replace("%", "*").lower() for choice in pattern.split("|")]
    return [name for name in names if any(fnmatch.fnmatchcase(name.lower(), choice) for choice in choices)]


def show_databases(session: Session, pattern: str | None = None) -> Result:
    names = like((record.name for record in session.catalog.databases(session.head())), pattern)
    return Result(["database"], [[name] for name in names])


def show_tables(
    session: Session, database: str | None = None, pattern: str | None = None, ref: Ref | None = None
) -> Result:
    at = session.resolve(ref)
    chosen = session.catalog.databases(at) if database is None else [session.database(database, at)]
    names = {record.id: record.name for record in chosen}
    only = None if database is None else chosen[0].id
    records = [r for r in session.catalog.tables(at, only) if r.database_id in names]
    kept = set(like((record.name for record in records), pattern))
    records = sorted(records, key=lambda record: (names[record.database_id].lower(), record.name.lower()))
    rows = [[names[r.database_id], r.name, r.comment] for r in records if r.name in kept]
    return Result(["database", "table", "comment"], rows)


def describe_database(session: Session, name: str, ref: Ref | None = None) -> Result:
    at = session.resolve(ref)
    record = session.database(name, at)
    rows = [
        ["name", record.name],
        ["id", record.id],
        ["comment", record.comment or ""],
        ["tables", str(len(session.catalog.tables(at, record.id)))],
        ["properties", _pairs(record.properties)],
    ]
    return Result(["attribute", "value"], rows)


def describe_table(session: Session, table: OpenTable, *, extended: bool = False) -> Result:
    rows: list[list[Any]] = [
        [c.label, declared(c.type), "yes" if c.nullable else "no", c.write_default, c.comment]
        for c in table.schema.columns
    ]
    if extended:
        rows += [["", "", "", "", ""], *([name, value, "", "", ""] for name, value in _details(session, table))]
    return Result(["column", "type", "nullable", "default", "comment"], rows)


def _details(session: Session, table: OpenTable) -> list[tuple[str, str]]:
    view = session.view(table)
    dead = sum(view.dead_in(part) for part in view.parts)
    return [
        ("# table", table.name),
        ("# id", table.id),
        ("# comment", table.record.comment or ""),
        ("# version", str(table.position.version)),
        ("# schema id", str(table.schema.id)),
        ("# primary key", ", ".join(table.schema.key_labels)),
        ("# partitioned by", ", ".join(column.label for column in table.schema.partition_columns)),
        ("# properties", _pairs(table.record.properties)),
        ("# parts", str(len(view.parts))),
        ("# rows", f"{view.rows:,}"),
        ("# dead rows", f"{dead:,}"),
        ("# bytes", f"{sum(part.bytes for part in view.parts):,}"),
        ("# location", session.folder(table.id).spark_url()),
    ]


def show_columns(table: OpenTable) -> Result:
    return Result(["column"], [[label] for label in table.schema.labels])


def show_partitions(session: Session, table: OpenTable, spec: partitions.Spec | None = None) -> Result:
    wanted = partitions.scope(session, table, spec or {})
    texts = [
        text
        for text in partitions.partitions(session, table)
        if all(json.loads(text).get(name) == value for name, value in wanted.items())
    ]
    return Result(["partition"], [[partitions.describe(table, text)] for text in texts])


def show_properties(table: OpenTable, key: str | None = None) -> Result:
    rows = sorted(table.record.properties.items())
    return Result(["key", "value"], [row for row in rows if key is None or row[0] == key])


def show_create_table(table: OpenTable) -> Result:
    """A statement that makes an equal, empty table."""
    lines = [f"  {_declaration(column)}" for column in table.schema.columns]
    if table.schema.primary_key:
        lines.append(f"  PRIMARY KEY ({', '.join(map(quote_identifier, table.schema.key_labels))})")
    text = f"CREATE TABLE {table.name} (\n" + ",\n".join(lines) + "\n)"
    if table.schema.partitioned_by:
        text += f"\nPARTITIONED BY ({', '.join(quote_identifier(c.label) for c in table.schema.partition_columns)})"
    if table.record.comment is not None:
        text += f"\nCOMMENT {literal(table.record.comment)}"
    if table.record.properties:
        pairs = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in sorted(table.record.properties.items()))
        text += f"\nTBLPROPERTIES ({pairs})"
    return Result(["statement"], [[text]])


def _declaration(column: Column) -> str:
    type_ = declared(column.type)
    text = f"{quote_identifier(column.label)} {type_.upper() if '<' not in type_ else type_}"
    text += "" if column.nullable else " NOT NULL"
    text += f" DEFAULT {column.write_default}" if column.write_default is not None else ""
    return text + (f" COMMENT {literal(column.comment)}" if column.comment else "")


def _pairs(properties: Any) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(properties.items()))


def show_branches(session: Session, pattern: str | None = None) -> Result:
    return branch_table(session, lambda names: like(names, pattern))


def show_tags(session: Session, pattern: str | None = None) -> Result:
    tags = session.catalog.tags()
    kept = set(like((tag.name for tag in tags), pattern))
    rows = [
        [tag.name, _branch(session, tag.branch_id), tag.version, _time(tag.created_us)]
        for tag in tags
        if tag.name in kept
    ]
    return Result(["tag", "branch", "version", "created"], sorted(rows))


_LOG = ("version", "time", "branch", "author", "operation", "message", "id")


def show_log(session: Session, commits: Sequence[Commit]) -> Result:
    return Result(_LOG, [_logged(session, commit) for commit in commits])


def show_graph(session: Session, at: Position, limit: int | None = None) -> Result:
    """The log with what was merged, drawn; lines without a commit hold edges only."""
    rows: list[list[Any]] = []
    for line in log_graph(session, at, limit):
        rows.append([line.drawn, *(_logged(session, line.commit) if line.commit else [None] * len(_LOG))])
    return Result(["graph", *_LOG], rows)


def _logged(session: Session, commit: Commit) -> list[Any]:
    made_on = _branch(session, commit.branch_id)
    return [commit.version, commit.time, made_on, commit.author, commit.operation, commit.message, commit.id]


def _branch(session: Session, branch_id: int) -> str:
    return session.catalog.branch_by_id(branch_id).shown


def _time(micros: int) -> Any:
    return Commit(0, 0, "", micros, "", "", "").time


def explain(session: Session, plans: Sequence[ScanPlan]) -> Result:
    """One line for every way that parts of a table take, and one for the parts that nothing opens."""
    rows: list[list[Any]] = []
    for plan in (each for whole in plans for each in whole.each):
        paths = choose_paths(plan, session.shared.limits, native=plan.view.files.is_local)
        before = len(rows)
        for path, note, parts in (
            ("local", "read in this process", paths.local),
            ("bundled", "small parts, several a task", paths.bundled),
            ("native", "Spark's own reader", paths.native),
            ("masked", "Spark's own reader, dead or superseded rows hidden", paths.masked),
        ):
            if parts:
                dead = sum(plan.view.dead_in(part) for part in parts)
                size, count = sum(part.bytes for part in parts), sum(part.rows for part in parts)
                rows.append([plan.view.name, path, len(parts), count, dead, size, note])
        if plan.skipped or len(rows) == before:
            rows.append(
                [
                    plan.view.name,
                    "skipped",
                    plan.skipped,
                    None,
                    None,
                    None,
                    "by their statistics, or no row of theirs is alive",
                ]
            )
    return Result(["table", "path", "parts", "rows", "dead_rows", "bytes", "note"], rows)
