"""Rewrites: other ways to store the same rows. They change no row, so the law never lets them conflict.

A rewrite belongs to its table, not to a branch: it may stand for its inputs in every state that it fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyroaring import BitMap

from anabranch.model.part import Part


@dataclass(frozen=True)
class Rewrite:
    """Parts that hold the rows of some slots, one after the other in the order of `left_out`, whose values are the
    positions of each slot that were left out because they were dead.

    Of a `keyed` table: the merge of these slots by key, the oldest first. `oldest`: nothing older could hold a key of
    theirs, so what it needed no more (tombstones, retracts) is gone.
    """

    id: str
    table_id: str
    left_out: Mapping[int, BitMap]
    parts: tuple[Part, ...]
    keyed: bool = False
    oldest: bool = False
