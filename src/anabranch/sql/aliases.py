"""Aliases for tables that have none, and the qualifiers that must change with them.

`spark.sql` puts a generated view in a table's place, so each table needs an alias: its last piece, as Spark would call
it. Where another source with that name could be meant (in the same SELECT or one around or inside it), the alias is
the whole name, and qualifiers are resolved from the inside out and spliced. A qualifier that two sources of one SELECT
answer to is an error here, since with other aliases Spark might find a third.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.errors import SqlError
from anabranch.model.types import backticked
from anabranch.sql.cursor import Cursor
from anabranch.sql.scopes import Source, chain, qualifiers


@dataclass(frozen=True)
class Edit:
    """`text[start:end]` of the original becomes `text`."""

    start: int
    end: int
    text: str


def assign(
    cursor: Cursor, tree: exp.Expr, sources: Sequence[Source], tables: Collection[int]
) -> tuple[dict[int, str], list[Edit]]:
    """The alias of every table, by the `id` of its node, and the edits of qualifiers."""
    names: dict[int, str] = {}
    taken = {source.name for source in sources}
    for source in sources:
        if id(source.node) not in tables:
            continue
        last = source.node.alias_or_name
        if source.has_alias or not _clashes(source, sources):
            names[id(source.node)] = last
            continue
        names[id(source.node)] = _unused(".".join(source.pieces), taken)
    return names, [edit for column in tree.find_all(exp.Column) for edit in _edit(cursor, column, sources, names)]


def _clashes(source: Source, sources: Sequence[Source]) -> bool:
    around = set(map(id, chain(source.node)))
    for other in sources:
        if other is source or other.name != source.name:
            continue
        if id(other.select) in around or any(select is source.select for select in chain(other.node)):
            return True
    return False


def _unused(name: str, taken: set[str]) -> str:
    candidate, count = name, 1
    while candidate.lower() in taken:
        count += 1
        candidate = f"{name}#{count}"
    taken.add(candidate.lower())
    return candidate


def _edit(cursor: Cursor, column: exp.Column, sources: Sequence[Source], names: dict[int, str]) -> list[Edit]:
    pieces = qualifiers(column)
    for select in chain(column):
        visible = [source for source in sources if source.select is select]
        for count in (2, 1):
            written = tuple(piece.name.lower() for piece in pieces[:count])
            if len(written) != count:
                continue
            meant = [source for source in visible if source.answers(written)]
            if not meant:
                continue
            start, end = pieces[0].meta.get("start"), pieces[count - 1].meta.get("end")
            if start is None or end is None:
                raise SqlError(f"the column {column.sql()} cannot be found in the text", cursor.text, 0)
            if len(meant) > 1:
                if not any(id(source.node) in names and not source.has_alias for source in meant):
                    return []
                raise cursor.error(f"'{'.'.join(written)}' may mean {len(meant)} tables here: give them aliases", start)
            alias = names.get(id(meant[0].node))
            if alias is None or meant[0].has_alias or (count == 1 and alias.lower() == written[0]):
                return []
            return [Edit(start, end + 1, backticked(alias))]
    return []
