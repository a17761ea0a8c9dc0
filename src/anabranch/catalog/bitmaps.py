"""Dead rows as bytes: a Roaring bitmap per slot, inside its catalog row or, if large, in a blob."""

from __future__ import annotations

import uuid
from typing import Protocol

from pyroaring import BitMap

from anabranch.errors import CatalogError

INLINE_BYTES = 64 * 1024
"""Serialised bitmaps up to this size live in the catalog."""


class Blobs(Protocol):
    """Where large bitmaps go; a blob is written once, before the commit that names it."""

    def write(self, name: str, data: bytes) -> None: ...

    def read(self, name: str) -> bytes: ...

    def discard(self, name: str) -> None: ...


def encode(bitmap: BitMap, table_id: str, blobs: Blobs | None) -> tuple[bytes | None, str | None]:
    """(bytes for the row, None) or (None, name of the blob that was written)."""
    shrunk = bitmap.copy()
    shrunk.run_optimize()
    data = shrunk.serialize()
    if blobs is None or len(data) <= INLINE_BYTES:
        return data, None
    name = f"dead-rows/{table_id}/{uuid.uuid4().hex}.roaring"
    blobs.write(name, data)
    return None, name


def decode(data: bytes | None, blob: str | None, blobs: Blobs | None) -> BitMap:
    if data is None:
        if blob is None or blobs is None:
            raise CatalogError(f"the dead rows in {blob!r} cannot be read: the catalog was opened without blobs.")
        data = blobs.read(blob)
    return BitMap.deserialize(bytes(data))
