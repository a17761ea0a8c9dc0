"""Runs a statement: one function for each kind, in one visible table."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import Any

from anabranch.commands import branches, columns, databases, describe, options, partitions, restore, tables
from anabranch.commands.columns import ColumnSpec
from anabranch.commands.rerun import rerun
from anabranch.commands.result import Result
from anabranch.commands.session import OpenTable, Ref, Session
from anabranch.commands.tables import TableSpec
from anabranch.errors import Refused, SqlError
from anabranch.model.types import parse_type
from anabranch.sql import run_merge, run_merging, run_rows
from anabranch.sql import statements as s
from anabranch.sql.bind import bind, checked_args
from anabranch.sql.frames import micros, open_use, plans_of, position_ref, run_query
from anabranch.sql.parser import parse
from anabranch.sql.query import prepare
from anabranch.sql.views import views_of
from anabranch.texts import one_line

Frames = Mapping[str, Any]
OK = ("status",)


@rerun
def run(session: Session, text: str, args: Any = None, frames: Frames | None = None) -> Any:
    """A Spark DataFrame for a query, a Result for all else."""
    statement, args = parse(text), checked_args(args)
    if isinstance(statement, s.Query):
        return run_query(session, text, args, frames)
    if args and not isinstance(statement, s.Explain):
        statement, args = parse(bind(text, args)), None
    runner = _WITH_DATA.get(type(statement))
    if runner is not None:
        return runner(session, statement, args, frames or {})
    found = _RUNNERS.get(type(statement))
    if found is None:
        raise SqlError(f"{type(statement).__name__} cannot be run here")
    return found(session, statement)


def done(message: str) -> Result:
    return Result(OK, [[message]])


def _committed(commit: Any, what: str) -> Result:
    return done(f"{what}: version {commit.version}" if commit is not None else f"{what}: nothing to do")


def _read(session: Session, name: Any) -> OpenTable:
    return open_use(session, name)


def _write(session: Session, name: Any) -> tuple[Session, OpenTable]:
    return run_rows.writable(session, name)


# --- the lake ---------------------------------------------------------------------------------------------------------


def _set_options(session: Session, x: s.SetLakeOptions) -> Result:
    options.set_options(session, x.options)
    return done("ALTER LAKE")


def _unset_options(session: Session, x: s.UnsetLakeOptions) -> Result:
    options.unset_options(session, x.names)
    return done("ALTER LAKE")


# --- databases --------------------------------------------------------------------------------------------------------


def _database_session(session: Session, name: Any) -> Session:
    if name.ref is None or name.ref.name is None:
        return session
    return session.on(session.catalog.branch(name.ref.name).id)


def _create_database(session: Session, x: s.CreateDatabase) -> Result:
    commit = databases.create_database(
        _database_session(session, x.name),
        x.name.database,
        if_not_exists=x.if_not_exists,
        comment=x.comment,
        properties=x.properties,
    )
    return _committed(commit, "CREATE DATABASE")


def _rename_database(session: Session, x: s.RenameDatabase) -> Result:
    on = _database_session(session, x.name)
    return _committed(databases.rename_database(on, x.name.database, x.new_name.database), "RENAME DATABASE")


def _set_database(session: Session, x: s.SetDatabaseProperties) -> Result:
    on = _database_session(session, x.name)
    return _committed(databases.set_database_properties(on, x.name.database, x.properties), "ALTER DATABASE")


def _unset_database(session: Session, x: s.UnsetDatabaseProperties) -> Result:
    on = _database_session(session, x.name)
    commit = databases.unset_database_properties(on, x.name.database, x.keys, if_exists=x.if_exists)
    return _committed(commit, "ALTER DATABASE")


def _drop_database(session: Session, x: s.DropDatabase) -> Result:
    on = _database_session(session, x.name)
    commit = databases.drop_database(on, x.name.database, if_exists=x.if_exists, cascade=x.cascade)
    return _committed(commit, "DROP DATABASE")


# --- tables -----------------------------------------------------------------------------------------------------------


def column_spec(definition: s.ColumnDef) -> ColumnSpec:
    return ColumnSpec(
        definition.path,
        parse_type(definition.type_text),
        definition.nullable,
        definition.default_sql,
        definition.comment,
    )


def _create_table(session: Session, x: s.CreateTable, args: Any, frames: Frames) -> Result:
    session = _database_session(session, x.name)
    if x.query is not None:
        if x.columns:
            raise SqlError("CREATE TABLE … AS SELECT takes its columns from the query: leave the column list out")
        return run_rows.run_create_as(session, x, args, frames)
    if x.like is not None:
        spec = _like(_read(session, x.like), x)
    else:
        specs = [column_spec(definition) for definition in x.columns]
        spec = TableSpec(specs, x.primary_key, x.partitioned_by, x.properties, x.comment)
    commit = tables.create_table(session, x.name.parts, spec, if_not_exists=x.if_not_exists)
    return _committed(commit, "CREATE TABLE")


def _like(model: OpenTable, x: s.CreateTable) -> TableSpec:
    specs = [ColumnSpec((c.label,), c.type, c.nullable, c.write_default, c.comment) for c in model.schema.columns]
    parts = [column.label for column in model.schema.partition_columns]
    properties = {**model.record.properties, **x.properties}
    return TableSpec(specs, model.schema.key_labels, parts, properties, x.comment or model.record.comment)


def _drop_table(session: Session, x: s.DropTable) -> Result:
    on = _database_session(session, x.name)
    return _committed(tables.drop_table(on, x.name.parts, if_exists=x.if_exists), "DROP TABLE")


def _rename_table(session: Session, x: s.RenameTable) -> Result:
    on, table = _write(session, x.name)
    if x.new_name.ref is not None:
        raise Refused("a table is renamed on its own branch: write the new name without a ref.")
    return _committed(tables.rename_table(on, table, x.new_name.parts), "RENAME TABLE")


def _set_properties(session: Session, x: s.SetProperties) -> Result:
    on, table = _write(session, x.name)
    return _committed(tables.set_properties(on, table, x.properties), "ALTER TABLE")


def _comment_on(session: Session, x: s.CommentOnTable) -> Result:
    on, table = _write(session, x.name)
    return _committed(tables.set_table_comment(on, table, x.comment), "COMMENT ON TABLE")


def _unset_properties(session: Session, x: s.UnsetProperties) -> Result:
    on, table = _write(session, x.name)
    return _committed(tables.unset_properties(on, table, x.keys, if_exists=x.if_exists), "ALTER TABLE")


def _add_columns(session: Session, x: s.AddColumns) -> Result:
    on, table = _write(session, x.name)
    specs = [(column_spec(definition), place) for definition, place in x.columns]
    return _committed(columns.add_columns(on, table, specs), "ALTER TABLE")


def _drop_columns(session: Session, x: s.DropColumns) -> Result:
    on, table = _write(session, x.name)
    return _committed(columns.drop_columns(on, table, x.columns, if_exists=x.if_exists), "ALTER TABLE")


def _rename_column(session: Session, x: s.RenameColumn) -> Result:
    on, table = _write(session, x.name)
    return _committed(columns.rename_column(on, table, x.column, x.new_name), "ALTER TABLE")


def _alter_column(session: Session, x: s.AlterColumn) -> Result:
    on, table = _write(session, x.name)
    commit = columns.alter_column(
        on,
        table,
        x.column,
        label=x.new_name,
        type=None if x.type_text is None else parse_type(x.type_text),
        nullable=x.nullable,
        default=x.default_sql,
        drop_default=x.drop_default,
        comment=x.comment,
        place=x.place,
    )
    return _committed(commit, "ALTER TABLE")


def _add_partition(session: Session, x: s.AddPartition) -> Result:
    on, table = _write(session, x.name)
    return _committed(
        partitions.add_partitions(on, table, x.partitions, if_not_exists=x.if_not_exists), "ADD PARTITION"
    )


def _drop_partition(session: Session, x: s.DropPartition) -> Result:
    on, table = _write(session, x.name)
    return _committed(partitions.drop_partitions(on, table, x.partitions, if_exists=x.if_exists), "DROP PARTITION")


# --- branches, tags, history ------------------------------------------------------------------------------------------


def _create_branch(session: Session, x: s.CreateBranch) -> Result:
    branch = branches.create_branch(session, x.name, Ref(x.from_ref, x.at_version), if_not_exists=x.if_not_exists)
    return done(f"branch {branch.name} at version {branch.fork}")


def _drop_branch(session: Session, x: s.DropBranch) -> Result:
    dropped = branches.drop_branch(session, x.name, if_exists=x.if_exists)
    return done(f"branch {x.name} dropped" if dropped else "DROP BRANCH: nothing to do")


def _rename_branch(session: Session, x: s.RenameBranch) -> Result:
    session.catalog.rename_branch(x.name, x.new_name)
    return done(f"branch {x.name} is now {x.new_name}")


def _use_branch(session: Session, x: s.UseBranch) -> Result:
    session.branch_id = session.catalog.branch(x.name).id
    return done(f"on branch {session.catalog.branch_by_id(session.branch_id).name}")


def _create_tag(session: Session, x: s.CreateTag) -> Result:
    tag = branches.create_tag(session, x.name, Ref(x.ref, x.at_version), if_not_exists=x.if_not_exists)
    return done(f"tag {tag.name} at version {tag.version}")


def _drop_tag(session: Session, x: s.DropTag) -> Result:
    dropped = branches.drop_tag(session, x.name, if_exists=x.if_exists)
    return done(f"tag {x.name} dropped" if dropped else "DROP TAG: nothing to do")


def _rename_tag(session: Session, x: s.RenameTag) -> Result:
    session.catalog.rename_tag(x.name, x.new_name)
    return done(f"tag {x.name} is now {x.new_name}")


def _show_log(session: Session, x: s.ShowLog) -> Result:
    at = session.resolve(Ref(x.ref, x.version))
    if x.graph:
        return describe.show_graph(session, at, x.limit)
    return describe.show_log(session, session.catalog.log(at, x.limit))


def _history(session: Session, x: s.DescribeHistory) -> Result:
    table = _read(session, x.name)
    return describe.show_log(session, session.catalog.history(table.position, table.id))


def _then(version: int | None, timestamp: str | None) -> Ref:
    return Ref(None, version, None if timestamp is None else micros(timestamp))


def _restore_table(session: Session, x: s.RestoreTable) -> Result:
    on = _database_session(session, x.name)
    return _committed(restore.restore_table(on, x.name.parts, on.resolve(_then(x.version, x.timestamp))), "RESTORE")


def _restore_database(session: Session, x: s.RestoreDatabase) -> Result:
    on = _database_session(session, x.name)
    then = on.resolve(_then(x.version, x.timestamp))
    return _committed(restore.restore_database(on, x.name.database, then), "RESTORE")


def _restore_branch(session: Session, x: s.RestoreBranch) -> Result:
    on = session if x.name is None else session.on(session.catalog.branch(x.name).id)
    return _committed(restore.restore_branch(on, on.resolve(_then(x.version, x.timestamp))), "RESTORE")


# --- EXPLAIN ----------------------------------------------------------------------------------------------------------


_EXPLAINED = "queries, INSERT, CREATE TABLE … AS SELECT, UPDATE, DELETE and MERGE INTO"
_WITH_DRY_RUN = (s.MergeBranch, s.CherryPick, s.Revert)


def _explain(session: Session, x: s.Explain, args: Any, frames: Frames) -> Result:
    """What a statement would read. EXTENDED starts Spark, and adds the writer of an INSERT and Spark's own plan."""
    inner, at = x.statement, None
    if isinstance(inner, s.MergeInto):
        return run_merge.explain_merge(session, inner, args, frames)
    if isinstance(inner, s.Query):
        text = inner.text
    elif isinstance(inner, s.Insert) and isinstance(inner.source, str):
        text = inner.source
    elif isinstance(inner, s.Insert):
        return describe.explain(session, [])  # VALUES read no table
    elif isinstance(inner, s.CreateTable) and inner.query is not None:
        text = inner.query
    elif isinstance(inner, (s.Delete, s.Update)):
        text, at = run_rows.explained(session, inner)
    else:
        way_out = " Write DRY RUN at its end instead." if isinstance(inner, _WITH_DRY_RUN) else ""
        raise Refused(f"EXPLAIN takes {_EXPLAINED}, not {one_line(inner.text)}.{way_out}")
    result = describe.explain(session, plans_of(session, prepare(text, frames.keys(), views_of(session))))
    if x.extended:
        printed = io.StringIO()
        frame = run_query(session, text, args, frames, ids_at=at)
        with contextlib.redirect_stdout(printed):
            frame.explain(mode="extended")
        rows: list[Any] = list(result)
        if isinstance(inner, s.Insert):
            name, writer = run_rows.explained_writer(session, inner, frame)
            rows.append([name, "write", None, None, None, None, writer])
        rows += [["", "spark", None, None, None, None, line] for line in printed.getvalue().splitlines()]
        return Result(result.columns, rows)
    return result


