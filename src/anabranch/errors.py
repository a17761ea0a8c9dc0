"""Every error that Anabranch raises, one tree. Each class builds its own message: what failed, the name, what to do.

AnabranchError
├── NotALake                 the path holds no lake
├── CatalogError             the catalog database failed
│   ├── CatalogUnreachable
│   ├── CatalogDamaged       its file is no database, or one that is broken
│   └── CatalogVersionError  the catalog's own schema is newer than this release
├── SqlError                 text that does not parse, with its position
├── InvalidMerge             a MERGE INTO whose clause cannot mean what it says
├── NotFound                 a name that nothing has; offers the nearest one that something has
├── AlreadyExists            a name that is taken
├── InvalidName              a name that is reserved, empty or too long
├── UnknownOption            an option that does not exist; offers the nearest
├── InvalidOption            an option with a value it cannot have
├── OptionConflict           options that do not go together, or do not fit their table
│   └── ColumnInUse          a column that an option speaks of
├── SchemaError              a column change or type that is refused
│   └── UnsupportedType
├── DataError                rows that do not fit their table
│   ├── TypeMismatch
│   ├── FieldMismatch        a struct that lacks a field of its column, or has another one
│   ├── ValueOutOfRange      overflow: never a wrap
│   ├── NullViolation        NULL into NOT NULL
│   ├── InvalidText          text that is not UTF-8 where rows are told apart by it
│   ├── SeveralMatches       MERGE INTO: several source rows for one target row
│   ├── KindRefused          a row of a kind that is unknown, or that the merge engine does not take
│   └── ColumnMismatch       missing or extra columns
├── ExpressionError          an expression that cannot be evaluated, or is not boolean where it must be
│   └── NeedsSpark           an expression that only Spark can evaluate
├── Refused                  an operation that is understood and not allowed
├── StorageError             files
│   ├── PartMissing
│   ├── PartCorrupted
│   └── StorageFull
└── Conflict                 carries .conflicts
    ├── CommitConflict       the head moved and the commit does not fit on it
    └── MergeConflict
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from typing import Any


class AnabranchError(Exception):
    """The root of all errors of this library."""


_SHORT = 3
"""Of a word of so many letters, another letter makes another word."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a typo of `name` most likely meant."""
    folded = {candidate.lower(): candidate for candidate in known}
    word = name.lower()
    likely = [one for one in folded if word and _is_slip(word, one)] if len(word) <= _SHORT else folded
    found = difflib.get_close_matches(word, likely, n=1, cutoff=0.6 if len(word) > _SHORT else 0)
    return folded[found[0]] if found else None


def _is_slip(word: str, meant: str) -> bool:
    """The same letters in another order, or one too few or too many."""
    short, long = sorted((word, meant), key=len)
    less = [long[:place] + long[place + 1 :] for place in range(len(long))]
    return sorted(word) == sorted(meant) or short in less


def columns_are(labels: Sequence[str]) -> str:
    """For those who named one that is not there."""
    shown = ", ".join(map(quoted, labels[:12]))
    return f"The columns are {shown}{', …' if len(labels) > 12 else ''}." if labels else ""


def quoted(name: str) -> str:
    return f"'{name}'"


class NotALake(AnabranchError):
    def __init__(self, path: str, why: str = "it holds no Anabranch catalog", hint: str = "") -> None:
        hint = hint or f"Create one with `anabranch init {shlex.quote(path)}`."
        super().__init__(f"{quoted(path)} is not a lake: {why}. {hint}")
        self.path = path


class CatalogError(AnabranchError):
    """The catalog database failed."""


class CatalogUnreachable(CatalogError):
    def __init__(self, url: str, reason: str, hint: str = "Check the address and that it runs.") -> None:
        super().__init__(f"the catalog {quoted(url)} cannot be reached: {reason}. {hint}")


class CatalogDamaged(CatalogError):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"the catalog {quoted(url)} is damaged: {reason}. Restore it from a backup.")


class CatalogVersionError(CatalogError):
    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"the catalog has schema version {found}, this release knows up to {known}. Upgrade anabranch to open it."
        )


class SqlError(AnabranchError):
    """Text that does not parse; `position` counts characters from 0 in `text`."""

    def __init__(self, message: str, text: str = "", position: int | None = None) -> None:
        self.reason, self.text, self.position = message, text, position
        if position is not None and text:
            position = min(position, len(text))
            line = text.count("\n", 0, position) + 1
            start = text.rfind("\n", 0, position) + 1
            end = text.find("\n", position)
            shown = text[start : end if end >= 0 else len(text)]
            column = position - start
            message = f"{message} (line {line}, column {column + 1})\n  {shown}\n  {' ' * column}^"
        super().__init__(message)

    def within(self, whole: str, start: int) -> SqlError:
        """The same error, told by its place in the text of which its own is a piece."""
        if self.position is None or not self.text or not whole.startswith(self.text, start):
            return self
        return SqlError(self.reason, whole, start + min(self.position, len(self.text)))


