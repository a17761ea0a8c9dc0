"""Column types: the ones that Spark and Parquet share, as a small immutable tree.

A type prints as Spark's DDL (`decimal(10,2)`, `array<struct<a:int>>`) and is read back by `parse_type`.
Struct fields carry a label (what users see) and a physical name (what files use), as columns do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import SqlError, UnsupportedType
from anabranch.model.strings import literal, unescaped
from anabranch.texts import is_number


@dataclass(frozen=True, slots=True)
class DataType:
    """A column type; equal types hold equal values, whatever their struct fields are called in files."""


@dataclass(frozen=True, slots=True)
class Primitive(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal(DataType):
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array(DataType):
    element: DataType
    contains_null: bool = True

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map(DataType):
    key: DataType
    value: DataType
    contains_null: bool = True

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class StructField:
    label: str
    type: DataType
    physical: str
    nullable: bool = True
    comment: str | None = None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{quote_identifier(self.label)}:{self.type}"


@dataclass(frozen=True, slots=True)
class Struct(DataType):
    """Fields have distinct labels and distinct physical names; case does not count."""

    fields: tuple[StructField, ...]

    def __str__(self) -> str:
        return f"struct<{','.join(map(str, self.fields))}>"


TINYINT, SMALLINT, INT, BIGINT = (Primitive(name) for name in ("tinyint", "smallint", "int", "bigint"))
FLOAT, DOUBLE = Primitive("float"), Primitive("double")
STRING, BINARY, BOOLEAN = Primitive("string"), Primitive("binary"), Primitive("boolean")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Primitive("date"), Primitive("timestamp"), Primitive("timestamp_ntz")
VOID = Primitive("void")
"""The type of bare NULLs inside incoming data; no column has it."""

_NAMES: dict[str, DataType] = {
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "boolean": BOOLEAN,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
_INTEGERS: dict[DataType, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 19}  # decimal digits that hold them
_MOST_DIGITS = 38


_WORDS_OF_SQL = """
all and anti any array as authorization between both by case cast check collate column constraint create cross
current_date current_time current_timestamp current_user default delete describe distinct drop else end escape except
exists false fetch filter for foreign from full function grant group having in inner insert intersect interval into
is join lateral leading left like limit map merge minus natural not null offset on only or order outer overlaps
partition primary references right rlike row select semi session_user set some struct table tablesample then time to
trailing true union unique unknown update user using values when where window with within
"""
_RESERVED_WORDS = frozenset(re.findall(r"\w+", _WORDS_OF_SQL))


def quote_identifier(name: str) -> str:
    """The name as SQL takes it for a name: in backquotes if it is a word of SQL or holds anything unusual."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in _RESERVED_WORDS:
        return name
    return backticked(name)