Runner = Callable[[Session, Any], Result]

_RUNNERS: dict[type, Runner] = {
    s.SetLakeOptions: _set_options,
    s.UnsetLakeOptions: _unset_options,
    s.ShowLakeOptions: lambda session, x: options.show_options(session),
    s.CreateDatabase: _create_database,
    s.RenameDatabase: _rename_database,
    s.SetDatabaseProperties: _set_database,
    s.UnsetDatabaseProperties: _unset_database,
    s.DropDatabase: _drop_database,
    s.ShowDatabases: lambda session, x: describe.show_databases(session, x.like),
    s.DescribeDatabase: lambda session, x: describe.describe_database(
        session, x.name.database, position_ref(x.name.ref)
    ),
    s.DropTable: _drop_table,
    s.RenameTable: _rename_table,
    s.SetProperties: _set_properties,
    s.UnsetProperties: _unset_properties,
    s.CommentOnTable: _comment_on,
    s.AddColumns: _add_columns,
    s.DropColumns: _drop_columns,
    s.RenameColumn: _rename_column,
    s.AlterColumn: _alter_column,
    s.AddPartition: _add_partition,
    s.DropPartition: _drop_partition,
    s.TruncateTable: run_rows.run_truncate,
    s.OptimizeTable: run_rows.run_optimize,
    s.ShowTables: lambda session, x: describe.show_tables(
        session,
        x.database.database if x.database else None,
        x.like,
        position_ref(x.database.ref) if x.database else None,
    ),
    s.ShowColumns: lambda session, x: describe.show_columns(_read(session, x.name)),
    s.ShowPartitions: lambda session, x: describe.show_partitions(session, _read(session, x.name), x.partition),
    s.ShowCreateTable: lambda session, x: describe.show_create_table(_read(session, x.name)),
    s.ShowTblProperties: lambda session, x: describe.show_properties(_read(session, x.name), x.key),
    s.DescribeTable: lambda session, x: describe.describe_table(session, _read(session, x.name), extended=x.extended),
    s.DescribeHistory: _history,
    s.CreateBranch: _create_branch,
    s.DropBranch: _drop_branch,
    s.RenameBranch: _rename_branch,
    s.UseBranch: _use_branch,
    s.ShowBranches: lambda session, x: describe.show_branches(session, x.like),
    s.ShowCurrentBranch: lambda session, x: Result(
        ["branch"], [[session.catalog.branch_by_id(session.branch_id).name]]
    ),
    s.CreateTag: _create_tag,
    s.DropTag: _drop_tag,
    s.RenameTag: _rename_tag,
    s.ShowTags: lambda session, x: describe.show_tags(session, x.like),
    s.ShowLog: _show_log,
    s.RestoreTable: _restore_table,
    s.RestoreDatabase: _restore_database,
    s.RestoreBranch: _restore_branch,
    s.MergeBranch: run_merging.run_merge,
    s.ShowConflicts: run_merging.run_conflicts,
    s.CherryPick: run_merging.run_cherry_pick,
    s.Revert: run_merging.run_revert,
    s.Diff: run_merging.run_diff,
    s.DescribeSections: run_merging.run_sections,
}

_WITH_DATA: dict[type, Callable[[Session, Any, Any, Frames], Result]] = {
    s.CreateTable: _create_table,
    s.Insert: run_rows.run_insert,
    s.Delete: run_rows.run_delete,
    s.Update: run_rows.run_update,
    s.MergeInto: run_merge.run_merge,
    s.Explain: _explain,
}
"""Statements that may hold a query, and so take arguments and frames."""
