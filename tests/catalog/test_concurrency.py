"""Many writers at once: none lost, none twice, versions without gaps."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch.catalog import Catalog
from anabranch.errors import AlreadyExists, CommitConflict
from anabranch.model.history import Position
from anabranch.model.records import Change, DatabaseRecord, TableDelta
from tests.catalog.writer import admit_all, part, request

WRITERS, COMMITS = 8, 12


def append(catalog: Catalog) -> None:
    slot = catalog.reserve_slots("t", 1)
    base = catalog.resolve("main")
    catalog.state(base, "t")
    delta = TableDelta("t", (part(slot),))
    catalog.commit(request(base, deltas=(delta,), changes=(Change("table", "t", "insert"),)), admit_all)


def append_many(url: str) -> None:
    catalog = Catalog.open(url, create=False, durability="process")
    for _ in range(COMMITS):
        append(catalog)
    catalog.close()


def check(catalog: Catalog) -> None:
    head = catalog.resolve("main")
    assert head.version == WRITERS * COMMITS
    log = catalog.log(head)
    assert [commit.version for commit in log] == list(range(head.version, -1, -1))
    times = [commit.time_us for commit in log]
    assert times == sorted(set(times), reverse=True)
    assert sorted(catalog.state(head, "t").parts) == list(range(1, WRITERS * COMMITS + 1))


def test_threads(catalog: Catalog, reopen) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda _: append(catalog), range(WRITERS * COMMITS)))
    check(catalog)
    check(reopen())


def test_processes(catalog: Catalog, url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=append_many, args=(url,)) for _ in range(WRITERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    check(catalog)


@pytest.mark.parametrize("what", ["branch", "database"])
def test_one_of_many_gets_the_name(catalog: Catalog, what: str) -> None:
    def create(number: int) -> bool:
        try:
            if what == "branch":
                catalog.create_branch("dev" if number % 2 else "DEV", Position(1, 0))
            else:
                record = DatabaseRecord(f"id{number}", "d" if number % 2 else "D")
                catalog.commit(request(Position(1, 0), databases=(record,)), admit_all)
        except AlreadyExists:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(16))) == 1


def test_a_dropped_branch_and_its_writers(catalog: Catalog) -> None:
    """Every commit on it either precedes the drop or fails."""
    made = catalog.create_branch("dev", Position(1, 0))

    def write(number: int) -> int:
        if number == 20:
            catalog.drop_branch("dev")
            return 0
        try:
            catalog.commit(request(Position(made.id, 0)), admit_all)
        except CommitConflict:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        done = sum(pool.map(write, range(40)))
    assert catalog.branch_by_id(made.id).head == done
