"""The text for `spark.sql(text, args, **frames)`: the original with table names replaced by `{frame}`.

`spark.sql` formats the text with `str.format` if it is given any frame, so all other braces are doubled, in strings and
comments too; without frames it does not, and the text stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.model.types import backticked
from anabranch.sql.aliases import Edit
from anabranch.sql.query import PreparedQuery, TableUse


def splice(prepared: PreparedQuery, frame_names: Sequence[str]) -> str:
    """The prepared text with the nth table read from the frame that is called `frame_names[n]`."""
    if len(frame_names) != len(prepared.tables):
        raise ValueError(f"{len(prepared.tables)} tables need as many frames, not {len(frame_names)}")
    if not (frame_names or prepared.takes_frames):
        return prepared.text
    edits = [edit for table, frame in zip(prepared.tables, frame_names, strict=True) for edit in _edits(table, frame)]
    edits += prepared.edits
    edits += (Edit(start, end, prepared.text[start:end]) for start, end in prepared.frames)
    out: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        out += (_doubled(prepared.text[done : edit.start]), edit.text)
        done = edit.end
    return "".join((*out, _doubled(prepared.text[done:])))


def _edits(table: TableUse, frame: str) -> list[Edit]:
    edits = [Edit(table.start, table.end, f"{{{frame}}}")]
    if not table.has_alias and table.alias_at is not None:
        edits.append(Edit(table.alias_at, table.alias_at, f" AS {_doubled(backticked(table.alias))}"))
    return edits


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
