"""A SELECT prepared for Spark: every table it reads, and how its text must change for `spark.sql`.

1. The tokens are masked (mask.py) and sqlglot reads the masked text.
2. Scopes (scopes.py) tell real tables from CTE references, functions and inline tables.
3. Each real table is read again from the original tokens, with its ref; tree and tokens must agree, and every ref
   must belong to a table.
4. Aliases are given where there is none (aliases.py), needed columns and pushable conditions are gathered
   (needs.py, pushdown.py).

The text itself is only ever spliced (splicing.py), never made anew from the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from anabranch.errors import SqlError
from anabranch.sql import aliases, needs, pushdown, refs, scopes
from anabranch.sql.aliases import Edit
from anabranch.sql.cursor import Cursor
from anabranch.sql.mask import Masked, mask
from anabranch.sql.refs import Name
from anabranch.sql.tokens import Kind
from anabranch.sql.views import IsView


@dataclass(frozen=True)
class TableUse:
    """One place where a query reads a table: `text[start:end]` is its name with ref and time travel.

    `alias` is what the query calls it, written (`has_alias`) or given by us, to be put at `alias_at` (None: nowhere).
    `columns` holds, in lower case, the labels that may be needed and other words; None means all columns.
    `predicate` is a condition on this table's own columns that every row of use fulfils; a conjunct with a column
    that the table does not have must be dropped by the reader.
    """

    name: Name
    start: int
    end: int
    alias: str
    has_alias: bool
    alias_at: int | None
    columns: frozenset[str] | None
    predicate: str | None


@dataclass(frozen=True)
class PreparedQuery:
    """`text` is the original; `edits` replace qualifiers such as `d.t.`; `frames` are spans that keep their braces."""

    text: str
    tables: tuple[TableUse, ...]
    edits: tuple[Edit, ...] = ()
    frames: tuple[tuple[int, int], ...] = ()
    takes_frames: bool = False


def prepare(text: str, frames: Collection[str] = (), is_view: IsView = lambda parts: False) -> PreparedQuery:
    """Find what the query `text` reads; `frames` are the names that `{…}` may hold. What `is_view` is left to Spark."""
    cursor = Cursor(text)
    masked = mask(cursor, frames)
    tree = _tree(cursor, masked)
    sources = scopes.sources(tree)
    _refuse_dynamic_tables(cursor, sources)
    frame_starts = {start for start, _ in masked.frames}
    tables = [source for source in sources if source.real and source.start not in frame_starts]
    tables = [source for source in tables if not _is_view(cursor, source, is_view)]
    places = _places(cursor, tables, masked)
    names, edits = aliases.assign(cursor, tree, sources, {id(source.node) for source in tables})

    whole = needs.whole_tables(tree, sources)
    if len(masked.frames) > sum(source.start in frame_starts for source in sources):
        # A frame outside FROM is a column or a value, and may name any column.
        whole |= {id(source.node) for source in tables}
    named = needs.named(cursor.tokens)
    predicates = _predicates(sources)
    uses = []
    for source, (name, end, alias_at) in zip(tables, places, strict=True):
        node = id(source.node)
        columns = None if node in whole else named
        alias = names[node]
        uses.append(
            TableUse(name, name.position, end, alias, source.has_alias, alias_at, columns, predicates.get(node))
        )
    return PreparedQuery(text, tuple(uses), tuple(edits), masked.frames, takes_frames=bool(frames))


def _tree(cursor: Cursor, masked: Masked) -> exp.Expr:
    if not cursor.at_any("SELECT", "WITH", "VALUES", "TABLE", "FROM", "("):
        cursor.fail("a query")
    for token in cursor.tokens:
        if token.kind is Kind.SYMBOL and token.value == "|>":
            raise cursor.error("pipe syntax is not available; write SELECT", token.start)
    try:
        trees = sqlglot.parse(masked.text, dialect="spark")
    except ParseError as error:
        raise _syntax_error(cursor.text, error) from None
    except (SqlglotError, RecursionError) as error:
        raise SqlError(f"the query cannot be read: {error}", cursor.text, 0) from None
    found = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(found) != 1 or not isinstance(found[0], exp.Query | exp.Values | exp.Subquery):
        raise SqlError("this is not one single query", cursor.text, 0)
    command = found[0].find(exp.Command)
    if command is not None:
        raise SqlError("the query holds something that is not understood", cursor.text, 0)
    return found[0]


def _syntax_error(text: str, error: ParseError) -> SqlError:
    if not error.errors:
        return SqlError(f"the query cannot be read: {error}", text, 0)
    first = error.errors[0]
    lines = text.split("\n")
    line = min(first.get("line") or 1, len(lines))
    found = first.get("highlight") or ""
    position = sum(len(before) + 1 for before in lines[: line - 1]) + (first.get("col") or 0) - len(found)
    expected = _expectation(first.get("description") or "")
    if expected == found:  # sqlglot points at the last token when there is none after it
        found, position = "", len(text.rstrip())
    message = f"expected {expected}, found {found or 'the end'}" if expected else f"unexpected {found or 'end'}"
    return SqlError(message, text, max(0, position))


def _expectation(description: str) -> str | None:
    """What sqlglot says it wanted: "Expecting )", "Expected table name but got <Token …>"."""
    for beginning in ("Expecting ", "Expected "):
        if description.startswith(beginning):
            return description.removeprefix(beginning).partition(" but got ")[0]
    return None


def _refuse_dynamic_tables(cursor: Cursor, sources: Sequence[scopes.Source]) -> None:
    for source in sources:
        this = source.node.this
        if isinstance(source.node, exp.Table) and isinstance(this, exp.Anonymous) and this.name.upper() == "IDENTIFIER":
            position = next((t.start for t in cursor.tokens if t.value == "IDENTIFIER"), 0)
            raise cursor.error("IDENTIFIER(…) cannot name a table here: write database.table", position)


def _is_view(cursor: Cursor, source: scopes.Source, is_view: IsView) -> bool:
    if is_view(source.pieces):
        return True
    if len(source.pieces) == 1 and source.start >= 0:
        name = source.pieces[0]
        why = f"'{name}' does not name a table: write database.table. It is no temporary view of Spark either"
        raise cursor.error(why, source.start)
    return False


def _places(cursor: Cursor, tables: Sequence[scopes.Source], masked: Masked) -> list[tuple[Name, int, int | None]]:
    """For each table its name as the tokens have it, where it ends, and where an alias can be put."""
    index_at = {token.start: index for index, token in enumerate(cursor.tokens)}
    places: list[tuple[Name, int, int | None]] = []
    owned: set[int] = set()
    for source in tables:
        start = source.start
        if start not in index_at:
            raise SqlError(f"the table {source.node.name} cannot be found in the text", cursor.text, 0)
        cursor.index = index_at[start]
        name = refs.table_name(cursor)
        end = cursor.tokens[cursor.index - 1].end
        if tuple(part.lower() for part in name.parts) != source.parts:
            raise cursor.error(f"the table {'.'.join(source.parts)} is read differently here", start)
        owned.update(at for at in masked.refs if start <= at < end)
        places.append((name, end, None if start in masked.bare else _after_sample(cursor)))
    for position in sorted(masked.refs - owned):
        raise cursor.error("a version or branch can only follow the name of a table", position)
    return places


def _after_sample(cursor: Cursor) -> int:
    """Spark wants the alias after TABLESAMPLE."""
    if cursor.take("TABLESAMPLE"):
        cursor.skip()
        if cursor.take("REPEATABLE"):
            cursor.skip()
    return cursor.tokens[cursor.index - 1].end


def _predicates(sources: Sequence[scopes.Source]) -> dict[int, str]:
    by_select: dict[int, list[scopes.Source]] = {}
    for source in sources:
        by_select.setdefault(id(source.select), []).append(source)
    found: dict[int, str] = {}
    for group in by_select.values():
        select = group[0].select
        if select is not None:
            found |= pushdown.predicates(select, group)
    return found