def backticked(name: str) -> str:
    """The name as SQL takes it for a name, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def widens(narrow: DataType, wide: DataType) -> bool:
    """Whether `narrow` may become `wide` without rewriting a file; equal types do too."""
    if narrow == wide:
        return True
    if narrow in _INTEGERS and wide in _INTEGERS:
        return _INTEGERS[narrow] < _INTEGERS[wide]
    if wide == DOUBLE:
        return narrow in (FLOAT, TINYINT, SMALLINT, INT)
    if isinstance(wide, Decimal):
        if narrow in _INTEGERS:
            return wide.precision - wide.scale >= (20 if narrow == BIGINT else 10)
        if isinstance(narrow, Decimal):
            return wide.scale >= narrow.scale and wide.precision - wide.scale >= narrow.precision - narrow.scale
    if narrow == DATE and wide == TIMESTAMP_NTZ:
        return True
    return _nested_widens(narrow, wide)


def _nested_widens(narrow: DataType, wide: DataType) -> bool:
    if isinstance(narrow, Array) and isinstance(wide, Array):
        return widens(narrow.element, wide.element)
    if isinstance(narrow, Map) and isinstance(wide, Map):
        return narrow.key == wide.key and widens(narrow.value, wide.value)
    if isinstance(narrow, Struct) and isinstance(wide, Struct) and len(narrow.fields) == len(wide.fields):
        return all(
            a.physical == b.physical and widens(a.type, b.type) for a, b in zip(narrow.fields, wide.fields, strict=True)
        )
    return False


def common(one: DataType, other: DataType) -> DataType | None:
    """The narrowest type that both may become without rewriting a file; None: there is none."""
    if widens(one, other) or widens(other, one):
        return other if widens(one, other) else one
    if DOUBLE not in (one, other) and widens(one, DOUBLE) and widens(other, DOUBLE):
        return DOUBLE  # float beside integers
    scales = [_digits(type_) for type_ in (one, other)]
    if None in scales:
        return None
    whole, scale = (max(digits) for digits in zip(*filter(None, scales), strict=True))
    return Decimal(whole + scale, scale) if whole + scale <= _MOST_DIGITS else None


def _digits(type_: DataType) -> tuple[int, int] | None:
    """How many digits before and after the point a decimal needs to hold it."""
    if isinstance(type_, Decimal):
        return type_.precision - type_.scale, type_.scale
    if type_ in _INTEGERS:
        return (20 if type_ == BIGINT else 10), 0
    return None


def is_atomic(type_: DataType) -> bool:
    return isinstance(type_, (Primitive, Decimal))


def has_void(type_: DataType) -> bool:
    """Whether NULLs of no type are inside."""
    return type_ == VOID or any(has_void(inner) for _, inner in inner_types(type_))


def inner_types(type_: DataType) -> list[tuple[str, DataType]]:
    """What a type is made of, each with the step of a path that leads to it."""
    if isinstance(type_, Struct):
        return [(field.label, field.type) for field in type_.fields]
    if isinstance(type_, Array):
        return [("element", type_.element)]
    return [("key", type_.key), ("value", type_.value)] if isinstance(type_, Map) else []


def structs_in(type_: DataType) -> Iterator[Struct]:
    """Every struct inside a type, outermost first."""
    if isinstance(type_, Struct):
        yield type_
    for _, inner in inner_types(type_):
        yield from structs_in(inner)


def renames_fields(type_: DataType) -> bool:
    """Whether a label inside the type differs from its physical name, so that files need a mapping."""
    return any(field.label != field.physical for struct in structs_in(type_) for field in struct.fields)


def physical_type(type_: DataType) -> DataType:
    """The type as files hold it: struct fields under their physical names."""
    if isinstance(type_, Struct):
        return Struct(tuple(replace(f, label=f.physical, type=physical_type(f.type)) for f in type_.fields))
    if isinstance(type_, Array):
        return replace(type_, element=physical_type(type_.element))
    if isinstance(type_, Map):
        return replace(type_, key=physical_type(type_.key), value=physical_type(type_.value))
    return type_


# --- text -------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|\w+|[<>(),:])", re.UNICODE)


def declared(type_: DataType) -> str:
    """The type as a statement declares it: its name, and NOT NULL and comments of the fields inside."""
    if isinstance(type_, Struct):
        return f"struct<{','.join(map(_declared_field, type_.fields))}>"
    inner = ",".join(declared(one) for _, one in inner_types(type_))
    return f"{'array' if isinstance(type_, Array) else 'map'}<{inner}>" if inner else str(type_)


def _declared_field(field: StructField) -> str:
    text = f"{quote_identifier(field.label)}:{declared(field.type)}" + ("" if field.nullable else " NOT NULL")
    return text if field.comment is None else f"{text} COMMENT {literal(field.comment)}"


def parse_type(text: str) -> DataType:
    """Reads a type as Spark's DDL writes it; physical names equal the labels."""
    reader = _Reader(text)
    found = reader.type()
    if reader.peek():
        raise SqlError(f"unexpected '{reader.peek()}' after the type '{found}'", text, reader.position())
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, [], 0
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if not match:
                raise SqlError(f"'{text.strip()}' is not a type", text, place)
            self.tokens.append((match.group(1), match.start(1)))
            place = match.end()

    tokens: list[tuple[str, int]]

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def position(self) -> int:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def take(self, *words: str) -> bool:
        if self.peek().lower() in words:
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise SqlError(f"expected '{word}' in the type '{self.text}'", self.text, self.position())

    def type(self) -> DataType:
        start = self.position()
        name = self.next().lower()
        if name in ("decimal", "dec", "numeric"):
            return self._decimal(start)
        if name == "array":
            self.expect("<")
            element = self.type()
            self.expect(">")
            return Array(element)
        if name == "map":
            self.expect("<")
            key = self.type()
            self.expect(",")
            value = self.type()
            self.expect(">")
            return Map(key, value)
        if name == "struct":
            return self._struct()
        if name == "timestamp" and self.take("without"):
            self.expect("time")
            self.expect("zone")
            return TIMESTAMP_NTZ
        if name in _NAMES and self.peek() != "(":
            return _NAMES[name]
        raise UnsupportedType(self.text[start:].strip() or self.text)

    def _decimal(self, start: int) -> DataType:
        if not self.take("("):
            return Decimal(10, 0)
        precision = self._number()
        scale = self._number() if self.take(",") else 0
        self.expect(")")
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise SqlError(f"decimal({precision},{scale}): precision is 1 to 38, scale at most that", self.text, start)
        return Decimal(precision, scale)

    def _number(self) -> int:
        if not is_number(self.peek()):
            raise SqlError(f"expected a number in the type '{self.text}'", self.text, self.position())
        return int(self.next())

    def _struct(self) -> DataType:
        self.expect("<")
        fields: list[StructField] = []
        while not self.take(">"):
            if fields:
                self.expect(",")
            label = self.next()
            if label.startswith("`"):
                label = label[1:-1].replace("``", "`")
            self.take(":")
            type_ = self.type()
            nullable = True
            if self.take("not"):
                self.expect("null")
                nullable = False
            comment = None
            if self.take("comment"):
                comment = _text(self.next())
            if any(label.lower() == other.label.lower() for other in fields):
                raise SqlError(f"the field '{label}' occurs twice in a struct", self.text, self.position())
            fields.append(StructField(label, type_, label, nullable, comment))
        if not fields:
            raise SqlError("a struct needs at least one field", self.text, self.position())
        return Struct(tuple(fields))


