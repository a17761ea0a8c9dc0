"""A model and a lake that live through the same statements, and are compared after each."""

import atexit
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

import anabranch
from anabranch.errors import AnabranchError, Conflict
from anabranch.model.conflict import ConflictRecord

from . import statements as s
from .model import Commit, Model, Refusal
from .state import same
from .told import Known, differences

TYPES = {"int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "double": "DOUBLE"}
Step = tuple[str, s.Statement]  # the branch that it runs on, and what it does

MERGES = hasattr(anabranch.Lake, "merge")
CHERRY_PICKS = hasattr(anabranch.Lake, "cherry_pick")
REVERTS = hasattr(anabranch.Lake, "revert")
REWRITES = hasattr(anabranch.Lake, "optimize")


def supported(statement: s.Statement) -> bool:
    """Does the library have it yet?"""
    missing = {s.Merge: MERGES, s.CherryPick: CHERRY_PICKS, s.Revert: REVERTS, s.Rewrite: REWRITES}
    return missing.get(type(statement), True)


class Pair:
    """Opened as `with Pair() as pair`; the lake is in a temporary folder. `pair.run("dev", statement)` compares.

    `beginning` is a script that both have behind them already.
    """

    _beginnings: ClassVar[dict[str, Path]] = {}  # lakes to copy: cheaper than making them each time

    def __init__(self, beginning: str = "") -> None:
        self.script: list[Step] = steps(beginning)
        self.model = Model()
        self.conflicts: Sequence[ConflictRecord] = ()  # the lake's, of the last statement
        for branch, statement in self.script:
            self.model.run(branch, statement)
        self.folder = Path(tempfile.mkdtemp(prefix="oracle-"))
        shutil.copytree(self._begun(beginning), self.folder / "lake")
        self.lake = anabranch.connect(self.folder / "lake", durability="process", author="oracle")

    @classmethod
    def _begun(cls, beginning: str) -> Path:
        if beginning not in cls._beginnings:
            folder = Path(tempfile.mkdtemp(prefix="oracle-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            with anabranch.connect(folder / "lake", durability="process", author="oracle") as lake:
                for branch, statement in steps(beginning):
                    lake.on(branch).sql(statement.sql)
            cls._beginnings[beginning] = folder / "lake"
        return cls._beginnings[beginning]

    def __enter__(self) -> "Pair":
        return self

    def __exit__(self, *_: object) -> None:
        self.lake.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self, branch: str, statement: s.Statement, *, compare: bool = True) -> bool:
        """Both accept, or both refuse; gives which."""
        statement = in_place(statement, branch, self.model)
        self.script.append((branch, statement))
        before = self.model.branches[branch].head if branch in self.model.branches else None
        told = self.told(branch, statement)
        planned = self.planned(branch, statement)
        expected = refused_by_model(self.model, branch, statement)
        found = refused_by_lake(self.lake, branch, statement, told)
        self.conflicts = found.conflicts if isinstance(found, Conflict) else ()
        if (expected is None) != (found is None):
            self.fail("accepted or refused", expected or "accepted", found or "accepted")
        if isinstance(found, Conflict):
            self.check_conflicts(branch, statement, found, planned)
        elif found is not None and self.model.conflicts:
            self.fail("conflict or other refusal", expected, found)
        if found is not None and not isinstance(found, AnabranchError):
            self.fail("an error of the library", expected, repr(found))
        if found is None and isinstance(statement, s.Merge | s.CherryPick | s.Revert):
            idle = self.model.branches[branch].head is before
            said = planned and (planned.up_to_date, list(planned.conflicts))
            self.check("up to date, as a dry run says", (idle, []), said)
        if branch in self.model.branches:
            self.follow(branch, statement, before)
            if compare:
                self.compare(branch)
        return found is None

    def planned(self, branch: str, statement: s.Statement) -> Any:
        """What a dry run says, where it says anything."""
        try:
            return merging(self.lake.on(branch), statement, dry_run=True)
        except AnabranchError:
            return None

    def follow(self, branch: str, statement: s.Statement, before: Commit | None) -> None:
        """A statement that changes nothing may make a version or not. (Of merges the law says it: not.)"""
        versions = self.model.branches[branch].versions
        merges = isinstance(statement, s.Merge | s.CherryPick | s.Revert)
        if merges or before is None or not same(before.state, versions[-1].state):
            return
        ahead = self.lake.on(branch).version - self.model.version(branch)
        if ahead == 1 and versions[-1] is before:
            self.model.commit(branch, self.model.idle)
        if ahead == -1 and versions[-2] is before:
            versions.pop()

    def check_conflicts(self, branch: str, statement: s.Statement, found: Conflict, planned: Any) -> None:
        """The same objects, rules and values (`told.py`), and a dry run has told them, too."""
        theirs = statement.theirs if isinstance(statement, s.Merge) else statement.ref
        heads = (self.model.branches[branch].head, self.model.commit_of(theirs))
        known = Known(commit.state for head in heads for commit in head.ancestors)
        replayed = not isinstance(statement, s.Merge)
        wrong = differences(self.model.conflicts, found.conflicts, known, self.shown_row, replayed=replayed)
        if wrong or not found.conflicts:
            self.fail("conflicts", "\n    ".join(map(str, self.model.conflicts)), "\n    ".join(wrong))
        self.check("conflicts of a dry run", list(found.conflicts), planned and list(planned.conflicts))

    def told(self, branch: str, statement: s.Statement) -> str:
        """What the lake is told, before either has done it."""
        return statement.sql

    def shown_schema(self, schema: pa.Schema) -> dict[str, Any]:
        return {part.name: (TYPES.get(str(part.type), str(part.type)), part.nullable) for part in schema}

    def shown_row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return row

    def shown_rows(self, rows: pa.Table) -> Counter:
        return counted(list(map(self.shown_row, rows.to_pylist())))

    # --- comparing ---------------------------------------------------------------------------------------------------

    def compare(self, branch: str) -> None:
        """Versions, names, schemas, properties, partitions and rows of one branch."""
        lake, state = self.lake.on(branch), self.model.state(branch)
        self.check(f"version of {branch}", self.model.version(branch), lake.version)
        self.check(f"databases on {branch}", names(d.name for d in state.databases.values()), names(lake.databases()))
        for database in state.databases.values():
            self.check(f"properties of {database.name}", database.properties, database_properties(lake, database.name))
        tables = {state.full_name(id): table for id, table in state.tables.items()}
        self.check(f"tables on {branch}", names(tables), names(lake.tables()))
        for name, table in tables.items():
            opened = lake.table(name)
            where = f"{name} on {branch}"
            schema = {column.label: (column.type, column.nullable) for column in table.columns}
            self.check(f"schema of {where}", schema, self.shown_schema(opened.schema))
            self.check(f"properties of {where}", table.properties, opened.properties)
            if table.partitioned_by is not None:
                found = {part.partition("=")[2] for part in opened.partitions()}
                expected = {"NULL" if value is None else str(value) for value in table.all_partitions}
                self.check(f"partitions of {where}", expected, found)
            self.check(f"rows of {where}", counted(self.model.rows(branch, name)), self.shown_rows(opened.to_arrow()))

    def compare_all(self) -> None:
        """Every branch, then every table at every version of every branch."""
        for branch in self.model.branches:
            self.compare(branch)
        for branch in self.model.branches:
            lake = self.lake.on(branch)
            for version in range(self.model.version(branch) + 1):
                state = self.model.state(branch, version)
                for id in state.tables:
                    name = state.full_name(id)
                    expected = counted(self.model.rows(branch, name, version))
                    found = self.shown_rows(lake.table(name, version=version).to_arrow())
                    self.check(f"rows of {name} on {branch} at version {version}", expected, found)

    def check(self, what: str, expected: Any, found: Any) -> None:
        if expected != found:
            self.fail(what, expected, found)

    def fail(self, what: str, expected: Any, found: Any) -> None:
        raise AssertionError(f"{what}\n  model: {shown(expected)}\n  lake:  {shown(found)}\nafter\n{text(self.script)}")


def refused_by_model(model: Model, branch: str, statement: s.Statement) -> Exception | None:
    try:
        model.run(branch, statement)
    except Refusal as refusal:
        return refusal
    return None


def refused_by_lake(lake: anabranch.Lake, branch: str, statement: s.Statement, told: str) -> Exception | None:
    try:
        if isinstance(statement, s.Merge | s.CherryPick | s.Revert):
            merging(lake.on(branch), statement)
        else:
            lake.on(branch).sql(told)
    except Exception as error:
        return error
    return None


def merging(lake: anabranch.Lake, statement: s.Statement, *, dry_run: bool = False) -> Any:
    """The report; None of anything that is no merge."""
    match statement:
        case s.Merge(theirs, resolve, detect):
            return lake.merge(theirs, resolve=resolve, detect=detect, dry_run=dry_run)
        case s.CherryPick(ref, resolve):
            return lake.cherry_pick(ref, resolve=resolve, dry_run=dry_run)
        case s.Revert(ref, resolve):
            return lake.revert(ref, resolve=resolve, dry_run=dry_run)
    return None


def database_properties(lake: anabranch.Lake, name: str) -> dict[str, str]:
    described = {row[0]: row[1] for row in lake.describe_database(name).collect()}
    return dict(pair.split("=") for pair in described["properties"].split(", ") if pair)


def names(found: Any) -> list[str]:
    return sorted(name.lower() for name in found)


def counted(rows: list[dict[str, Any]]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in rows)


def shown(thing: Any) -> str:
    if isinstance(thing, Counter):
        return str([dict(row) for row in sorted(thing.elements(), key=repr)])
    return str(thing)


def text(script: list[Step]) -> str:
    """The script as one would type it, and as `tests.oracle.pair.steps` reads it."""
    lines, on = [], "main"
    for branch, statement in script:
        if branch != on:
            lines.append(f"USE BRANCH {branch};")
            on = branch
        lines.append(f"{statement.sql};")
    return "\n".join(lines)


def steps(script: str, on: str = "main") -> list[Step]:
    """Reads what `text` wrote."""
    found = []
    for line in filter(None, (part.strip() for part in script.split(";"))):
        if line.startswith("USE BRANCH "):
            on = line.removeprefix("USE BRANCH ")
        else:
            found.append((on, s.parse(line)))
    return found


def in_place(statement: s.Statement, branch: str, model: Model) -> s.Statement:
    """Versions below one are counted back from the head, as far as there are any."""

    def absolute(version: int, of: str) -> int:
        return version if version > 0 or of not in model.branches else max(0, model.version(of) + version)

    given = {part.name: getattr(statement, part.name) for part in fields(statement)}
    if given.get("to") is not None:
        given["to"] = absolute(given["to"], branch)
    if given.get("version") is not None:
        given["version"] = absolute(given["version"], statement.source)
    for name in ("theirs", "ref"):
        of, at, version = given.get(name, "").partition("@")
        if at:
            given[name] = f"{of}@{absolute(int(version), of)}"
    return replace(statement, **given)


def agree(script: str) -> None:
    """Runs a script of SQL on model and lake. Shrunk failures become tests with this."""
    with Pair() as pair:
        for branch, statement in steps(script):
            pair.run(branch, statement)
        pair.compare_all()
