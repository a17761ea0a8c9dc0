"""The catalog's tables.

Everything but `branch`, `ref` and `counter` is append-only: a row is written by one commit and never changed, so
a read that is bounded by a version needs no transaction. What is read along a lineage has an index that starts with
the object and goes on with (branch_id, version). A table or column that a later migration adds says so by `since`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only where the type is INTEGER


def _column(name: str, type_: Any, *, nullable: bool = False, key: bool = False, since: int = 1) -> Column[Any]:
    return Column(name, type_, primary_key=key, nullable=nullable, autoincrement=False, info={"since": since})


def _table(name: str, *items: Any, clustered: bool = True, since: int = 1) -> Table:
    """`clustered`: SQLite keeps the rows in the key's own tree; not for wide rows, which it would spread thinly."""
    return Table(name, metadata, *items, sqlite_with_rowid=not clustered, info={"since": since})


meta = _table(
    "meta",
    _column("key", Text, key=True),
    _column("value", Text),
)

branch = _table(
    "branch",
    Column("id", _Id, primary_key=True, info={"since": 1}),
    _column("name", Text),
    _column("parent_id", BigInteger, nullable=True),
    _column("fork", BigInteger),
    _column("head", BigInteger),
    _column("head_time_us", BigInteger),  # the head commit's time, so that a commit needs no second look-up
    _column("created_us", BigInteger),
    _column("dropped", Boolean),
    clustered=False,
)

ref = _table(  # one row a name, so that a name is a branch or a tag and never both; version NULL: a branch's head
    "ref",
    _column("folded", Text, key=True),
    _column("name", Text),
    _column("branch_id", BigInteger),
    _column("version", BigInteger, nullable=True),
    _column("created_us", BigInteger),
)

commit_log = _table(
    "commit_log",
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("id", Text),
    _column("time_us", BigInteger),
    _column("author", Text),
    _column("operation", Text),
    _column("message", Text),
    _column("merged_branch_id", BigInteger, nullable=True),
    _column("merged_version", BigInteger, nullable=True),
    _column("detail", Text),
    Index("commit_log_id", "id"),
    Index("commit_log_time", "branch_id", "time_us"),
)
_is_merge = commit_log.c.merged_branch_id.is_not(None)
commit_log_merged = Index(
    "commit_log_merged",
    *(commit_log.c[name] for name in ("branch_id", "version", "merged_branch_id", "merged_version")),
    sqlite_where=_is_merge,
    postgresql_where=_is_merge,
)

change = _table(
    "change",
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("seq", Integer, key=True),
    _column("kind", Text),
    _column("object_id", Text),
    _column("operation", Text),
    _column("detail", Text),
    Index("change_object", "object_id", "branch_id", "version"),
)

database_record = _table(
    "database_record",
    _column("id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("name", Text),
    _column("folded", Text),
    _column("properties", Text),
    _column("comment", Text, nullable=True),
    _column("dropped", Boolean),
    Index("database_record_name", "folded"),
    Index("database_record_version", "branch_id", "version"),
)

table_record = _table(
    "table_record",
    _column("id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("database_id", Text),
    _column("name", Text),
    _column("folded", Text),
    _column("schema_id", Integer),
    _column("properties", Text),
    _column("comment", Text, nullable=True),
    _column("dropped", Boolean),
    Index("table_record_name", "database_id", "folded"),
    Index("table_record_version", "branch_id", "version"),
)

schema_body = _table(
    "schema_body",
    _column("table_id", Text, key=True),
    _column("schema_id", Integer, key=True),
    _column("body", Text),
    clustered=False,
)

hidden_schema = _table(  # schema versions that a merge brought with its data, apart from the visible history
    "hidden_schema",
    _column("table_id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("schema_id", Integer, key=True),
)

partition_record = _table(
    "partition_record",
    _column("table_id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("seq", Integer, key=True),  # not the values: PostgreSQL's keys are short
    _column("partition_values", Text),
    _column("dropped", Boolean),
)

part = _table(  # fresh parts; stored once, whatever the number of branches that place them
    "part",
    _column("table_id", Text, key=True),
    _column("id", Text, key=True),
    _column("slot", BigInteger, nullable=True),
    _column("schema_id", Integer),
    _column("rows", BigInteger),
    _column("bytes", BigInteger),
    _column("stats", Text),
    _column("partition", Text, nullable=True),
    _column("has_origin", Boolean),
    Index("part_slot", "table_id", "slot", unique=True),
    clustered=False,
)

placement = _table(
    "placement",
    _column("table_id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("slot", BigInteger, key=True),
    _column("placed", Boolean),
    _column("cause", Text),
    _column("seq", Integer, nullable=True, since=2),  # in keyed tables the order of placing is the order of arrival
)

dead_rows = _table(  # the bitmap is in the row, or, if large, in the blob of that name
    "dead_rows",
    _column("table_id", Text, key=True),
    _column("branch_id", BigInteger, key=True),
    _column("version", BigInteger, key=True),
    _column("slot", BigInteger, key=True),
    _column("kill", Boolean, key=True),
    _column("cause", Text, key=True),
    _column("bitmap", LargeBinary, nullable=True),
    _column("blob", Text, nullable=True),
    _column("count", BigInteger),
    clustered=False,
)

rewrite = _table(  # belongs to its table, whatever the branch whose commit made it
    "rewrite",
    _column("table_id", Text, key=True),
    _column("id", Text, key=True),
    _column("branch_id", BigInteger),
    _column("version", BigInteger),
    _column("detail", Text),
    since=2,
)

rewrite_input = _table(  # a slot that the rewrite stands for, in the order of its rows, and the dead rows it left out
    "rewrite_input",
    _column("table_id", Text, key=True),
    _column("rewrite_id", Text, key=True),
    _column("seq", Integer, key=True),
    _column("slot", BigInteger),
    _column("bitmap", LargeBinary, nullable=True),
    _column("blob", Text, nullable=True),
    clustered=False,
    since=2,
)

rewrite_part = _table(
    "rewrite_part",
    _column("table_id", Text, key=True),
    _column("rewrite_id", Text, key=True),
    _column("seq", Integer, key=True),
    _column("id", Text),
    _column("slot", BigInteger),
    _column("schema_id", Integer),
    _column("rows", BigInteger),
    _column("bytes", BigInteger),
    _column("stats", Text),
    _column("partition", Text, nullable=True),
    clustered=False,
    since=2,
)

counter = _table(
    "counter",
    _column("table_id", Text, key=True),
    _column("name", Text, key=True),
    _column("next", BigInteger),
)

physical_name = _table(
    "physical_name",
    _column("table_id", Text, key=True),
    _column("scope", Text, key=True),
    _column("folded", Text, key=True),
)
