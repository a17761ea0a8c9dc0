"""The model itself against LAW.md: every case of `cases.py`, and what it says of statements alone."""

import pytest

from . import statements as s
from .cases import CASES, Case
from .model import Model, Refusal
from .pair import steps


def read_table(text: str) -> tuple[list[str], dict[str, str], list[tuple]]:
    """`k a:BIGINT b:INT! | 1 2 -`: labels, the types that are said (! is NOT NULL), sorted rows."""
    header, *lines = text.split(" | ")
    labels = [part.partition(":")[0] for part in header.split()]
    types = {part.partition(":")[0]: part.partition(":")[2] for part in header.split() if ":" in part}
    rows = [tuple(None if value == "-" else int(value) for value in line.split()) for line in lines]
    return labels, types, sorted(rows, key=repr)


def pairs(text: str) -> dict[str, str]:
    return dict(part.split("=") for part in text.split())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    model = Model()
    *before, (branch, last) = steps(case.script)
    for on, statement in before:
        model.run(on, statement)
    if case.conflict:
        untouched = model.branches[branch].head
        with pytest.raises(Refusal):
            model.run(branch, last)
        assert {found.rule for found in model.conflicts} == set(case.conflict.split())
        assert model.branches[branch].head is untouched
        return
    model.run(branch, last)
    state = model.state(branch)
    for name, expected in case.tables:
        id = state.table_id(name)
        assert (id is None) == (expected is None)
        if expected is not None:
            labels, types, rows = read_table(expected)
            found = {column.label: column for column in state.tables[id].columns}
            shown = {label: f"{found[label].type}{'' if found[label].nullable else '!'}" for label in types}
            assert shown == types
            assert sorted((tuple(row[label] for label in labels) for row in model.rows(branch, name)), key=repr) == rows
    for name, expected in case.properties:
        thing = state.tables[state.table_id(name)] if "." in name else state.databases[state.database_id(name)]
        assert thing.properties == pairs(expected)
    if case.databases is not None:
        assert sorted(database.name for database in state.databases.values()) == case.databases.split()
    if case.version is not None:
        assert model.version(branch) == case.version


def told(script: str) -> Model:
    model = Model()
    for branch, statement in steps(script):
        model.run(branch, statement)
    return model


def test_versions_continue_from_the_fork() -> None:
    model = told(
        "CREATE DATABASE d; CREATE TABLE d.t (k INT); CREATE BRANCH dev FROM main; USE BRANCH dev; DROP TABLE d.t"
    )
    assert (model.version("main"), model.version("dev")) == (2, 3)
    assert model.rows("dev", "d.t", version=2) == []


def test_rows_older_than_a_column_read_its_first_default() -> None:
    model = told(
        "CREATE DATABASE d; CREATE TABLE d.t (k INT); INSERT INTO d.t (k) VALUES (1);"
        "ALTER TABLE d.t ADD COLUMN c INT DEFAULT 5; ALTER TABLE d.t ALTER COLUMN c SET DEFAULT 6;"
        "INSERT INTO d.t (k) VALUES (2)"
    )
    assert model.rows("main", "d.t") == [{"k": 1, "c": 5}, {"k": 2, "c": 6}]


def test_restore_finds_the_name_as_of_the_version() -> None:
    model = told("CREATE DATABASE d; CREATE TABLE d.t (k INT); ALTER TABLE d.t RENAME TO d.u; CREATE TABLE d.t (z INT)")
    with pytest.raises(Refusal):
        model.run("main", s.RestoreTable("d.t", 2))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_statements_read_what_they_wrote(case: Case) -> None:
    for _, statement in steps(case.script):
        assert s.parse(statement.sql) == statement
