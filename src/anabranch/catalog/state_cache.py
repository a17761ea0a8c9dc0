"""Table states that are at hand, by table, branch and version; the least recently used ones go first.

A key names the branch that owns the version (the lineage's segment that holds it), so child branches find what their
parents left. A few versions are kept per table and branch: the newest, and what time travel or a fork asked for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from anabranch.model.history import Lineage
from anabranch.model.state import TableState

STATES = 512
ENTRIES = 2_000_000  # parts and bitmaps over all states; some 200 MB if no two states shared any
VERSIONS = 4

_Key = tuple[str, int]


class StateCache:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._states: OrderedDict[tuple[str, int, int], TableState] = OrderedDict()
        self._versions: dict[_Key, list[int]] = {}  # least recently used first
        self._entries = 0

    def nearest(self, table_id: str, segments: Lineage) -> tuple[TableState, int] | None:
        """The newest state along a lineage, and its version."""
        with self._lock:
            for segment in segments:
                known = self._versions.get((table_id, segment.branch_id), ())
                if segment.upto in known:
                    version: int | None = segment.upto
                else:
                    version = max((v for v in known if segment.after < v < segment.upto), default=None)
                if version is not None:
                    self._touch((table_id, segment.branch_id), version)
                    return self._states[table_id, segment.branch_id, version], version
        return None

    def keep(self, state: TableState, branch_id: int, version: int) -> None:
        key = (state.table_id, branch_id)
        with self._lock:
            if (state.table_id, branch_id, version) in self._states:
                self._touch(key, version)
                return
            self._states[state.table_id, branch_id, version] = state
            self._entries += _size(state)
            versions = self._versions.setdefault(key, [])
            versions.append(version)
            if len(versions) > VERSIONS:
                self._drop((*key, versions[0]))
            while len(self._states) > 1 and (len(self._states) > STATES or self._entries > ENTRIES):
                self._drop(next(iter(self._states)))

    def _touch(self, key: _Key, version: int) -> None:
        self._states.move_to_end((*key, version))
        versions = self._versions[key]
        versions.remove(version)
        versions.append(version)

    def _drop(self, key: tuple[str, int, int]) -> None:
        table_id, branch_id, version = key
        self._entries -= _size(self._states.pop(key))
        versions = self._versions[table_id, branch_id]
        versions.remove(version)
        if not versions:
            del self._versions[table_id, branch_id]


def _size(state: TableState) -> int:
    return len(state.parts) + len(state.dead) + 1
