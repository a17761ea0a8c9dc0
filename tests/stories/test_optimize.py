"""OPTIMIZE: other files, the same rows, whoever looks and from wherever."""

import multiprocessing

import pytest

import anabranch
from anabranch.errors import CommitConflict, NotFound
from tests.stories.telling import one, rows, told


@pytest.fixture
def small(any_lake):
    """d.t with six rows in three parts, one row dead and one updated."""
    told(any_lake, "CREATE TABLE d.t (id INT, v STRING)")
    told(any_lake, *(f"INSERT INTO d.t VALUES ({i}, 'a'), ({i + 1}, 'b')" for i in (1, 3, 5)))
    told(any_lake, "DELETE FROM d.t WHERE id = 2", "UPDATE d.t SET v = 'z' WHERE id = 3")
    return any_lake


def parts(lake, name="d.t"):
    return int(next(row[1] for row in told(lake, f"DESCRIBE EXTENDED {name}") if row[0] == "# parts"))


def test_many_parts_become_one_and_no_row_changes(small):
    before = rows(small, "d.t")
    assert parts(small) == 4
    told(small, "OPTIMIZE d.t")
    assert (parts(small), rows(small, "d.t")) == (1, before)
    assert small.log(limit=1)[0].operation == "OPTIMIZE"


def test_nothing_to_do_is_no_commit(small):
    told(small, "OPTIMIZE d.t")
    version = small.version
    assert told(small, "OPTIMIZE d.t") == [(0, 0, 0, 0)]
    assert small.version == version


def test_rows_are_deleted_and_updated_in_rewritten_parts(small):
    told(small, "OPTIMIZE d.t", "DELETE FROM d.t WHERE id = 4", "UPDATE d.t SET v = 'y' WHERE id IN (3, 6)")
    assert rows(small, "d.t") == [(1, "a"), (3, "y"), (5, "a"), (6, "y")]
    told(small, "OPTIMIZE d.t")
    assert rows(small, "d.t") == [(1, "a"), (3, "y"), (5, "a"), (6, "y")]


def test_every_version_reads_as_before(small):
    before = {version: rows(small, "d.t", version) for version in range(2, small.version + 1)}
    told(small, "OPTIMIZE d.t", "DELETE FROM d.t WHERE id = 5", "OPTIMIZE d.t")
    assert {version: rows(small, "d.t", version) for version in before} == before


def test_restore_brings_back_rows_that_a_rewrite_left_out(small):
    told(small, "OPTIMIZE d.t", "RESTORE TABLE d.t TO VERSION 5")
    assert one(small, "d.t") == [1, 2, 3, 4, 5, 6]


def test_restore_brings_back_a_column_that_a_rewrite_left_out(small):
    version = small.version
    told(small, "ALTER TABLE d.t DROP COLUMN v", "OPTIMIZE d.t", f"RESTORE TABLE d.t TO VERSION {version}")
    assert rows(small, "d.t") == [(1, "a"), (3, "z"), (4, "b"), (5, "a"), (6, "b")]


def test_a_type_that_was_widened_before_the_rewrite_reads_as_it_was(small):
    version = small.version
    told(small, "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT", "OPTIMIZE d.t")
    assert str(small.table("d.t", version=version).to_arrow().schema.field("id").type) == "int32"
    assert one(small, "d.t", version) == one(small, "d.t") == [1, 3, 4, 5, 6]


def test_partitions_are_not_mixed(any_lake):
    told(any_lake, "CREATE TABLE d.p (k STRING, v INT) PARTITIONED BY (k)")
    told(any_lake, *(f"INSERT INTO d.p VALUES ('a', {i}), ('b', {i}), (NULL, {i})" for i in range(3)))
    told(any_lake, "OPTIMIZE d.p", "ALTER TABLE d.p DROP PARTITION (k = 'a')")
    assert parts(any_lake, "d.p") == 2
    assert rows(any_lake, "d.p") == [(None, 0), (None, 1), (None, 2), ("b", 0), ("b", 1), ("b", 2)]


def test_branches_read_a_rewrite_of_their_parent_where_it_fits(small):
    told(small, "CREATE BRANCH dev", "OPTIMIZE d.t")
    assert parts(small, "d.t@dev") == 1
    told(small, "DELETE FROM d.t@dev WHERE id = 1", "RESTORE TABLE d.t TO VERSION 5")
    assert one(small, "d.t@dev") == [3, 4, 5, 6]


@pytest.mark.parametrize("detect", ["file", "row", "cell"])
@pytest.mark.parametrize("where", ["", "@dev", "both"])
def test_merges_do_not_notice_rewrites(small, where, detect):
    """The same rows and the same answer as without, and theirs' new parts in one piece afterwards."""
    told(small, "CREATE BRANCH dev")
    told(small, "INSERT INTO d.t@dev VALUES (7, 'd')", "INSERT INTO d.t VALUES (8, 'm')")
    told(small, "UPDATE d.t@dev SET v = 'dev' WHERE id = 4")
    for name in {"both": ["d.t", "d.t@dev"]}.get(where, [f"d.t{where}"]):
        told(small, f"OPTIMIZE {name}")
    if detect == "file":
        told(small, "DELETE FROM d.t WHERE id = 8")  # what ours inserted would conflict with theirs' update
    told(small, f"MERGE BRANCH dev WITH (detect = '{detect}')")
    expected = [(1, "a"), (3, "z"), (4, "dev"), (5, "a"), (6, "b"), (7, "d")]
    assert rows(small, "d.t") == expected + ([] if detect == "file" else [(8, "m")])


