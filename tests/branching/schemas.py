"""Schemas in a line of text, so that a case of a merge fits in a row of a table.

`label@physical+alias:type!=default/initial#comment`, and `*` before a partition column; all but label and type may be
left out. The physical name is the label, the initial default is the write default, `!` is NOT NULL. Types are Spark's,
and struct fields are written like columns: `id:bigint!, *day:date, s:struct<x:int, w@y:string>`.
"""

import re

from anabranch.model.schema import Column, Schema
from anabranch.model.types import Array, Map, Struct, StructField, parse_type

_ITEM = re.compile(
    r"(?P<part>\*?)(?P<label>[^@+:]+)(?:@(?P<physical>[^+:]+))?(?P<aliases>(?:\+[^+:]+)*):"
    r"(?P<type>[^!=#]+?)(?P<required>!?)(?:=(?P<default>[^#/]*)(?:/(?P<initial>[^#]*))?)?(?:#(?P<comment>.*))?"
)


def schema(text: str, id: int = 1) -> Schema:
    items = _split(text)
    columns = tuple(_column(item) for item in items)
    partition = tuple(c.physical for c, item in zip(columns, items, strict=True) if item.startswith("*"))
    return Schema(id, columns, (), partition)


def text(found: Schema) -> str:
    """The same notation back."""
    return ", ".join(("*" if c.physical in found.partitioned_by else "") + _item(c) for c in found.columns)


def _split(body: str) -> list[str]:
    items, depth = [""], 0
    for letter in body:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return [item.strip() for item in items if item.strip()]


def _column(item: str) -> Column:
    head, struct, tail = item, "", ""
    if "<" in item:  # the marks of fields are not the column's
        start, end = item.index("<"), item.rindex(">") + 1
        head, struct, tail = item[:start], item[start:end], item[end:]
    match = _ITEM.fullmatch(head + tail)
    assert match, item
    default, initial = match["default"] or None, match["initial"]
    return Column(
        match["label"],
        _type(match["type"] + struct),
        match["physical"] or match["label"],
        not match["required"],
        match["comment"],
        default if initial is None else initial or None,
        default,
        tuple(match["aliases"].split("+")[1:]),
    )


def _type(body: str):
    word, _, inner = body.partition("<")
    if not inner:
        return parse_type(body)
    items = _split(inner.removesuffix(">"))
    if word == "array":
        return Array(_type(items[0]))
    if word == "map":
        return Map(_type(items[0]), _type(items[1]))
    fields = [_column(item) for item in items]
    return Struct(tuple(StructField(f.label, f.type, f.physical, f.nullable, f.comment, f.aliases) for f in fields))


def _item(c: Column | StructField) -> str:
    name = c.label + (f"@{c.physical}" if c.physical != c.label else "") + "".join(f"+{a}" for a in c.aliases)
    item = f"{name}:{_type_text(c.type)}{'' if c.nullable else '!'}"
    if isinstance(c, Column) and (c.write_default, c.initial_default) != (None, None):
        item += f"={c.write_default or ''}"
        item += f"/{c.initial_default or ''}" if c.initial_default != c.write_default else ""
    return item + (f"#{c.comment}" if c.comment else "")


def _type_text(type_) -> str:
    if isinstance(type_, Struct):
        return f"struct<{', '.join(map(_item, type_.fields))}>"
    if isinstance(type_, Array):
        return f"array<{_type_text(type_.element)}>"
    if isinstance(type_, Map):
        return f"map<{_type_text(type_.key)}, {_type_text(type_.value)}>"
    return str(type_)
