"""Merges that are refused in random histories and settled row by row: `lake.merge(…, resolutions={"d.t": rows})`.

There is no model here. Branches from ours' head take the same merge with RESOLVE USING OURS and USING THEIRS: what does
not conflict must be as it is there, and what does as the resolution says, each row once.
"""

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch
from anabranch.errors import AnabranchError, MergeConflict
from anabranch.execution.fetch import read_origins
from anabranch.execution.plan import plan_scan
from anabranch.execution.reader import ORIGIN, ROW_ID, read_table
from anabranch.storage.row_ids import POSITION_BITS

from . import statements as s
from . import test_brought as brought
from . import test_columns as columns
from .nested import OUTSIDE

FIRST = 1_000_000 * int(os.environ.get("ANABRANCH_FUZZ_SEED", "0"))
HISTORIES = range(FIRST, FIRST + int(os.environ.get("ANABRANCH_FUZZ_EXAMPLES", "12")))
TABLE = "d.t"
Row = Mapping[str, Any]
Rows = dict[int, Row]  # origin -> row


class Settled:
    """A lake that lives through a history; what it is told is kept, to be shown if a check fails."""

    def __init__(self, folder: Path, beginning: str, choose: random.Random) -> None:
        self.lake = anabranch.connect(folder, durability="process", author="oracle", create=False)
        self.choose, self.told, self.twins = choose, [beginning], 0

    def run(self, branch: str, text: str) -> None:
        """Refusals are part of a history; merges that rows stand against, and nothing else, are settled."""
        statement, ours = s.parse(text), self.lake.on(branch)
        if isinstance(statement, s.Merge):
            statement = replace(statement, resolve=None)
        self.told.append(f"USE BRANCH {branch}; {statement.sql};")
        try:
            ours.sql(statement.sql)
        except MergeConflict:
            if isinstance(statement, s.Merge):
                detect = "cell" if statement.detect == "cell" else "row"
                found = ours.conflicts(statement.theirs, detect=detect)
                if found and all(one.kind == "row" for one in found):
                    told = [(one.row, str(one.theirs)) for one in found]
                    self.check("each conflict once", sorted(set(told)), sorted(told))
                    self.settle(branch, statement.theirs, detect, sorted({one.row for one in found}))
        except AnabranchError as error:
            self.told[-1] += f"  -- {type(error).__name__}"

    def settle(self, branch: str, theirs: str, detect: str, ids: list[int]) -> None:
        ours = self.lake.on(branch)
        sides, schema = self.by_side(branch, theirs, detect)
        origins = [origin(ours, id) for id in ids]
        wanted = {of: self.wish(schema, of, sides) for of in origins}
        given = [{ROW_ID: id, **(wanted[of] or {"_kind": "-D"})} for id, of in zip(ids, origins, strict=True)]
        self.told[-1] += f"  -- resolutions={given}"
        self.check("conflicts, one for each row", len(ids), len(wanted))

        report = ours.merge(theirs, detect=detect, resolutions={TABLE: given})
        self.check("is there a commit", True, report.commit is not None)
        found = rows(ours)
        self.check("rows in conflict", wanted, {of: found.get(of) for of in wanted})
        here = {of: row for of, row in found.items() if of not in wanted}
        for side, there in sides.items():
            alone = {of: row for of, row in there.items() if of not in wanted}
            self.check(f"rows that do not conflict, as RESOLVE USING {side.upper()} has them", alone, here)
        self.check("up to date", True, ours.merge(theirs, detect=detect).up_to_date)
        if "@" not in theirs:  # merges converge: theirs has what was settled, and nothing of it conflicts
            twin = self.twin(theirs)
            twin.merge(branch)
            self.check(f"rows of '{theirs}' after it has taken the merge", found, rows(twin))

    def by_side(self, branch: str, theirs: str, detect: str) -> tuple[dict[str, Rows], pa.Schema]:
        """What branches have that are ours, and take one side; and their columns."""
        found = {}
        for side in ("theirs", "ours"):
            twin = self.twin(branch)
            try:
                twin.merge(theirs, detect=detect, resolve=side)
            except MergeConflict as conflict:
                if side == "ours" or "MERGE INTO" not in str(conflict):  # which cannot be run on rows of ours
                    raise
            else:
                found[side] = rows(twin)
        return found, twin.table(TABLE).schema

    def twin(self, branch: str) -> anabranch.Lake:
        """A branch that is as this one."""
        self.twins += 1
        return self.lake.create_branch(f"twin{self.twins}", branch)

    def wish(self, schema: pa.Schema, of: int, sides: Mapping[str, Rows]) -> Row | None:
        """One side's row, another one, or none."""
        kind = self.choose.choice([*sides, "other", "none"])
        if kind in sides:
            return sides[kind].get(of)
        if kind == "none":
            return None
        known = next((side[of] for side in sides.values() if of in side), None)
        return {f.name: known[f.name] if known and self.choose.random() < 0.5 else self.value(f) for f in schema}

    def value(self, field: pa.Field) -> Any:
        if field.nullable and self.choose.random() < 0.2:
            return None
        value = self.choose.randint(0, 3)
        return float(value) if pa.types.is_floating(field.type) else value

    def check(self, what: str, expected: Any, found: Any) -> None:
        if expected != found:
            raise AssertionError(
                "\n".join([what, f"  expected: {expected}", f"  found:    {found}", "after", *self.told])
            )


