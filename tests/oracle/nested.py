"""The oracle's tables with all columns but `k` and `p` as fields of a struct: what holds for columns holds for fields.

The model knows nothing of it. A field `z`, of which it is never told, keeps the struct from being empty.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from . import statements as s
from .pair import TYPES, Pair

OUTSIDE = ("k", "p")


class NestedPair(Pair):
    def told(self, branch: str, statement: s.Statement) -> str:
        match statement:
            case s.CreateTable(table, columns, partitioned_by):
                fields = ", ".join(f"{c.label}: {c.type}" for c in columns if c.label not in OUTSIDE)
                outside = ", ".join(c.sql for c in columns if c.label in OUTSIDE)
                partitions = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
                return f"CREATE TABLE {table} ({outside}, s STRUCT<z: INT, {fields}>) {partitions}"
            case s.AddColumn(table, column):
                return f"ALTER TABLE {table} ADD COLUMN s.{column.label} {column.type}"
            case s.DropColumn() | s.RenameColumn() | s.Widen():
                return replace(statement, label=f"s.{statement.label}").sql
            case s.Insert() | s.Overwrite():
                return self._insert(branch, statement)
            case s.Update(table, sets, where):
                return f"UPDATE {table} SET {self._assigned(branch, table, sets)} {self._where(where)}"
            case s.Delete(table, where):
                return f"DELETE FROM {table} {self._where(where)}"
        return statement.sql

    def _fields(self, branch: str, table: str) -> list[tuple[str, str]]:
        """In the lake's order: a struct is assigned by it."""
        schema = self.lake.on(branch).table(table).schema
        return [(part.name, TYPES[str(part.type)]) for part in schema.field("s").type if part.name != "z"]

    def _struct(self, branch: str, table: str, values: dict[str, str]) -> str:
        """Fields by name, those of which nothing is said as they are given there; names that are not known fail."""
        fields = self._fields(branch, table)
        known = {label.lower() for label, _ in fields}
        assert not values.keys() - known, "only fields that are there"
        texts = [f"'{label}', CAST({values.get(label.lower(), 'NULL')} AS {type_})" for label, type_ in fields]
        return "named_struct({})".format(", ".join(["'z', 0", *texts]))

    def _insert(self, branch: str, statement: s.Insert | s.Overwrite) -> str:
        rows = []
        for row in statement.rows:
            given = {label.lower(): s.literal(value) for label, value in zip(statement.labels, row, strict=True)}
            outside = [given.pop(label) for label in OUTSIDE if label in given]
            rows.append(f"({', '.join([*outside, self._struct(branch, statement.table, given)])})")
        labels = [label for label in OUTSIDE if label in statement.labels]
        verb = f"INSERT INTO {statement.table}"
        if isinstance(statement, s.Overwrite):
            partition = "" if statement.partition is None else "PARTITION ({} = {})".format(*statement.partition)
            verb = f"INSERT OVERWRITE {statement.table} {partition}"
        return f"{verb} ({', '.join([*labels, 's'])}) VALUES {', '.join(rows)}"

    def _assigned(self, branch: str, table: str, sets: tuple[s.Assign, ...]) -> str:
        outside = [assign.sql for assign in sets if assign.column in OUTSIDE]
        inside = {assign.column.lower(): assign for assign in sets if assign.column not in OUTSIDE}
        if not inside:
            return ", ".join(outside)
        values = {label.lower(): f"s.{label}" for label, _ in self._fields(branch, table)}
        for label, assign in inside.items():
            source = assign.source if assign.source in (*OUTSIDE, None) else f"s.{assign.source}"
            values[label] = replace(assign, source=source).sql.partition(" = ")[2]
        return ", ".join([*outside, f"s = {self._struct(branch, table, values)}"])

    @staticmethod
    def _where(where: s.Where) -> str:
        inner = [c if c.column in OUTSIDE else replace(c, column=f"s.{c.column}") for c in where]
        return f"WHERE {' AND '.join(c.sql for c in inner)}" if inner else ""

    # --- what the lake shows ------------------------------------------------------------------------------------------

    def shown_schema(self, schema: pa.Schema) -> dict[str, Any]:
        flat = [part for part in schema if part.name in OUTSIDE]
        flat += [part for part in schema.field("s").type if part.name != "z"]
        return {part.name: (TYPES.get(str(part.type), str(part.type)), part.nullable) for part in flat}

    def shown_row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        flat = {**{label: value for label, value in row.items() if label != "s"}, **row["s"]}
        assert flat.pop("z") == 0
        return flat
