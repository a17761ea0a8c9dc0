"""A Table: bound to the branch it was opened on, reading its head, or one version of it for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch import given
from anabranch.commands import columns, describe, partitions, tables
from anabranch.commands.insert import EVERYTHING, Overwrite, insert_arrow, insert_frame, insert_here
from anabranch.commands.rerun import rerun
from anabranch.commands.result import Result
from anabranch.commands.session import HEAD, OpenTable, Ref, Session, checked_limit
from anabranch.errors import DataError, NeedsSpark, Refused
from anabranch.execution.incoming import arrow_table, is_spark_frame, repeatable
from anabranch.execution.plan import ScanPlan, plan_scan
from anabranch.execution.predicate import Predicate, Scope
from anabranch.execution.reader import read_batches, read_table
from anabranch.execution.shape import by_name
from anabranch.merge_builder import MergeBuilder, on_columns
from anabranch.model.evolve import Place
from anabranch.model.history import Commit
from anabranch.model.names import qualified
from anabranch.sql import declare, run_rows
from anabranch.sql import statements as s
from anabranch.sql.refs import Name
from anabranch.storage.arrow_types import arrow_schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Table:
    """Rows come by `to_arrow`, `to_pandas`, `to_batches` and `to_spark`; `write`, `overwrite`, `delete` and `update`
    change them."""

    def __init__(self, session: Session, names: tuple[str, ...], ref: Ref = HEAD) -> None:
        if ref.name is not None and ref.version is None and ref.time_us is None:
            position = session.catalog.resolve(ref.name)
            branch = session.catalog.branch_by_id(position.branch_id)
            ref = HEAD if branch.name.lower() == ref.name.lower() else Ref(ref.name)
            session = session.on(position.branch_id) if ref == HEAD else session
        self._session = session.on(session.branch_id)  # USE BRANCH in the lake does not move an opened table
        self._names, self._ref = names, ref
        self._open()

    def _open(self) -> OpenTable:
        return self._session.table(self._names, self._session.resolve(self._ref))

    def _writable(self) -> OpenTable:
        if self._ref != HEAD:
            raise Refused(f"'{self.name}' was opened at a past version, which cannot change. Open it without version=.")
        return self._session.table(self._names)

    @property
    def name(self) -> str:
        return qualified(*self._names)

    @property
    def id(self) -> str:
        return self._open().id

    @property
    def branch(self) -> str:
        return self._session.catalog.branch_by_id(self._session.branch_id).name

    @property
    def version(self) -> int:
        """The version that a read sees now."""
        return self._open().position.version

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self._open().schema.columns)

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._open().record.properties)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, branch={self.branch!r})"

    # --- reading ------------------------------------------------------------------------------------------------------

    def _plan(self, columns: given.Names | None, where: str | None) -> ScanPlan:
        table, wanted = self._open(), given.names_or_none("columns", columns)
        where = given.condition("where", where)
        predicate = None if where is None else Predicate(where, Scope(self._names))
        if predicate is not None:
            predicate.compiled(table.schema)
        return plan_scan(self._session.view(table), wanted, predicate)

    def to_arrow(self, columns: given.Names | None = None, where: str | None = None) -> pa.Table:
        """The rows, read in this process; no Spark is started."""
        return read_table(self._plan(columns, where))

    def lookup(self, keys: Any, columns: given.Names | None = None) -> pa.Table:
        """The rows of a batch of keys, in their order; keys that are not there have none. `keys`: the key's columns as
        Arrow, pandas, polars, dicts; or, of a key with one column, a list of values."""
        from anabranch.commands.lookup import lookup

        table = self._open()
        key = table.schema.primary_key
        if not key:
            raise Refused(f"table '{table.name}' has no primary key to look up. Use to_arrow(where=…).")
        if len(key) == 1 and isinstance(keys, (list, tuple)) and not any(isinstance(k, Mapping) for k in keys):
            keys = {table.schema.physical(key[0]).label: list(keys)}  # type: ignore[union-attr]
        wanted = given.names_or_none("columns", columns)
        return lookup(self._session, table, arrow_table(keys, table.schema), wanted)

    def to_batches(self, columns: given.Names | None = None, where: str | None = None) -> Iterator[pa.RecordBatch]:
        """The same in pieces, in bounded memory."""
        for table in read_batches(self._plan(columns, where)):
            yield from table.to_batches()

    def to_pandas(self, columns: given.Names | None = None, where: str | None = None) -> pd.DataFrame:
        return self.to_arrow(columns, where).to_pandas()

    def to_spark(self, columns: given.Names | None = None, where: str | None = None) -> DataFrame:
        from anabranch.sql.frames import table_frame

        wanted = given.names_or_none("columns", columns)
        return table_frame(self._session, self._open(), wanted, given.condition("where", where))

    def count(self) -> int:
        """The number of rows, from metadata alone; of a keyed table, from its keys."""
        table = self._open()
        if table.schema.primary_key:
            return self._session.view(table).rows
        return self._session.catalog.state(table.position, table.id).rows

    def history(self, limit: int | None = None) -> list[Commit]:
        """Commits that changed this table, newest first."""
        table = self._open()
        return self._session.catalog.history(table.position, table.id, checked_limit(limit))

    def describe(self, *, extended: bool = False) -> Result:
        return describe.describe_table(self._session, self._open(), extended=extended)

    def partitions(self) -> list[str]:
        return [row.partition for row in describe.show_partitions(self._session, self._open())]

    # --- rows ---------------------------------------------------------------------------------------------------------

    def write(self, data: Any) -> int:
        """Appends rows: Arrow, pandas, polars, dicts, or a Spark DataFrame. Gives their number."""
        return self._insert(data, None)

    def overwrite(self, data: Any, partition: Mapping[str, Any] | None = None, *, dynamic: bool = False) -> int:
        """Replaces all rows, the rows of one partition, or (`dynamic`) of the partitions that the data has."""
        table = self._writable()
        if partition is None and not dynamic:
            return self._insert(data, EVERYTHING)
        spec = {} if partition is None else _values("partition", partition)
        scope = Overwrite(partitions.scope(self._session, table, spec), dynamic=given.flag("dynamic", dynamic))
        return self._insert(data, scope, {table.schema.column(label).physical: text for label, text in spec.items()})

    @rerun
    def _insert(self, data: Any, overwrite: Overwrite | None, fixed: Mapping[str, str] | None = None) -> int:
        table = self._writable()
        if is_spark_frame(data):
            overwrite = overwrite and replace(overwrite, reads=True)
            shape = by_name(table.name, table.schema, data.columns, fixed, self._session.constant)
            return insert_frame(self._session, table, data, shape, overwrite)
        if isinstance(data, (list, tuple)) and not data:
            data = arrow_schema(table.schema.columns).empty_table()  # no rows, which lack no column
        rows = arrow_table(data, table.schema)
        shape = by_name(table.name, table.schema, rows.column_names, fixed, self._session.constant)
        try:
            return insert_arrow(self._session, table, [rows], shape, overwrite)
        except NeedsSpark as error:
            if (spark := self._session.shared.spark.there) is not None:
                from anabranch.execution.spark_types import arrow_frame

                return insert_here(self._session, table, arrow_frame(spark, rows), shape, overwrite)
            raise DataError(f"{error} Cast the data first, or write it as a Spark DataFrame.") from error

    @rerun
    def delete(self, where: str | None = None) -> int:
        """Deletes the rows that the SQL predicate is true for; without one, all rows."""
        statement = s.Delete(Name(self._names), where=given.condition("where", where))
        self._writable()
        return run_rows.run_delete(self._session, statement, None, {}).collect()[0][0]

    @rerun
    def update(self, set: Mapping[str, Any], where: str | None = None) -> int:
        """Updates rows: column -> SQL expression (text), or a Python value that is not text."""
        self._writable()
        if not given.mapping("set", set, "columns to values", "{'column': …}"):
            raise Refused("update() needs at least one column to set.")
        pairs = tuple((declare.column_path(label), declare.sql_text(value)) for label, value in set.items())
        statement = s.Update(Name(self._names), pairs, where=given.condition("where", where))
        return run_rows.run_update(self._session, statement, None, {}).collect()[0][0]

    def merge(self, source: Any, on: given.Names, *, alias: str = "t", source_alias: str = "s") -> MergeBuilder:
        """A MERGE INTO this table: add clauses, then `execute()`. `source`: Arrow, pandas, polars, dicts, a Spark
        DataFrame, or a Table; `on`: a SQL condition on `t` and `s`, or a list of columns that are equal in both."""
        self._writable()
        aliases = given.text("alias", alias), given.text("source_alias", source_alias)
        rows = source._small_or_frame if isinstance(source, Table) else repeatable(source)
        return MergeBuilder(self._session, self._names, rows, on_columns(on, aliases), aliases)

    def _small_or_frame(self) -> pa.Table | DataFrame:
        plan = self._plan(None, None)
        return read_table(plan) if plan.bytes <= self._session.shared.limits.local_work else self.to_spark()

    @rerun
    def truncate(self, partition: Mapping[str, Any] | None = None) -> None:
        spec = None if partition is None else _values("partition", partition)
        partitions.truncate(self._session, self._writable(), spec)

    # --- columns and properties ---------------------------------------------------------------------------------------

    @rerun
    def add_column(
        self,
        name: str,
        type: Any,
        *,
        nullable: bool = True,
        default: Any = None,
        comment: str | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> None:
        """`default`: SQL text, or a Python value that is not text; `name` may be a path into a struct."""
        spec = columns.ColumnSpec(
            declare.column_path(name),
            declare.as_type(type),
            given.flag("nullable", nullable),
            None if default is None else declare.sql_text(default),
            given.text_or_none("comment", comment),
        )
        columns.add_columns(self._session, self._writable(), [(spec, _place(after, first))])

    @rerun
    def drop_column(self, name: str, *, if_exists: bool = False) -> None:
        columns.drop_columns(self._session, self._writable(), [declare.column_path(name)], if_exists=if_exists)

    @rerun
    def rename_column(self, name: str, new_name: str) -> None:
        columns.rename_column(self._session, self._writable(), declare.column_path(name), new_name)

    @rerun
    def alter_column(
        self,
        name: str,
        *,
        type: Any = None,
        nullable: bool | None = None,
        default: Any = None,
        drop_default: bool = False,
        comment: str | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> None:
        """Widens, sets or drops NOT NULL and DEFAULT, comments, moves: whatever is given, in one commit."""
        columns.alter_column(
            self._session,
            self._writable(),
            declare.column_path(name),
            type=None if type is None else declare.as_type(type),
            nullable=None if nullable is None else given.flag("nullable", nullable),
            default=None if default is None else declare.sql_text(default),
            drop_default=drop_default,
            comment=given.text_or_none("comment", comment),
            place=_place(after, first),
        )

    @rerun
    def rename(self, new_name: str) -> None:
        """`database.table`; this object follows."""
        names = declare.table_parts(new_name)
        tables.rename_table(self._session, self._writable(), names)
        self._names = names

    @rerun
    def set_properties(self, properties: Mapping[str, str]) -> None:
        tables.set_properties(self._session, self._writable(), given.properties("properties", properties))

    @rerun
    def unset_properties(self, keys: given.Names, *, if_exists: bool = False) -> None:
        tables.unset_properties(self._session, self._writable(), keys, if_exists=if_exists)

    @rerun
    def set_comment(self, comment: str | None) -> None:
        tables.set_table_comment(self._session, self._writable(), given.text_or_none("comment", comment))

    @rerun
    def add_partition(self, values: Mapping[str, Any], *, if_not_exists: bool = False) -> None:
        spec = _values("values", values)
        partitions.add_partitions(self._session, self._writable(), [spec], if_not_exists=if_not_exists)

    @rerun
    def drop_partition(self, values: Mapping[str, Any], *, if_exists: bool = False) -> None:
        spec = _values("values", values)
        partitions.drop_partitions(self._session, self._writable(), [spec], if_exists=if_exists)


def _place(after: str | None, first: bool) -> Place | None:
    return Place(None if after is None else given.name("column", after)) if after is not None or first else None


def _values(parameter: str, partition: Mapping[str, Any]) -> dict[str, str]:
    """What names a partition, as SQL; nothing at all would name every one."""
    values = given.mapping(parameter, partition, "partition columns to values", "{'column': …}")
    if not values:
        raise Refused(f"{parameter} names no partition: give a value for one of its columns at least.")
    return {label: declare.sql_literal(value) for label, value in values.items()}
