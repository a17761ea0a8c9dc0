"""A table's schema: columns with a label for users and a physical name for files.

A physical name is unique in the table on all branches and is never used again, so a part can be read under any later
schema by physical name alone: renamed, added, dropped and widened columns need no rewrite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.errors import NotFound, columns_are
from anabranch.model import types
from anabranch.model.names import fold
from anabranch.model.types import DataType


@dataclass(frozen=True, slots=True)
class Column:
    """One column; defaults are SQL text. The initial default is a literal, fixed when the column was added.

    `aliases` are the physical names under which parts of another branch hold it: a merge unified columns that both
    sides had added under one label.
    """

    label: str
    type: DataType
    physical: str
    nullable: bool = True
    comment: str | None = None
    initial_default: str | None = None
    write_default: str | None = None
    aliases: tuple[str, ...] = ()


_ATTRIBUTES = ("physical", "nullable", "comment", "initial_default", "write_default", "aliases")


@dataclass(frozen=True)
class Schema:
    """Labels are distinct, physical names are distinct; key and partition columns are named physically."""

    id: int
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    _by_label: Mapping[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)
    _by_physical: Mapping[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_label", {fold(column.label): column for column in self.columns})
        object.__setattr__(self, "_by_physical", {column.physical: column for column in self.columns})

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @property
    def key_labels(self) -> tuple[str, ...]:
        return tuple(self._by_physical[name].label for name in self.primary_key)

    def find(self, label: str) -> Column | None:
        return self._by_label.get(fold(label))

    def column(self, label: str) -> Column:
        found = self.find(label)
        if found is None:
            raise NotFound("column", label, self.labels, columns_are(self.labels))
        return found

    def physical(self, physical: str) -> Column | None:
        return self._by_physical.get(physical)

    def stored_as(self, column: Column) -> Column | None:
        """The column under which parts of this schema hold a column of a later one; None: they lack it."""
        for name in (column.physical, *column.aliases):
            found = self._by_physical.get(name)
            if found is not None:
                return found
        return None

    def select(self, labels: Sequence[str] | None) -> tuple[Column, ...]:
        """The columns of these labels in the order asked for; all of them without labels."""
        return self.columns if labels is None else tuple(self.column(label) for label in labels)

    @property
    def partition_columns(self) -> tuple[Column, ...]:
        return tuple(self._by_physical[name] for name in self.partitioned_by)

    def to_json(self) -> str:
        columns = [[c.label, types.to_json(c.type), *(getattr(c, name) for name in _ATTRIBUTES)] for c in self.columns]
        body = {"columns": columns, "key": self.primary_key, "partition": self.partitioned_by}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(id: int, text: str) -> Schema:
        body = json.loads(text)
        columns = []
        for label, type_, *attributes in body["columns"]:
            named = dict(zip(_ATTRIBUTES, attributes, strict=True))
            columns.append(Column(label, types.from_json(type_), **{**named, "aliases": tuple(named["aliases"])}))
        return Schema(id, tuple(columns), tuple(body["key"]), tuple(body["partition"]))
