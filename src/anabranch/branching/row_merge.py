"""Rows of one append table, merged three ways: what theirs did since the base, replayed on ours.

1. What both heads have alike leaves both deltas: slots of both, rows that are gone on both, one new version of a row.
2. The matrix is read over what is left. Under `file` the slots in which base rows stood are compared; `row` and `cell`
   look only at rows that both sides changed, which become a *contest*, to be settled by values.
3. The replay: theirs' slots and losses, and what follows from both sides' changes of one row.

Nothing is read but the origins of updated parts, and these only where both sides lost the same row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np
from pyroaring import BitMap

from anabranch.branching.law import APPEND_TABLES, cell
from anabranch.branching.rows import (
    Origins,
    Positions,
    Side,
    ids_of,
    origins_of,
    settled_classes,
    versions,
    visible,
)
from anabranch.branching.shared import NOTHING_SHARED, Shared
from anabranch.model.conflict import ConflictRecord
from anabranch.model.part import POSITION_BITS, Part
from anabranch.model.records import Operation, TableDelta
from anabranch.model.words import counted
from anabranch.storage.row_ids import by_slot, united, without

Detect = Literal["file", "row", "cell"]


Changed = Mapping[str, Positions]
"""`delete` and `update` -> rows of the base."""
NOTHING: Positions = {}
NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Contest:
    """Rows that both sides changed: the base's id and the current one of each side; -1 where the row is gone."""

    base: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray

    def __len__(self) -> int:
        return len(self.base)

    def where(self, chosen: np.ndarray) -> Contest:
        return Contest(self.base[chosen], self.ours[chosen], self.theirs[chosen])

    def and_also(self, other: Contest) -> Contest:
        pairs = zip((self.base, self.ours, self.theirs), (other.base, other.ours, other.theirs), strict=True)
        return Contest(*map(np.concatenate, pairs))


@dataclass
class Replay:
    """The events that bring theirs' delta onto ours, by cause."""

    table_id: str
    placed: dict[str, list[Part]] = field(default_factory=dict)
    removed: dict[str, set[int]] = field(default_factory=dict)
    killed: dict[str, dict[int, BitMap]] = field(default_factory=dict)
    revived: dict[int, BitMap] = field(default_factory=dict)
    shown: dict[int, BitMap] = field(default_factory=dict)
    """Slots that are placed, with the rows of them that theirs shows."""

    def kill(self, cause: str, rows: Positions) -> None:
        slots = self.killed.setdefault(cause, {})
        for slot, positions in rows.items():
            if positions:
                slots[slot] = slots[slot] | positions if slot in slots else positions

    def revive(self, slot: int, rows: BitMap) -> None:
        if rows:
            self.revived[slot] = self.revived[slot] | rows if slot in self.revived else rows

    def kill_ids(self, cause: str, ids: np.ndarray) -> None:
        self.kill(cause, by_slot(ids[ids >= 0]))

    def discard(self, ids: np.ndarray) -> None:
        """Versions that are not wanted: a part that would show nothing else is not placed."""
        for slot, rows in by_slot(ids).items():
            left = self.shown.get(slot, rows) - rows
            if slot in self.shown and not left:
                self.placed = {
                    cause: [part for part in parts if part.slot != slot] for cause, parts in self.placed.items()
                }
                self.killed = {
                    cause: without(dead, {slot: dead.get(slot, BitMap())}) for cause, dead in self.killed.items()
                }
                self.revived.pop(slot, None)
            else:
                self.revived = without(self.revived, {slot: rows})
                self.kill("update", {slot: rows})

    def deltas(self) -> list[TableDelta]:
        """A version that theirs brought back and that loses against ours' is not brought back."""
        for slots in self.killed.values():
            for slot in slots.keys() & self.revived.keys():
                self.revived[slot] = self.revived[slot] - slots[slot]
        self.revived = {slot: rows for slot, rows in self.revived.items() if rows}
        causes = (
            self.placed.keys() | self.removed.keys() | self.killed.keys() | ({"restore"} if self.revived else set())
        )
        made = [
            TableDelta(
                self.table_id,
                tuple(self.placed.get(cause, ())),
                tuple(sorted(self.removed.get(cause, ()))),
                self.killed.get(cause, {}),
                self.revived if cause == "restore" else {},
                cast(Operation, cause),
            )
            for cause in sorted(causes)
        ]
        return [delta for delta in made if not delta.is_empty]


