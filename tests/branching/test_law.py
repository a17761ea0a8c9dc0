"""The law's tables, cell by cell against the page."""

import pytest

from anabranch.branching.law import APPEND_TABLES, DATABASES, RULES, cell

DATABASE_PAGE = """
theirs           | drop | rename | set properties | unset properties
drop             | -    | -      | -              | -
rename           | X    | -      | -              | -
set properties   | X    | -      | -              | -
unset properties | X    | -      | -              | same property
"""

APPEND_TABLE_PAGE = """
theirs     | drop | rename | properties | column | partition | insert | delete | update | overwrite | compaction
drop       | -    | -      | -          | -      | -         | -      | -      | -      | -         | -
rename     | X    | -      | -          | -      | -         | -      | -      | -      | -         | -
properties | X    | -      | A0         | -      | -         | -      | -      | -      | -         | -
column     | X    | -      | -          | A6     | -         | -      | -      | -      | -         | -
partition  | X    | -      | -          | -      | A7        | -      | -      | -      | -         | -
insert     | X    | -      | -          | -      | -         | -      | -      | -      | -         | -
delete     | X    | -      | -          | -      | -         | X      | A2     | -      | A5        | -
update     | X    | -      | -          | -      | -         | X      | A1     | A3     | A4        | -
overwrite  | X    | -      | -          | -      | -         | -      | -      | -      | -         | -
compaction | A8   | -      | -          | -      | -         | -      | -      | -      | -         | -
"""


def cells(page):
    header, *rows = [[word.strip() for word in line.split("|")] for line in page.strip().splitlines()]
    return [
        (theirs, ours, verdict)
        for theirs, *verdicts in rows
        for ours, verdict in zip(header[1:], verdicts, strict=True)
    ]


def test_the_pages_are_whole():
    assert len(cells(DATABASE_PAGE)) == len(DATABASES) == 4 * 4
    assert len(cells(APPEND_TABLE_PAGE)) == len(APPEND_TABLES) == 10 * 10


@pytest.mark.parametrize(("theirs", "ours", "verdict"), cells(DATABASE_PAGE))
def test_databases(theirs, ours, verdict):
    assert cell(DATABASES, theirs, ours) == verdict


@pytest.mark.parametrize(("theirs", "ours", "verdict"), cells(APPEND_TABLE_PAGE))
def test_append_tables(theirs, ours, verdict):
    assert cell(APPEND_TABLES, theirs, ours) == verdict


def test_every_rule_of_the_tables_has_a_sentence():
    named = {*DATABASES.values(), *APPEND_TABLES.values()} - {"-", "X"}
    assert named <= RULES.keys()
    assert {f"A{n}" for n in range(9)} | {"A6.1", "A6.2", "A6.3"} <= RULES.keys()


def test_an_operation_that_the_law_does_not_know_is_an_error():
    with pytest.raises(KeyError):
        cell(APPEND_TABLES, "create", "drop")
    with pytest.raises(TypeError):
        APPEND_TABLES["drop", "drop"] = "X"
