"""Fields of structs that a statement assigns by their paths, `SET s.a = 1`: the whole column is assembled around them.

The other fields keep their values, so a struct that is NULL becomes one whose other fields are NULL, as in Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from anabranch.errors import NotFound, SchemaError, SqlError
from anabranch.model.names import fold
from anabranch.model.schema import Column
from anabranch.model.strings import literal
from anabranch.model.types import DataType, Struct, quote_identifier

Path = tuple[str, ...]


@dataclass
class FieldsSet:
    """What is assigned inside one column: path -> text; the empty path is the column itself."""

    column: Column
    texts: dict[Path, str] = field(default_factory=dict)

    def add(self, path: Path, text: str) -> None:
        """Raises SqlError if something at the path, above it or inside it is assigned already."""
        for other in self.texts:
            names = [".".join((self.column.label, *one)) for one in (other, path)]
            shared = min(len(other), len(path))
            if [*map(fold, other)] == [*map(fold, path)]:
                raise SqlError(f"the {'field' if path else 'column'} '{names[0]}' is assigned twice")
            if [*map(fold, other[:shared])] == [*map(fold, path[:shared])]:
                raise SqlError(
                    f"'{names[0]}' and '{names[1]}' are both assigned, and one is inside the other: keep one"
                )
        self.texts[path] = text

    def text(self, before: str) -> str:
        """The column's new value; `before` names the one that it has."""
        texts = {tuple(map(fold, path)): text for path, text in self.texts.items()}
        return _assembled(self.column.type, before, texts, (self.column.label,))


def _assembled(type_: DataType, before: str, texts: Mapping[Path, str], path: Path) -> str:
    if not texts:
        return before
    if () in texts:
        return texts[()]
    if not isinstance(type_, Struct):
        raise SchemaError(f"'{'.'.join(path)}' is {type_}, and has no fields to assign. Assign it as a whole.")
    known = {fold(one.label) for one in type_.fields}
    for name in (inner[0] for inner in texts if inner[0] not in known):
        raise NotFound("field", ".".join((*path, name)), [".".join((*path, one.label)) for one in type_.fields])
    pieces = []
    for one in type_.fields:
        inside = {inner[1:]: f"({text})" for inner, text in texts.items() if inner[0] == fold(one.label)}
        value = _assembled(one.type, f"{before}.{quote_identifier(one.label)}", inside, (*path, one.label))
        pieces += [literal(one.label), value]
    return f"named_struct({', '.join(pieces)})"