def _text(token: str) -> str:
    """The value of a string that may have doubled quotes inside."""
    inside = re.sub(r"\\.|''", lambda found: "\\'" if found[0] == "''" else found[0], token[1:-1], flags=re.DOTALL)
    return unescaped(f"'{inside}'")


# --- JSON (the catalog stores schemas so) -----------------------------------------------------------------------------


def to_json(type_: DataType) -> Any:
    if isinstance(type_, Array):
        return {"array": to_json(type_.element), "nulls": type_.contains_null}
    if isinstance(type_, Map):
        return {"map": [to_json(type_.key), to_json(type_.value)], "nulls": type_.contains_null}
    if isinstance(type_, Struct):
        fields = [[f.label, to_json(f.type), f.physical, f.nullable, f.comment, f.aliases] for f in type_.fields]
        return {"struct": fields}
    return str(type_)


def from_json(body: Any) -> DataType:
    if isinstance(body, str):
        return _NAMES.get(body) or parse_type(body)
    if "array" in body:
        return Array(from_json(body["array"]), body["nulls"])
    if "map" in body:
        return Map(from_json(body["map"][0]), from_json(body["map"][1]), body["nulls"])
    return Struct(
        tuple(
            StructField(label, from_json(type_), physical, nullable, comment, tuple(aliases))
            for label, type_, physical, nullable, comment, aliases in body["struct"]
        )
    )