class InvalidMerge(AnabranchError):
    """A MERGE INTO whose clause cannot mean what it says; `place` names the clause."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"MERGE INTO, {place}: {why}")
        self.place = place


def in_clause(error: AnabranchError, place: str) -> AnabranchError:
    """The same error, which also names the clause of a MERGE INTO whose rows it is about."""
    error.args = (f"MERGE INTO, {place}: {error}",)
    return error


class NotFound(AnabranchError):
    """`when`: of what may be there at other times."""

    def __init__(self, kind: str, name: object, known: Iterable[str] = (), hint: str = "", when: str = "") -> None:
        guess = nearest(str(name), known)
        tail = f" Did you mean {quoted(guess)}?" if guess else f" {hint}" if hint else ""
        super().__init__(f"{kind} {quoted(str(name))} does not exist{' ' + when if when else ''}.{tail}")
        self.kind, self.name = kind, name


class AlreadyExists(AnabranchError):
    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        super().__init__(f"{kind} {quoted(name)} exists already.{' ' + hint if hint else ' Choose another name.'}")
        self.kind, self.name = kind, name


class InvalidName(AnabranchError):
    def __init__(self, kind: str, name: str, why: str) -> None:
        super().__init__(f"{quoted(name)} cannot name a {kind}: {why}. Choose another name.")


class UnknownOption(AnabranchError):
    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        guess = nearest(name, known)
        tail = f"Did you mean {quoted(guess)}?" if guess else f"Known options: {', '.join(known)}."
        super().__init__(f"option {quoted(name)} does not exist. {tail}")


class InvalidOption(AnabranchError):
    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"option {quoted(name)} cannot be {quoted(str(value))}: it takes {expected}.")


class OptionConflict(AnabranchError):
    """An option that does not go with another one, or does not fit the table's columns."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"option {quoted(name)} cannot be set so: {why}.")
        self.name = name


class ColumnInUse(OptionConflict):
    """A column that an option of its table speaks of."""

    def __init__(self, option: str, columns: Iterable[str]) -> None:
        named = " and ".join(map(quoted, columns))
        AnabranchError.__init__(self, f"option {quoted(option)} speaks of {named}, which cannot be dropped or renamed.")
        self.name = option


class SchemaError(AnabranchError):
    """A column change or type that is refused."""


class UnsupportedType(SchemaError):
    def __init__(self, type_name: str, where: str = "") -> None:
        place = f" of {where}" if where else ""
        super().__init__(
            f"the type {quoted(type_name)}{place} is not supported. Use one of: tinyint, smallint, int, bigint, float, "
            "double, decimal(p,s), string, binary, boolean, date, timestamp, timestamp_ntz, array, map, struct."
        )


class DataError(AnabranchError):
    """Rows that do not fit their table."""


class TypeMismatch(DataError):
    def __init__(self, column: str, found: object, expected: object, example: str = "") -> None:
        shown = f" ({example}, for example)" if example else ""
        super().__init__(
            f"column {quoted(column)} is {expected}, but the data is {found}{shown}. "
            "Cast it first; nothing was written."
        )


class FieldMismatch(DataError):
    """Where structs meet by the names of their fields: one that is missing, unknown or there twice."""

    def __init__(self, column: str, why: str, labels: Sequence[str]) -> None:
        shown = ", ".join(f"'{label}', …" for label in labels[:6]) + (", …" if len(labels) > 6 else "")
        super().__init__(
            f"the struct for column {quoted(column)} {why}. Fields meet by their names here: give each of them once, "
            f"as in named_struct({shown}); nothing was written."
        )


class ValueOutOfRange(DataError):
    def __init__(self, column: str, type_name: object, detail: str) -> None:
        super().__init__(f"a value does not fit column {quoted(column)} of type {type_name}: {detail}.")


class NullViolation(DataError):
    """`wanted`: the column shall become NOT NULL."""

    def __init__(self, column: str, table: str, rows: int | None = None, *, wanted: bool = False) -> None:
        count = f" ({_rows(rows)})" if rows else ""
        is_not = "cannot become NOT NULL: it" if wanted else "is NOT NULL, but the data"
        way_out = (
            "UPDATE or DELETE such rows first."
            if wanted
            else "Give a value, or DROP NOT NULL first (not for a column of the key)."
        )
        super().__init__(f"column {quoted(column)} of {quoted(table)} {is_not} holds NULL{count}. {way_out}")


