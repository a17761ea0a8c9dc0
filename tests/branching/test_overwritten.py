"""Rows that overwrites took, against rows that are followed one by one."""

import random

import numpy as np
import pytest
from pyroaring import BitMap

from anabranch.branching.overwritten import taken_by_overwrites
from anabranch.model.history import Position
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import TableDelta
from anabranch.model.state import TableState, advance, difference
from anabranch.storage.row_ids import by_slot

Id = int
EMPTY = TableState("t", Position(1, 0))


class Rows:
    """One table, row by row: where every version stands, and what ended the last one of each row."""

    def __init__(self) -> None:
        self.slots = 0
        self.state, self.states = EMPTY, [EMPTY]
        self.deltas: list[TableDelta] = []
        self.origin: dict[Id, Id] = {}
        self.part: dict[Id, Part] = {}
        self.shown: dict[Id, Id] = {}  # origin -> the version that is there
        self.ended: dict[Id, tuple[str, int]] = {}  # origin -> the class of what ended it, and its version
        self.last: dict[Id, Id] = {}  # origin -> its last version
        self.restores: dict[int, int] = {}
        self.known = [(dict(self.shown), dict(self.ended), dict(self.last))]

    def origins(self, part: Part) -> np.ndarray:
        return np.array([self.origin[part.slot << POSITION_BITS | place] for place in range(part.rows)], np.int64)

    def commit(self, cause: str, *, placed=(), removed=(), killed=None, revived=None) -> None:
        version = len(self.states)
        delta = TableDelta("t", tuple(placed), tuple(removed), killed or {}, revived or {}, cause, version)  # type: ignore[arg-type]
        self.deltas.append(delta)
        self.state = advance(self.state, Position(1, version), [delta])
        self.states.append(self.state)
        self.known.append((dict(self.shown), dict(self.ended), dict(self.last)))

    def write(self, partition: str, origins: list[Id] | None = None, rows: int = 0) -> Part:
        self.slots += 1
        ids = [self.slots << POSITION_BITS | place for place in range(len(origins or ()) or rows)]
        part = Part(str(self.slots), self.slots, 1, len(ids), 1, partition=partition, has_origin=origins is not None)
        for id, origin in zip(ids, origins or ids, strict=True):
            self.origin[id], self.part[id] = origin, part
            self.shown[origin] = self.last[origin] = id
            self.ended.pop(origin, None)
        return part

    def end(self, origins: list[Id], cause: str) -> dict[int, BitMap]:
        ids = [self.shown.pop(origin) for origin in origins]
        self.ended |= dict.fromkeys(origins, (cause, len(self.states)))
        return by_slot(np.array(ids, np.int64))

    # --- statements

    def insert(self, choose: random.Random) -> None:
        self.commit("insert", placed=[self.write(choose.choice("ab"), rows=choose.randint(1, 3))])

    def delete(self, choose: random.Random) -> None:
        gone = [origin for origin in self.shown if choose.random() < 0.3]
        self.commit("delete", killed=self.end(gone, "delete"))

    def update(self, choose: random.Random) -> None:
        moved = [origin for origin in self.shown if choose.random() < 0.3]
        if moved:
            killed = by_slot(np.array([self.shown[origin] for origin in moved], np.int64))
            self.commit("update", placed=[self.write(choose.choice("ab"), moved)], killed=killed)

    def overwrite(self, choose: random.Random) -> None:
        partition = choose.choice("ab")
        removed = [slot for slot, part in self.state.parts.items() if part.partition == partition]
        for origin, id in list(self.last.items()):
            dead = self.ended.get(origin, ("",))[0] == "delete" and self.part[id].slot in removed
            if self.part[id].partition == partition and (origin in self.shown or dead):
                self.shown.pop(origin, None)
                self.ended[origin] = ("overwrite", len(self.states))
        self.commit("overwrite", removed=removed, placed=[self.write(partition, rows=1)])

    def restore(self, choose: random.Random) -> None:
        back = choose.randrange(len(self.states))
        self.restores[len(self.states)] = back
        delta = difference(self.state, self.states[back])
        self.shown, self.ended, self.last = (dict(one) for one in self.known[back])
        self.commit("restore", placed=delta.placed, removed=delta.removed, killed=delta.killed, revived=delta.revived)


@pytest.mark.parametrize("seed", range(150))
def test_what_is_taken_is_what_rows_say(seed: int) -> None:
    choose = random.Random(seed)
    rows = Rows()
    kinds = [Rows.insert, Rows.insert, Rows.delete, Rows.update, Rows.update, Rows.overwrite, Rows.restore]
    for _ in range(choose.randint(3, 12)):
        choose.choice(kinds)(rows, choose)
    taken = taken_by_overwrites(EMPTY, rows.deltas, rows.origins, rows.restores)
    expected: dict[int, set[Id]] = {}
    for origin, (cause, version) in rows.ended.items():
        if cause == "overwrite":
            expected.setdefault(version, set()).add(origin)
    found: dict[int, set[Id]] = {}
    for (version, _), slots in taken.by.items():
        ids = {slot << POSITION_BITS | place for slot, places in slots.items() for place in places}
        found[version] = found.get(version, set()) | ids
    known = rows.ended.keys() | rows.shown.keys()  # what a RESTORE took with its insert is nobody's
    assert {version: ids & known for version, ids in found.items() if ids & known} == expected
