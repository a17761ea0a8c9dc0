"""Model and lake live through the same random histories of a keyed table, and agree after every step."""

import pytest
from hypothesis import given, settings

from .keyed_histories import histories
from .pair import Step, agree
from .statements import ENGINES, properties
from .test_histories import FUZZ, live_through


@settings(FUZZ)
@given(histories)
def test_model_and_lake_agree(history: list[Step]) -> None:
    live_through(history)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script(engine: str) -> None:
    agree(f"""
        CREATE DATABASE d;
        CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ({properties(engine)});
        INSERT INTO d.t (k, a, b) VALUES (1, 1, 1), (2, 2, 2), (1, NULL, 3);
        CREATE BRANCH dev FROM main;
        UPDATE d.t SET a = 5 WHERE k = 1;
        OPTIMIZE d.t;
        USE BRANCH dev;
        UPDATE d.t SET b = b + 1 WHERE k = 1;
        DELETE FROM d.t WHERE k = 2;
        INSERT INTO d.t (k, a) VALUES (3, NULL);
        USE BRANCH main;
        MERGE BRANCH dev;
        MERGE BRANCH dev RESOLVE USING THEIRS;
        INSERT INTO d.t (k, b) VALUES (3, 3), (1, 1);
        REVERT main@6
    """)


BEGIN = """
    CREATE DATABASE d;
    CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine' = 'first-row');
    INSERT INTO d.t (k, a, b) VALUES (0, 0, 1);
    CREATE BRANCH dev FROM main;
"""


def test_a_flush_that_ours_had_and_took_away_is_not_picked_again() -> None:
    agree(BEGIN + "TRUNCATE TABLE d.t; INSERT INTO d.t (k, a, b) VALUES (3, NULL, NULL); CHERRY PICK main@3")


def test_a_revert_takes_away_what_its_commit_brought_and_nothing_older() -> None:
    agree(BEGIN + "TRUNCATE TABLE d.t; INSERT INTO d.t (k, a, b) VALUES (3, 1, 1); USE BRANCH dev; REVERT main@5")


def test_what_theirs_overwrote_is_theirs_whatever_the_order_of_flushes() -> None:
    """A flush that both have stands elsewhere on theirs, so its neighbours are looked at."""
    agree(f"""
        CREATE DATABASE d;
        CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ({properties("sequence")});
        INSERT INTO d.t (k, a, b) VALUES (2, NULL, 1);
        CREATE BRANCH exp FROM main;
        INSERT INTO d.t (k, b) VALUES (1, 3);
        INSERT INTO d.t (k, b) VALUES (0, 0);
        USE BRANCH exp;
        TRUNCATE TABLE d.t;
        INSERT INTO d.t (k, a, b) VALUES (0, 1, NULL);
        CHERRY PICK main@4;
        USE BRANCH main;
        MERGE BRANCH exp
    """)


PEOPLE = f"""
    CREATE DATABASE d;
    CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ({properties("deduplicate")});
    INSERT INTO d.t (k, a, b) VALUES (0, 1, 1);
    CREATE BRANCH dev FROM main;
    UPDATE d.t SET a = 3;
    USE BRANCH dev;
"""
"""main is at version 4 then, dev at 3."""


@pytest.mark.parametrize("take", ["MERGE BRANCH", "CHERRY PICK"])
def test_each_side_took_what_the_other_wrote(take: str) -> None:
    agree(f"""{PEOPLE} UPDATE d.t SET a = 2;
        USE BRANCH main; {take} dev@4 RESOLVE USING THEIRS; USE BRANCH dev; {take} main@4 RESOLVE USING THEIRS;
        MERGE BRANCH main; MERGE BRANCH main RESOLVE USING OURS; USE BRANCH main; MERGE BRANCH dev; MERGE BRANCH dev
    """)


@pytest.mark.parametrize("coming", ["USE BRANCH main; CHERRY PICK dev@5 RESOLVE USING THEIRS", "REVERT dev@4"])
def test_a_column_comes_back(coming: str) -> None:
    agree(f"{PEOPLE} ALTER TABLE d.t DROP COLUMN b; INSERT INTO d.t (k, a) VALUES (0, 2), (1, 1); {coming}")


def test_what_was_set_without_a_sequence_stays_set() -> None:
    agree(f"""
        CREATE DATABASE d;
        CREATE TABLE d.t (k INT NOT NULL, a INT, b INT, PRIMARY KEY (k)) TBLPROPERTIES ({properties("group")});
        INSERT INTO d.t (k, a, b) VALUES (1, 0, NULL);
        UPDATE d.t SET a = 5;
        OPTIMIZE d.t;
        INSERT INTO d.t (k, a) VALUES (1, 3);
        OPTIMIZE d.t;
        INSERT INTO d.t (k, a, b) VALUES (1, 4, 1), (2, 1, NULL)
    """)