def test_a_branch_that_only_compacted_is_up_to_date(small):
    told(small, "CREATE BRANCH dev", "OPTIMIZE d.t@dev")
    version = small.version
    assert {row.status for row in small.sql("MERGE BRANCH dev")} == {"up to date"}
    assert small.version == version


def test_theirs_rewrite_is_read_on_ours_after_the_merge(small):
    told(small, "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (7, 'd')", "OPTIMIZE d.t@dev", "MERGE BRANCH dev")
    assert parts(small) == 1
    assert one(small, "d.t") == [1, 3, 4, 5, 6, 7]


def test_diff_and_sections_do_not_notice_rewrites(small):
    told(small, "CREATE BRANCH dev", "UPDATE d.t@dev SET v = 'dev' WHERE id = 4")
    before = told(small, "DIFF main dev TABLE d.t"), told(small, "DESCRIBE SECTIONS d.t@dev")
    told(small, "OPTIMIZE d.t@dev", "OPTIMIZE d.t")
    assert (told(small, "DIFF main dev TABLE d.t"), told(small, "DESCRIBE SECTIONS d.t@dev")) == before


def test_cherry_pick_and_revert_of_a_rewrite_change_nothing(small):
    told(small, "CREATE BRANCH dev", "OPTIMIZE d.t@dev")
    before = rows(small, "d.t")
    told(small, f"CHERRY PICK dev@{small.on('dev').version}")
    told(small.on("dev"), f"REVERT {small.on('dev').version}")
    assert rows(small, "d.t") == rows(small, "d.t@dev") == before


def test_a_table_that_is_not_there(any_lake):
    with pytest.raises(NotFound, match=r"d\.missing"):
        any_lake.optimize("d.missing")


# --- beside writers ---------------------------------------------------------------------------------------------------


def _beside(lake, monkeypatch, *statements):
    """Runs statements after OPTIMIZE has written its parts and before it commits."""
    from anabranch.commands.session import Session

    commit = Session.commit

    def late(self, base, operation, *args, **kwargs):
        if operation == "OPTIMIZE":
            monkeypatch.setattr(Session, "commit", commit)
            told(lake.on("main"), *statements)
        return commit(self, base, operation, *args, **kwargs)

    monkeypatch.setattr(Session, "commit", late)


CHANGES = {
    "INSERT INTO d.t VALUES (7, 'n')": [1, 3, 4, 5, 6, 7],
    "DELETE FROM d.t WHERE id = 4": [1, 3, 5, 6],
    "UPDATE d.t SET id = 40 WHERE id = 4": [1, 3, 5, 6, 40],
    "TRUNCATE TABLE d.t": [],
    "INSERT OVERWRITE d.t VALUES (9, 'o')": [9],
    "RESTORE TABLE d.t TO VERSION 5": [1, 2, 3, 4, 5, 6],
    "ALTER TABLE d.t RENAME COLUMN v TO w": [1, 3, 4, 5, 6],
    "ALTER TABLE d.t ALTER COLUMN id TYPE BIGINT": [1, 3, 4, 5, 6],
    "OPTIMIZE d.t": [1, 3, 4, 5, 6],
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_others_commit_meanwhile_stays(small, monkeypatch, change):
    _beside(small, monkeypatch, change)
    told(small, "OPTIMIZE d.t")
    assert one(small, "d.t") == CHANGES[change]


def test_a_rewrite_of_a_table_that_was_dropped_is_refused(small, monkeypatch):
    _beside(small, monkeypatch, "DROP TABLE d.t")
    with pytest.raises((CommitConflict, NotFound)):
        small.sql("OPTIMIZE d.t")
    assert small.tables() == []


def _writes(folder, worker, count):
    with anabranch.connect(folder, durability="process") as lake:
        for i in range(count):
            if worker == "optimize":
                lake.sql("OPTIMIZE d.t")
            else:
                lake.sql(f"INSERT INTO d.t VALUES ({worker * 1000 + i}, 'w')")
                lake.sql(f"UPDATE d.t SET v = 'u' WHERE id = {worker * 1000 + i}")
                if i % 2:
                    lake.sql(f"DELETE FROM d.t WHERE id = {worker * 1000 + i}")


def test_writers_and_a_rewriter_at_once_lose_nothing(lake, tmp_path):
    told(lake, "CREATE TABLE d.t (id INT, v STRING)")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_writes, args=(tmp_path / "lake", w, 10)) for w in (1, 2, "optimize")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert rows(lake, "d.t") == [(w * 1000 + i, "u") for w in (1, 2) for i in range(0, 10, 2)]
