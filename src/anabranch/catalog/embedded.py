"""The catalog inside a lake's own folder: where it is, and whether one may be made there.

A folder that holds anything else is not taken over: neither somebody's files, nor a lake whose catalog was lost. An
empty file is no catalog, but what a process that was about to make one leaves behind.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from anabranch.errors import NotALake

CATALOG_FILE = "catalog.db"
_BEGUN = frozenset({CATALOG_FILE, f"{CATALOG_FILE}-journal", f"{CATALOG_FILE}.lock"})
"""What a catalog consists of before it has its first page."""
_PARTS = "data/*/slot=*"


def embedded(root: Path, *, create: bool) -> str:
    """The address of the folder's catalog. Raises NotALake where there is none, or where none may be made."""
    try:
        refusal = _refusal(root, create=create)
    except OSError as error:
        raise NotALake(str(root), f"it cannot be read: {error.strerror}", "Name a folder of your own.") from error
    if refusal is not None:
        raise refusal
    return f"sqlite:///{quote(str(root / CATALOG_FILE), safe='/')}"


def _refusal(root: Path, *, create: bool) -> NotALake | None:
    there = next(path for path in (root, *root.parents) if path.exists())
    if not there.is_dir():
        return NotALake(str(root), "it is a file" if there == root else f"'{there}' is a file", "Name a folder.")
    # Listed before the catalog is looked at: another process may be making both it and the rest.
    others = {path.name for path in root.iterdir()} - _BEGUN if there == root else set()
    file = root / CATALOG_FILE
    if file.exists() and file.stat().st_size:
        return None
    if next(root.glob(_PARTS), None) is not None:
        hint = f"Restore '{CATALOG_FILE}' from a backup; or name the catalog, if that is PostgreSQL."
        return NotALake(str(root), "it holds the data of one, but its catalog is missing", hint)
    if others and create:
        return NotALake(str(root), "the folder holds other things", "Choose an empty or a new one.")
    if others:
        return NotALake(str(root), "it holds other things", "Name the lake's folder, or `anabranch init` a new one.")
    return None if create else NotALake(str(root), "it holds no catalog" if there == root else "it does not exist")