@dataclass(frozen=True)
class RowMerge:
    """`conflicts` hold for detect = file; `contest` is what values must settle. `changed`: base rows that theirs
    deleted or updated, without what ours has alike. `meets_inserts`: whether ours has new rows that these statements
    never saw."""

    replay: Replay
    contest: Contest
    conflicts: tuple[ConflictRecord, ...] = ()
    changed: Changed = field(default_factory=dict)
    meets_inserts: bool = False
    news: bool = False
    """Theirs has a row, or lacks one, that ours has not or has: contest, updates and `born` not counted."""
    updated: Positions = field(default_factory=dict)
    """Base rows of which theirs alone has another version; it may show the same values."""
    born: Callable[[], bool] = lambda: False
    """Whether among the versions that theirs brings is one of a row that the base has not: reads their origins."""


def merge_rows(
    table: str,
    ours: Side,
    theirs: Side,
    detect: Detect,
    origins: Origins,
    shared: Shared = NOTHING_SHARED,
    disagreed: Positions = NOTHING,
    crossed: Positions = NOTHING,
    risen: Callable[[], np.ndarray] = lambda: NO_ROWS,
) -> RowMerge:
    """`shared`: what the sides' base has and the true base lacks. Rows born since never count for detect = file.
    `disagreed`: rows that only some of several bases have; those that `crossed` lists theirs has deleted, and what else
    becomes of them others decide. `risen`: older rows that ours has brought back, which count as inserted."""
    spared = NOTHING if detect == "file" else disagreed  # settled by values
    ours, theirs = settled_classes(ours, origins), settled_classes(theirs, origins)
    contest, alike = _meeting(ours, theirs, origins)
    replay = _replayed(ours, theirs.sparing(spared))
    _reappear(ours, theirs, origins, replay)
    mine, other = _without(ours.gone, alike), _without(theirs.gone, alike)
    if ours.shows_unknown or theirs.shows_unknown:
        contest = contest.and_also(_risen(ours, theirs, origins, detect, replay))
    if len(contest):
        contest = contest.where(_contested(contest, ours, theirs, detect, replay, shared))
    in_base = shared.in_base(other) if detect == "file" else other
    if crossed:
        in_base = {**in_base, "delete": united([in_base.get("delete", NOTHING), crossed])}

    meets = tuple(
        cause
        for cause in ("delete", "update")
        if any(in_base.get(cause, {}).values()) and cell(APPEND_TABLES, cause, "insert") == "X"
    )
    inserted = without(ours.inserted(origins), disagreed) if meets else {}
    new = sum(len(rows) for slot, rows in inserted.items() if slot not in theirs.head.parts)
    new += len(risen()) if meets else 0
    conflicts = []
    if detect == "file":
        conflicts = [*_same_files(table, shared.in_base(mine), in_base), *_inserts(table, meets, in_base, new)]
    news, alone = _news(replay, ours, theirs, contest, _without(other, spared), detect, origins)
    counted = {cause: other.get(cause, {}) for cause in ("delete", "update")}
    changed = shared.without_young(counted) if detect == "file" else counted
    born = _Born(theirs, origins, replay, contest)
    return RowMerge(replay, contest, tuple(conflicts), changed, bool(meets and new), news, alone, born.any)


def _contested(
    meeting: Contest, ours: Side, theirs: Side, detect: Detect, replay: Replay, shared: Shared
) -> np.ndarray:
    """Which rows that both sides changed are left to values; the replay learns what becomes of the others."""
    updated, lost = meeting.theirs >= 0, meeting.theirs < 0
    by_overwrite = _among(meeting.base, ours.gone.get("overwrite", {}))
    theirs_overwrote = _among(meeting.base, theirs.gone.get("overwrite", {}))
    replay.discard(meeting.theirs[updated & (meeting.ours < 0) & by_overwrite])  # A4
    contested: np.ndarray = updated & ((meeting.ours >= 0) | ~by_overwrite)
    dies = lost & (meeting.ours >= 0)
    if detect != "file":
        contested = contested | (dies & ~theirs_overwrote)
        dies = dies & theirs_overwrote
    replay.kill_ids("overwrite", meeting.ours[dies & theirs_overwrote])
    replay.kill_ids("delete", meeting.ours[dies & ~theirs_overwrote])
    if detect == "file" and shared.slots:
        young = contested & shared.young(meeting.base)
        replay.kill_ids("update", meeting.ours[young])
        contested = contested & ~young
    return contested