def rows(lake: anabranch.Lake) -> Rows:
    """Each row once: no two have one origin."""
    found = read_table(plan_scan(lake._session.view(lake._session.table(("d", "t")))), ids=True).to_pylist()
    by_origin = {row.pop(ORIGIN): row for row in found}
    assert len(by_origin) == len(found), f"rows have one origin: {found}"
    for row in found:
        del row[ROW_ID]
    return by_origin


def origin(lake: anabranch.Lake, id: int) -> int:
    table, slot = lake._session.table(("d", "t")), id >> POSITION_BITS
    part = lake._session.catalog.parts(table.id, [slot])[slot]
    if not part.has_origin:
        return id
    return int(read_origins(lake._session.folder(table.id), part, TABLE)[id & ((1 << POSITION_BITS) - 1)])


@cache
def begun(beginning: str) -> Path:
    """The folder of a lake that has a script behind it; to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="oracle-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with anabranch.connect(folder / "lake", durability="process", author="oracle") as lake:
        for line in beginning.split(";"):
            lake.sql(line)
    return folder / "lake"


Say = Callable[[random.Random, anabranch.Lake, str, int], str]


def of_columns(choose: random.Random, lake: anabranch.Lake, branch: str, number: int) -> str:
    there = lake.on(branch).table(TABLE).schema.names
    return columns.statement(choose, branch, [label for label in there if label not in OUTSIDE], nested=False)


# name -> the beginning, the branches, and what a history is made of
KINDS: dict[str, tuple[str, tuple[str, ...], Say]] = {
    "rows": (brought.BEGINNING, brought.BRANCHES, lambda choose, _, *at: brought.statement(choose, *at)),
    "overwrites": (
        brought.BEGINNING,
        brought.BRANCHES,
        lambda choose, _, *at: brought.statement(choose, *at, brought.OVERWRITING),
    ),
    "partitions": (brought.PARTITIONED, brought.BRANCHES, lambda choose, _, *at: brought.of_partitions(choose, *at)),
    "columns": ("; ".join(columns.BEGINNING), columns.BRANCHES, of_columns),
}


@pytest.mark.parametrize("seed", HISTORIES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_as_the_resolutions_say(kind: str, seed: int, tmp_path: Path) -> None:
    beginning, branches, say = KINDS[kind]
    choose = random.Random(seed)
    history = Settled(shutil.copytree(begun(beginning), tmp_path / "lake"), beginning, choose)
    with history.lake as lake:
        for number in range(choose.randint(6, 16)):
            branch = choose.choice(branches)
            text = say(choose, lake, branch, number)
            if text.startswith("MERGE BRANCH"):  # both have something to say
                theirs = s.parse(text).theirs.partition("@")[0]
                for on in (branch, theirs, branch, theirs):
                    history.run(on, of_rows(say, choose, lake, on, number))
            history.run(branch, text)


def of_rows(say: Say, *at: Any) -> str:
    """A statement that changes rows."""
    while not (text := say(*at)).startswith(("UPDATE", "DELETE", "INSERT INTO")):
        pass
    return text