class InvalidText(DataError):
    """Text that is not UTF-8 in a column by which rows are told apart."""

    def __init__(self, column: str, table: str = "") -> None:
        of = f" of {quoted(table)}" if table else ""
        super().__init__(
            f"column {quoted(column)}{of} tells rows apart, and the data has text for it that is not UTF-8. "
            "Make it valid (make_valid_utf8 in SQL), or keep such values in a BINARY column; nothing was written."
        )


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


class SeveralMatches(DataError):
    def __init__(self, table: str, rows: int, shown: str = "") -> None:
        count = _rows(rows)
        example = f", for example where {shown}" if shown else ""
        super().__init__(
            f"MERGE INTO: {count} of {quoted(table)} matched by ON with more than one source row{example}. "
            "Make the source's rows unique by the columns of ON, or ON more selective. Nothing was written."
        )


class KindRefused(DataError):
    def __init__(self, kind: object, why: str) -> None:
        super().__init__(f"a row of kind {quoted(str(kind))} is refused: {why}. Nothing was written.")
        self.kind = kind


class ColumnMismatch(DataError):
    def __init__(
        self, table: str, missing: Sequence[str] = (), extra: Sequence[str] = (), known: Iterable[str] = ()
    ) -> None:
        said = []
        if missing:
            said.append(f"missing {', '.join(map(quoted, missing))} (NOT NULL and without default)")
        if extra:
            guesses = [f"{quoted(name)}{_guess(name, known)}" for name in extra]
            said.append(f"unknown {', '.join(guesses)}")
        super().__init__(f"the columns of the data do not fit table {quoted(table)}: {'; '.join(said)}.")


def _guess(name: str, known: Iterable[str]) -> str:
    found = nearest(name, known)
    return f" (did you mean {quoted(found)}?)" if found else ""


class ExpressionError(AnabranchError):
    """An expression that cannot be evaluated, or is not boolean where it must be."""


class NeedsSpark(ExpressionError):
    """An expression that only Spark can evaluate; callers with a session fall back to it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs Spark to be evaluated.")


class Refused(AnabranchError):
    """An operation that is understood and not allowed; the message says why and what to do instead."""


class StorageError(AnabranchError):
    """A file could not be read or written."""


class PartMissing(StorageError):
    def __init__(self, path: str, table: str) -> None:
        super().__init__(
            f"part {quoted(path)} of table {quoted(table)} is missing. Restore the file from a backup, "
            "or RESTORE the table to a version that does not need it."
        )


class PartCorrupted(StorageError):
    def __init__(self, path: str, table: str, reason: str) -> None:
        super().__init__(
            f"part {quoted(path)} of table {quoted(table)} cannot be read: {reason}. Restore the file from a backup, "
            "or RESTORE the table to a version that does not need it."
        )


class StorageFull(StorageError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"no room to write {quoted(path)}: {reason}. Nothing was committed; free space and run again.")


class Conflicts(tuple[Any, ...]):
    """Records of conflicts (anabranch.model.conflict); they print as a table, and equal a list of the same ones."""

    COLUMNS = ("object", "kind", "rule", "row", "column", "base", "ours", "theirs")

    def rows(self) -> list[list[Any]]:
        return [[getattr(record, name) for name in self.COLUMNS] for record in self]

    def __str__(self) -> str:
        from anabranch.drawn import drawn

        return drawn(self.COLUMNS, self.rows())

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, tuple)) and tuple(self) == tuple(other)

    __hash__ = tuple.__hash__


class Conflict(AnabranchError):
    """Changes that do not fit together, as records."""

    def __init__(self, message: str, conflicts: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.conflicts = Conflicts(conflicts)


class CommitConflict(Conflict):
    """The branch moved while a statement ran, and the statement does not fit on the new head."""

    def __init__(self, message: str, conflicts: Iterable[Any] = (), table_ids: Sequence[str] = ()) -> None:
        super().__init__(message, conflicts)
        self.table_ids = tuple(table_ids)


class MergeConflict(Conflict):
    """Two branches changed the same thing. `passing`: another `detect` under which nothing conflicts, if any.
    `settling`: the sides for which RESOLVE lets it pass; `way_out` says what to do."""

    def __init__(
        self,
        message: str,
        conflicts: Iterable[Any] = (),
        passing: str | None = None,
        settling: Sequence[str] = ("ours", "theirs"),
        way_out: str = "",
    ) -> None:
        super().__init__(message, conflicts)
        self.passing, self.settling, self.way_out = passing, tuple(settling), way_out