def _news(
    replay: Replay,
    ours: Side,
    theirs: Side,
    contest: Contest,
    other: Mapping[str, Positions],
    detect: Detect,
    origins: Origins,
) -> tuple[bool, Positions]:
    """Whether something comes of the replay for sure, and the base rows that theirs alone has other versions of."""
    left = _without(other, by_slot(contest.base))
    gone = any(slots for cause, slots in left.items() if cause != "update")
    placed = [part for parts in replay.placed.values() for part in parts]
    dead = united([*replay.killed.values(), by_slot(contest.theirs[contest.theirs >= 0])])  # these are left to values
    live = any(not part.has_origin and replay.shown[part.slot] - dead.get(part.slot, BitMap()) for part in placed)
    removed = [slot for slots in replay.removed.values() for slot in slots]
    taken = any(visible(ours.head, slot) - visible(theirs.base, slot) for slot in removed)  # the others are in `other`
    sure = gone or live or taken
    if not sure and replay.revived:
        # Where values are compared, an older version that is back may show what the newer one did.
        back = origins_of(ids_of(replay.revived), theirs.head.parts, origins)
        updated = origins_of(ids_of(theirs.gone.get("update", {})), theirs.base.parts, origins)
        sure = detect == "file" or not np.isin(back, updated).all()
    return sure, left.get("update", {})


@dataclass(frozen=True)
class _Born:
    """Looks for rows of which the base shows no version, among versions; those of a contest are not counted."""

    theirs: Side
    origins: Origins
    replay: Replay
    contest: Contest

    def any(self) -> bool:
        dead = united(self.replay.killed.values())
        placed = [part for parts in self.replay.placed.values() for part in parts if part.has_origin]
        live = ids_of({part.slot: BitMap(range(part.rows)) - dead.get(part.slot, BitMap()) for part in placed})
        if not len(live):
            return False
        lost = origins_of(ids_of(self.theirs.lost), self.theirs.base.parts, self.origins)
        known = np.concatenate([lost, self.contest.base])
        return not np.isin(origins_of(live, self.theirs.head.parts, self.origins), known).all()


def _meeting(ours: Side, theirs: Side, origins: Origins) -> tuple[Contest, Positions]:
    """Base rows that are gone on both sides and not alike, with what became of them, and those that are alike."""
    mine, other = ours.lost, theirs.lost
    both = {slot: rows for slot in mine.keys() & other.keys() if (rows := mine[slot] & other[slot])}
    updated: dict[int, BitMap] = {}
    for side in (ours, theirs):
        for slot, rows in side.gone.get("update", {}).items():
            if slot in both and rows & both[slot]:
                updated[slot] = updated.get(slot, BitMap()) | (rows & both[slot])
    ids = ids_of(updated)
    if not len(ids):
        return Contest(ids, ids, ids), both
    origin = origins_of(ids, ours.base.parts, origins)
    here, there = versions(ours, origins).find(origin), versions(theirs, origins).find(origin)
    differ = here != there
    apart = by_slot(ids[differ])
    alike = {slot: rows - apart[slot] if slot in apart else rows for slot, rows in both.items()}
    return Contest(ids[differ], here[differ], there[differ]), alike


def _risen(ours: Side, theirs: Side, origins: Origins, detect: Detect, replay: Replay) -> Contest:
    """Rows that the base does not show and both sides do, in different versions: one had been kept against the other
    side's DELETE, say, and then the DELETE was undone; or a pick brought a newer one first. A side whose version the
    other one had, and left behind, has nothing new, and all versions come from the first; the contest is about rows of
    which neither is so, held against their first versions."""
    here, there = versions(ours, origins), versions(theirs, origins)
    lost = [origins_of(ids_of(side.lost), side.base.parts, origins) for side in (ours, theirs)]
    rows = np.setdiff1d(np.concatenate([here.origin, there.origin]), np.concatenate(lost))
    mine, other = here.find(rows), there.find(rows)
    apart = (mine >= 0) & (other >= 0) & (mine != other)
    rows, mine, other = rows[apart], mine[apart], other[apart]
    had = (other == rows) | ((mine != rows) & np.isin(other >> POSITION_BITS, list(ours.head.parts)))
    left = ~had & ((mine == rows) | np.isin(mine >> POSITION_BITS, list(theirs.head.parts)))
    for slot, positions in by_slot(other[had]).items():
        if slot in replay.shown:
            replay.discard(ids_of({slot: positions}))
        elif slot in replay.revived:
            replay.revived[slot] = replay.revived[slot] - positions
    replay.revived = {slot: positions for slot, positions in replay.revived.items() if positions}
    apart = ~had & ~left
    replay.kill_ids("update", mine[left | apart if detect == "file" else left])
    apart &= detect != "file"
    return Contest(rows[apart], mine[apart], other[apart])


def _without(gone: Mapping[str, Positions], alike: Positions) -> dict[str, dict[int, BitMap]]:
    return {cause: without(slots, alike) for cause, slots in gone.items()}


