"""`sort-engine`: ways to bring sorted stretches of rows into one order, by key and then by stretch.

All give the same order. `vectorized` sorts the whole window with numpy; the loser tree and the heap merge row by row,
as other stores do, and are slower here: they are what a doubt about the first can be checked against.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from anabranch.keyed.key_columns import KeyColumns, Row, Words, concat
from anabranch.keyed.keys import sort_indices

SortEngine: TypeAlias = Callable[[Sequence[KeyColumns]], Words]
"""Sorted stretches, oldest first -> the order of their rows, counted through all stretches; there is at least one."""


def vectorized(stretches: Sequence[KeyColumns]) -> Words:
    return sort_indices(concat(stretches))


def min_heap(stretches: Sequence[KeyColumns]) -> Words:
    rows, offsets = _rows(stretches)
    heap = [(stretch[0], at) for at, stretch in enumerate(rows) if stretch]
    heapq.heapify(heap)
    heads = [0] * len(rows)
    order = []
    while heap:
        _, at = heap[0]
        order.append(offsets[at] + heads[at])
        heads[at] += 1
        if heads[at] < len(rows[at]):
            heapq.heapreplace(heap, (rows[at][heads[at]], at))
        else:
            heapq.heappop(heap)
    return np.array(order, np.int64)


def loser_tree(stretches: Sequence[KeyColumns]) -> Words:
    """A tournament whose inner nodes keep the loser: a new head plays only on its own way up."""
    rows, offsets = _rows(stretches)
    count = len(rows)
    heads = [0] * count
    unplayed = count
    losers = [unplayed] * count

    def before(a: int, b: int) -> bool:
        if a == unplayed:
            return True  # it wins its way out of the tree while this is being filled
        if b == unplayed or heads[a] == len(rows[a]):
            return False
        if heads[b] == len(rows[b]):
            return True
        one, other = rows[a][heads[a]], rows[b][heads[b]]
        return one < other or (one == other and a < b)

    def played(winner: int) -> int:
        node = (winner + count) // 2
        while node:
            if before(losers[node], winner):
                losers[node], winner = winner, losers[node]
            node //= 2
        return winner

    winner = unplayed
    for at in range(count - 1, -1, -1):
        winner = played(at)
    order = []
    for _ in range(sum(map(len, rows))):
        order.append(offsets[winner] + heads[winner])
        heads[winner] += 1
        winner = played(winner)
    return np.array(order, np.int64)


def _rows(stretches: Sequence[KeyColumns]) -> tuple[list[list[Row]], list[int]]:
    rows = [
        list(zip(*(c.tolist() if isinstance(c, np.ndarray) else c.to_pylist() for c in keys.columns), strict=True))
        for keys in stretches
    ]
    return rows, np.cumsum([0, *map(len, rows)]).tolist()


SORT_ENGINES: Mapping[str, SortEngine] = {
    "vectorized": vectorized,
    "loser-tree": loser_tree,
    "min-heap": min_heap,
}
