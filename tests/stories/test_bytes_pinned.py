"""What each branch keeps on disk, by SHOW BRANCHES, against the sizes of the files themselves."""

import pytest

from tests.stories.telling import told


class Disk:
    """The files of a lake. `new()`: the bytes of those that came since it was asked last."""

    def __init__(self, folder):
        self.folder, self.known = folder, set()

    def new(self):
        files = set(self.folder.glob("data/**/*.parquet"))
        came, self.known = files - self.known, files
        return sum(file.stat().st_size for file in came)


def pinned(lake):
    return {row.branch: row.bytes_pinned for row in lake.sql("SHOW BRANCHES")}


@pytest.fixture
def disk(any_lake, tmp_path):
    told(any_lake, "CREATE TABLE d.t (id INT, v STRING)")
    return Disk(tmp_path / "lake")


def test_each_branch_pins_what_its_commits_wrote(any_lake, disk):
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')", "CREATE BRANCH dev")
    main = disk.new()
    assert pinned(any_lake) == {"main": main, "dev": 0}

    told(any_lake, "INSERT INTO d.t@dev VALUES (4, 'd')", "UPDATE d.t@dev SET v = 'x' WHERE id = 1")
    dev = disk.new()
    told(any_lake, "INSERT INTO d.t VALUES (5, 'a longer text')", "DELETE FROM d.t WHERE id = 2")
    main += disk.new()
    assert pinned(any_lake) == {"main": main, "dev": dev}

    told(any_lake, "CREATE BRANCH kid FROM dev", "INSERT INTO d.t@kid VALUES (6, 'f'), (7, 'g')")
    kid = disk.new()
    told(any_lake, "INSERT INTO d.t@dev VALUES (8, 'h')")
    dev += disk.new()
    assert pinned(any_lake) == {"main": main, "dev": dev, "kid": kid}


@pytest.mark.parametrize("branch", ["main", "dev"])
def test_compaction_changes_nothing(any_lake, disk, branch):
    """The parts that were written stay: a merge may need them. Those that replace them are the table's."""
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a')", "INSERT INTO d.t VALUES (2, 'b')", "CREATE BRANCH dev")
    main = disk.new()
    told(any_lake, "INSERT INTO d.t@dev VALUES (3, 'c')", "DELETE FROM d.t@dev WHERE id = 1")
    dev = disk.new()
    told(any_lake, f"USE BRANCH {branch}", "OPTIMIZE d.t")
    assert disk.new() > 0
    assert pinned(any_lake) == {"main": main, "dev": dev}


def test_what_is_merged_counts_once_the_branch_is_gone(any_lake, disk):
    """As long as both have it, dropping one of them would free nothing."""
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a')", "CREATE BRANCH dev")
    main = disk.new()
    told(any_lake, "INSERT INTO d.t@dev VALUES (2, 'b')", "MERGE BRANCH dev")
    merged = disk.new()
    assert pinned(any_lake) == {"main": main, "dev": 0}
    told(any_lake, "INSERT INTO d.t@dev VALUES (3, 'c')")
    assert pinned(any_lake) == {"main": main, "dev": disk.new()}
    told(any_lake, "DROP BRANCH dev")
    assert pinned(any_lake) == {"main": main + merged}


def test_what_was_removed_is_still_pinned(any_lake, disk):
    """Earlier versions read it."""
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a')", "CREATE BRANCH dev")
    main = disk.new()
    told(any_lake, "INSERT OVERWRITE d.t@dev VALUES (2, 'b')", "TRUNCATE TABLE d.t@dev", "DROP TABLE d.t@dev")
    assert pinned(any_lake) == {"main": main, "dev": disk.new()}


def test_a_dropped_branch_leaves_its_bytes_to_those_that_came_from_it(any_lake, disk):
    told(any_lake, "INSERT INTO d.t VALUES (1, 'a')", "CREATE BRANCH dev")
    main = disk.new()
    told(any_lake, "INSERT INTO d.t@dev VALUES (2, 'b')", "CREATE BRANCH kid FROM dev")
    shared = disk.new()
    told(any_lake, "INSERT INTO d.t@dev VALUES (3, 'after the fork')")
    dev = shared + disk.new()
    told(any_lake, "INSERT INTO d.t@kid VALUES (4, 'kid')", "CREATE BRANCH grandkid FROM kid")
    kid = disk.new()
    told(any_lake, "INSERT INTO d.t@grandkid VALUES (5, 'grandkid')")
    grandkid = disk.new()
    assert pinned(any_lake) == {"main": main, "dev": dev, "kid": kid, "grandkid": grandkid}

    told(any_lake, "DROP BRANCH dev")
    assert pinned(any_lake) == {"main": main, "kid": kid + shared, "grandkid": grandkid}
    told(any_lake, "DROP BRANCH kid")
    assert pinned(any_lake) == {"main": main, "grandkid": grandkid + kid + shared}
    told(any_lake, "MERGE BRANCH grandkid")
    assert pinned(any_lake) == {"main": main, "grandkid": 0}
    told(any_lake, "DROP BRANCH grandkid")
    assert pinned(any_lake) == {"main": main + grandkid + kid + shared}


def test_two_that_came_from_a_dropped_branch_share_it(any_lake, disk):
    told(any_lake, "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (1, 'a')")
    told(any_lake, "CREATE BRANCH one FROM dev", "CREATE BRANCH two FROM dev")
    dev = disk.new()
    assert pinned(any_lake) == {"main": 0, "dev": dev, "one": 0, "two": 0}
    told(any_lake, "DROP BRANCH dev")
    assert pinned(any_lake) == {"main": 0, "one": 0, "two": 0}
    told(any_lake, "DROP BRANCH one")
    assert pinned(any_lake) == {"main": 0, "two": dev}
