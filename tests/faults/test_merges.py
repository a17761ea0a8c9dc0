"""A merge whose target moves, whose branch goes away, or whose process is killed: all of it, or nothing."""

import multiprocessing
import os
import shutil
import signal
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

import anabranch
from anabranch.commands import merge_branch
from anabranch.errors import AnabranchError, CommitConflict, MergeConflict, NotFound, Refused
from tests.faults.conftest import files
from tests.faults.test_races import let_in
from tests.statements import watched
from tests.stories.telling import labels, one, rows, told

CELL = "MERGE BRANCH dev WITH (detect = 'cell')"


@pytest.fixture
def apart(lake):
    """Both sides changed row 1 in different cells (so a part is written), and dev has a column, a table, a database."""
    told(lake, "UPDATE d.t SET small = 7 WHERE id = 1", "UPDATE d.t@dev SET name = 'dev' WHERE id = 1")
    told(lake, "ALTER TABLE d.t@dev ADD COLUMN extra INT DEFAULT 3", "INSERT INTO d.p@dev VALUES (3, 'a')")
    told(lake, "CREATE TABLE d.new@dev (a INT)", "INSERT INTO d.new@dev VALUES (1)")
    lake.on("dev").sql("CREATE DATABASE fresh")
    return lake


def merged(lake) -> None:
    assert [(row[0], row[1], row[2], row[-1]) for row in rows(lake, "d.t")] == [(1, 7, "dev", 3), (2, None, None, 3)]
    assert (one(lake, "d.new"), "fresh" in lake.databases()) == ([1], True)
    assert rows(lake, "d.p") == [(1, "a"), (2, None), (3, "a")]


# --- the target moves -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "meanwhile",
    ["INSERT INTO d.one VALUES (5)", "CREATE TABLE d.other (a INT)", "ALTER TABLE d.p SET TBLPROPERTIES (a = 'b')"],
)
def test_a_merge_is_planned_again_on_the_new_head(apart, second, folder, monkeypatch, meanwhile):
    before, start = len(files(folder)), apart.version
    let_in(monkeypatch, apart, lambda: second.sql(meanwhile))
    told(apart, CELL)
    assert apart.version == start + 2
    merged(apart)
    written = 2 if meanwhile.startswith("INSERT") else 1
    assert len(files(folder)) == before + written  # the first attempt's part is gone
    assert apart.log(limit=1)[0].operation == "MERGE BRANCH"


@pytest.fixture
def plans(monkeypatch) -> list:
    """Whose merges were planned."""
    plan_merge, made = merge_branch.plan_merge, []

    def noted(session, *rest):
        made.append(session.shared)
        return plan_merge(session, *rest)

    monkeypatch.setattr(merge_branch, "plan_merge", noted)
    return made