def _among(ids: np.ndarray, rows: Positions) -> np.ndarray:
    return np.isin(ids, ids_of(rows))


def _same_files(table: str, mine: Mapping[str, Positions], other: Mapping[str, Positions]) -> list[ConflictRecord]:
    """A1 and A3: an update of theirs and a delete or update of ours in one file."""
    found = []
    for cause in ("delete", "update"):
        rule = cell(APPEND_TABLES, "update", cause)
        for slot in sorted(other.get("update", {}).keys() & mine.get(cause, {}).keys()):
            here, there = len(mine[cause][slot]), len(other["update"][slot])
            words = (f"{counted(here, 'row')} {cause}d", f"{counted(there, 'row')} updated")
            found.append(ConflictRecord(table, "rows", rule, *words, row=f"file of slot {slot}"))
    return found


def _inserts(table: str, meets: tuple[str, ...], other: Mapping[str, Positions], new: int) -> list[ConflictRecord]:
    """X: theirs deleted or updated by a predicate, and ours has rows that it never saw."""
    inserted = f"{counted(new, 'row')} inserted"
    found = []
    for cause in meets if new else ():
        rows = sum(map(len, other[cause].values()))
        found.append(ConflictRecord(table, "rows", f"{cause}/insert", inserted, f"{counted(rows, 'row')} {cause}d"))
    return found


def _replayed(ours: Side, theirs: Side) -> Replay:
    """Theirs' delta on ours, as if nobody had changed the same row."""
    replay = Replay(theirs.head.table_id)
    lost, gone = ours.lost, theirs.lost
    for slot, cause in theirs.placed.items():
        if slot not in ours.head.parts:
            _place(
                replay, cause, theirs.head.parts[slot], visible(theirs.head, slot), ours, theirs.causes.get(slot, {})
            )
    for cause, slots in theirs.gone.items():
        for slot, rows in slots.items():
            if slot in theirs.head.parts:
                left = rows - ours.head.dead.get(slot, BitMap())
                replay.kill(cause, {slot: left - lost[slot] if slot in lost else left})
            elif slot in ours.head.parts:
                done = "restore" if slot in theirs.undone else cause
                if visible(ours.head, slot) - gone[slot]:  # ours has brought others of its rows back
                    replay.kill(done, {slot: rows - ours.head.dead.get(slot, BitMap())})
                else:
                    replay.removed.setdefault(done, set()).add(slot)
    for slot, rows in theirs.back.items():
        if slot in ours.head.parts:
            replay.revive(slot, rows & ours.head.dead.get(slot, BitMap()))
        else:  # ours took it away, with rows that theirs has left as they were
            why = {cause: slots[slot] for cause, slots in ours.gone.items() if slot in slots}
            _place(replay, "insert", theirs.head.parts[slot], rows, ours, why)
    for scope in theirs.scopes:
        covered = {slot for slot, part in ours.head.parts.items() if scope.covers(part)}
        replay.removed.setdefault("overwrite", set()).update(covered - theirs.head.parts.keys())
    once: set[int] = set()
    for slots_removed in replay.removed.values():  # a slot has one event, whatever the number of its classes
        slots_removed -= once
        once |= slots_removed
    return replay


def _reappear(ours: Side, theirs: Side, origins: Origins, replay: Replay) -> None:
    """Rows of slots that theirs brought back, and ours never lost: those that ours has lost one by one come back, too,
    where it shows no other version of them."""
    there = [slot for slot in theirs.placed if slot in ours.head.parts]
    rows = {slot: visible(theirs.head, slot) & ours.head.dead.get(slot, BitMap()) for slot in there}
    ids = ids_of(rows)
    if len(ids):
        shown = versions(ours, origins).origin
        for slot, lost in by_slot(ids[~np.isin(origins_of(ids, theirs.head.parts, origins), shown)]).items():
            replay.revive(slot, lost)


def _place(replay: Replay, cause: str, part: Part, rows: BitMap, ours: Side, causes: Mapping[str, BitMap]) -> None:
    """A slot of which these rows are shown and no others; ours may have had it before, and dead rows of it."""
    replay.placed.setdefault(cause, []).append(part)
    replay.shown[part.slot] = rows
    dead = ours.head.dead.get(part.slot, BitMap())
    replay.revive(part.slot, rows & dead)
    left = BitMap(range(part.rows)) - rows - dead
    for why, killed in causes.items():
        replay.kill(why, {part.slot: killed & left})
        left = left - killed
    replay.kill("delete", {part.slot: left})