MERGE, PICK, REVERT = "MERGE BRANCH dev WITH (detect = 'row')", "CHERRY PICK dev", "REVERT"
OTHERS = [
    # what theirs did, how it comes, what is committed to ours meanwhile, and how often the merge is planned
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "UPDATE d.p SET v = 3", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "INSERT OVERWRITE d.p VALUES (7, 'a')", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "ALTER TABLE d.p ADD COLUMN c INT", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "CREATE TABLE d.new (a INT)", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "DROP TABLE d.p", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "CREATE DATABASE more", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "ALTER DATABASE d SET DBPROPERTIES (a = 'b')", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "INSERT INTO d.one VALUES (2)", 1),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "DELETE FROM d.one", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "INSERT OVERWRITE d.one VALUES (2)", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "ALTER TABLE d.one RENAME TO d.two", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "ALTER TABLE d.one ADD COLUMN c INT DEFAULT 4", 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, PICK, 2),
    ("INSERT INTO d.one@dev VALUES (1)", MERGE, "MERGE BRANCH side", 1),
    ("INSERT INTO d.one@dev VALUES (1)", PICK, "INSERT INTO d.one VALUES (2)", 1),
    ("INSERT INTO d.one@dev VALUES (1)", PICK, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("INSERT INTO d.one@dev VALUES (1)", PICK, "DELETE FROM d.one", 2),
    ("UPDATE d.t@dev SET small = 5 WHERE id = 1", MERGE, "INSERT INTO d.t (id) VALUES (3)", 2),
    ("DELETE FROM d.t@dev WHERE id = 1", MERGE, "INSERT INTO d.t (id) VALUES (3)", 2),
    ("INSERT OVERWRITE d.p@dev VALUES (5, 'b')", MERGE, "INSERT INTO d.p VALUES (7, 'a')", 2),
    ("INSERT INTO d.keyed@dev VALUES (1, 5)", MERGE, "INSERT INTO d.keyed VALUES (2, 3)", 2),
    ("INSERT INTO d.keyed@dev VALUES (1, 5)", MERGE, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("ALTER TABLE d.one@dev RENAME TO d.two", MERGE, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("ALTER TABLE d.one@dev RENAME TO d.two", MERGE, "CREATE TABLE d.three (a INT)", 2),
    ("CREATE TABLE d.two@dev (a INT)", MERGE, "DROP TABLE d.p", 2),
    ("CREATE DATABASE more", MERGE, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("DROP DATABASE other", MERGE, "CREATE TABLE d.three (a INT)", 2),
    ("INSERT INTO d.one VALUES (1)", REVERT, "INSERT INTO d.p VALUES (7, 'a')", 1),
    ("INSERT INTO d.one VALUES (1)", REVERT, "INSERT INTO d.one VALUES (2)", 2),
    ("UPDATE d.t SET small = 5", REVERT, "INSERT INTO d.t (id) VALUES (3)", 2),
]


@pytest.mark.parametrize(("done", "how", "meanwhile", "planned"), OTHERS, ids=[" | ".join(c[:3]) for c in OTHERS])
def test_a_plan_holds_where_nothing_came_in_its_way(
    lake, folder, tmp_path, monkeypatch, plans, done, how, meanwhile, planned
):
    """And what comes of it is what comes of one after the other."""
    told(lake, "CREATE TABLE d.keyed (id INT, v INT, PRIMARY KEY (id))", "INSERT INTO d.one VALUES (0)")
    told(lake, "MERGE BRANCH main TO dev", "CREATE BRANCH side", "INSERT INTO d.t@side (id) VALUES (6)")
    (lake if "@dev" in done or how == REVERT else lake.on("dev")).sql(done)
    how, meanwhile = (text.replace(PICK, f"{PICK}@{lake.on('dev').version}") for text in (how, meanwhile))
    statement = f"REVERT {lake.version}" if how == REVERT else how
    lake.close()
    ends = []
    for order in ("meanwhile", "before"):
        path = Path(shutil.copytree(folder, tmp_path / order))
        with anabranch.connect(path, create=False) as first, anabranch.connect(path, create=False) as second:
            if order == "before":
                second.sql(meanwhile)
            else:
                let_in(monkeypatch, first, lambda second=second: second.sql(meanwhile))
            first.sql(statement)
            if order == "meanwhile":
                assert plans.count(first._session.shared) == planned
            ends.append(end_of(first))
    assert ends[0] == ends[1]


def end_of(lake) -> tuple:
    """What a lake shows, and what its last commit did."""
    last, head = lake.log(limit=1)[0], lake._session.head()
    done = [(c.kind, c.operation) for _, c in lake._session.catalog.changes(head, head.version - 1)]
    shown = {name: (labels(lake, name), rows(lake, name)) for name in lake.tables()}
    return shown, lake.databases(), head, last.operation, last.merged, done


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("UPDATE d.t SET small = 5 WHERE id = 1", "UPDATE d.t SET small = 6 WHERE id = 1"),
        ("DROP DATABASE other", "ALTER DATABASE other SET DBPROPERTIES (a = 'b')"),  # settled by a commit of no change
    ],
)
def test_what_another_merge_settled_meanwhile_is_not_brought_again(lake, second, monkeypatch, ours, theirs):
    told(lake, ours)
    lake.on("dev").sql(theirs)
    before = lake.version, lake.databases(), rows(lake, "d.t")
    let_in(monkeypatch, lake, lambda: second.sql("MERGE BRANCH dev RESOLVE USING OURS WITH (detect = 'row')"))
    merged = lake.merge("dev", detect="row", resolve="theirs")
    assert (merged.commit, merged.up_to_date) == (None, True)
    assert (lake.version - 1, lake.databases(), rows(lake, "d.t")) == before


def test_rows_that_come_meanwhile_are_met(apart, second, monkeypatch):
    let_in(monkeypatch, apart, lambda: second.sql("INSERT INTO d.p VALUES (9, 'z')"))
    told(apart, CELL)
    assert rows(apart, "d.p") == [(1, "a"), (2, None), (3, "a"), (9, "z")]


@pytest.mark.parametrize(
    ("meanwhile", "rule"),
    [
        ("UPDATE d.t SET name = 'main' WHERE id = 1", "update/update of name"),
        ("DELETE FROM d.t WHERE id = 1", "update/delete"),
        ("DROP TABLE d.p", "drop"),
        ("CREATE TABLE d.new (b INT)", "names"),
        ("CREATE DATABASE fresh", "names"),
        ("ALTER TABLE d.t ADD COLUMN extra STRING", "added"),
    ],
)
def test_a_conflict_that_comes_meanwhile_refuses_the_merge_whole(apart, second, print_of, monkeypatch, meanwhile, rule):
    seen = {}

    def then():
        second.sql(meanwhile)
        seen.update(print_of(second))

    theirs = apart.on("dev").version
    let_in(monkeypatch, apart, then)
    with pytest.raises(MergeConflict) as caught:
        told(apart, CELL)
    assert rule in {conflict.rule for conflict in caught.value.conflicts}
    with anabranch.connect(apart._session.shared.files.url, create=False) as fresh:
        now = print_of(fresh)
    seen["files"] = [name for name in seen["files"] if name in now["files"]]  # less the part of the first attempt
    assert now == seen
    assert apart.on("dev").version == theirs


def test_a_resolution_that_fits_no_more_is_refused(apart, second, monkeypatch):
    told(apart, "UPDATE d.t SET name = 'main' WHERE id = 1")
    (conflict,) = apart.conflicts("dev", detect="row")
    wanted = {**conflict.ours, "name": "both", "_row_id": conflict.row}
    let_in(monkeypatch, apart, lambda: second.sql("ALTER TABLE d.t DROP COLUMN price"))
    with pytest.raises(AnabranchError, match="unknown 'price'"):
        apart.merge("dev", resolutions={"d.t": [wanted]})
    assert labels(apart, "d.t") == ["id", "small", "name", "s"]


def test_theirs_moves_and_the_rest_comes_with_the_next_merge(apart, second, monkeypatch):
    let_in(monkeypatch, apart, lambda: second.sql("INSERT INTO d.new@dev VALUES (2)"))
    told(apart, CELL)
    merged(apart)
    told(apart, CELL)
    assert one(apart, "d.new") == [1, 2]


def test_theirs_is_dropped_while_it_is_merged(apart, second, monkeypatch):
    let_in(monkeypatch, apart, lambda: second.drop_branch("dev"))
    told(apart, CELL)  # what it had when the merge began is there
    merged(apart)
    with pytest.raises(NotFound):
        told(apart, CELL)


def test_the_target_is_dropped_while_it_is_merged_into(apart, second, monkeypatch, plans):
    other = apart.create_branch("other")
    let_in(monkeypatch, other, lambda: second.drop_branch("other"))
    with pytest.raises(CommitConflict, match="'other' was dropped meanwhile"):
        other.merge("dev", detect="cell")
    assert len(plans) == 1
    with pytest.raises(Refused, match="dropped"):
        other.sql(CELL)
    with pytest.raises(NotFound):
        apart.merge("dev", into="other")


def test_a_target_that_never_rests(apart, second, folder, monkeypatch, plans):
    """Where its head cannot be held."""
    catalog = apart._session.catalog
    commit = catalog.commit

    def late(request, *rest):
        told(second, "UPDATE d.t SET small = 3 WHERE id = 2")
        return commit(request, *rest)

    before, start = len(files(folder)), second.version
    monkeypatch.setattr(catalog, "commit", late)
    monkeypatch.setattr(catalog, "holding", lambda branch_id: nullcontext())
    with pytest.raises(CommitConflict, match=r"'main' kept moving during MERGE BRANCH: table d\.t: update") as caught:
        told(apart, CELL)
    (conflict,) = caught.value.conflicts
    assert (conflict.object, conflict.kind, conflict.theirs) == ("table d.t", "table", "MERGE BRANCH")
    assert conflict.ours == f"update in version {second.version}"
    assert len(plans) == second.version - start
    assert len(files(folder)) == before + len(plans)  # those of the updates alone
    assert second.tables() == ["d.one", "d.p", "d.t"]


def test_the_last_try_is_in_nobodys_way_who_waits_for_it(apart, second, monkeypatch):
    """A thread of the same lake reserves slots, and waits for the head's holder."""
    catalog, shared = apart._session.catalog, apart._session.shared
    holding, waiting = catalog.holding, []

    @contextmanager
    def while_reserving(branch_id):
        with holding(branch_id):
            waiting.append(threading.Thread(target=apart._session.next_slot, args=(apart.table("d.t").id,)))
            shared.slots.clear()
            waiting[0].start()
            waiting[0].join(0.1)
            assert waiting[0].is_alive()
            yield

    monkeypatch.setattr(merge_branch, "_TRIES", 1)
    monkeypatch.setattr(catalog, "holding", while_reserving)
    told(apart, CELL)
    waiting[0].join()
    merged(apart)


# --- the process is killed --------------------------------------------------------------------------------------------


def killed_at(folder: str, statement: str, step: int, steps) -> None:
    """Merges in a process of its own, which is killed right before its n-th step: a file is finished, a statement
    writes to the catalog, a transaction ends; or after all of it."""
    from anabranch.storage.files import Files

    def strike(told: str = "") -> None:
        if told.startswith("SELECT"):
            return
        steps.value += 1
        if steps.value == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with anabranch.connect(folder, create=False, durability="process") as lake:
        settle = Files.settle
        Files.settle = lambda *args, **kwargs: (strike(), settle(*args, **kwargs))[1]
        with watched(strike):
            lake.sql(statement)
            strike()


def run_killed(folder: Path, statement: str, step: int) -> int:
    """Gives the number of steps until then."""
    context = multiprocessing.get_context("forkserver")
    # With all that a statement would import: that takes longer than the statement.
    context.set_forkserver_preload(["tests.faults.test_merges", "anabranch.sql.run", "sqlalchemy", "pandas"])
    steps = context.Value("i", 0)
    child = context.Process(target=killed_at, args=(str(folder), statement, step, steps))
    child.start()
    child.join(60)
    assert child.exitcode == (-signal.SIGKILL if step else 0)
    return steps.value


KILLED = {
    # what came before, the statement, and row 1 with the tables that are there when it is done
    "MERGE BRANCH": ([], CELL, (7, "dev", 3), ["d.new", "d.one", "d.p", "d.t"]),
    "CHERRY PICK": ([], "CHERRY PICK dev@8 WITH (detect = 'cell')", (7, "dev"), ["d.one", "d.p", "d.t"]),
    "REVERT": ([CELL], "REVERT 9", (7, "a"), ["d.one", "d.p", "d.t"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("first", "statement", "row", "tables"), KILLED.values(), ids=KILLED)
def test_what_is_killed_between_any_two_steps_is_done_or_not_begun(
    apart, folder, tmp_path, first, statement, row, tables
):
    """And it can be said again, which does it, or nothing."""
    told(apart, *first)
    assert apart.version == 8 + len(first)
    before, theirs = seen(apart), apart.on("dev").version
    apart.close()
    whole = Path(shutil.copytree(folder, tmp_path / "whole"))
    total = run_killed(whole, statement, 0)
    assert total >= 10
    with anabranch.connect(whole, create=False) as lake:
        after = seen(lake)
        assert (after[0], lake.tables()) == (before[0] + 1, tables)
        assert next((small, name, *more) for _, small, name, _, _, *more in rows(lake, "d.t")) == row
    ends = []
    for step in range(1, total + 1):
        copy = Path(shutil.copytree(folder, tmp_path / f"killed{step}"))
        assert run_killed(copy, statement, step) == step
        with anabranch.connect(copy, create=False) as lake:
            ends.append(seen(lake))
            told(lake, statement)
            assert seen(lake) == after
            assert lake.on("dev").version == theirs
        shutil.rmtree(copy)
    assert ends == [before] * ends.count(before) + [after] * ends.count(after)
    assert before in ends
    assert after in ends


def seen(lake) -> list:
    return [
        lake.version,
        lake.databases(),
        *((table, labels(lake, table), rows(lake, table)) for table in lake.tables()),
    ]
