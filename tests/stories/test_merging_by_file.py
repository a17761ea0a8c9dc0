"""A merge by files reads no values: it does the same where the parts hold nothing but origins of rows."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch
from anabranch.errors import PartCorrupted
from anabranch.storage.parquet import ORIGIN
from tests.stories.telling import labels, rows, told

MERGE = "MERGE BRANCH dev WITH (detect = 'file')"
OURS, THEIRS = (MERGE.replace(" WITH", f" RESOLVE USING {side} WITH") for side in ("OURS", "THEIRS"))
CASES = {
    # what ours did, what theirs did, and the merge
    "rows of their own": (["INSERT INTO d.t VALUES (7, 7, 'c')"], ["INSERT INTO d.t VALUES (8, 8, 'c')"], MERGE),
    "rows of one part": (["INSERT INTO d.t VALUES (7, 7, 'c')"], ["DELETE FROM d.t WHERE id = 1"], OURS),
    "updates of two parts": (["UPDATE d.t SET n = 9 WHERE k = 'a'"], ["UPDATE d.t SET n = 8 WHERE k = 'b'"], MERGE),
    "an update and a delete": (["UPDATE d.t SET n = 9 WHERE id = 1"], ["DELETE FROM d.t WHERE id = 1"], MERGE),
    "a row updated twice": (
        ["UPDATE d.t SET n = 9 WHERE id = 1", "UPDATE d.t SET n = 10 WHERE n = 9"],
        ["UPDATE d.t SET n = 9 WHERE k = 'b'", "UPDATE d.t SET n = n + 1 WHERE k = 'b'"],
        MERGE,
    ),
    "a row that both updated, ours": (["UPDATE d.t SET n = 9"], ["UPDATE d.t SET n = 8 WHERE id = 1"], OURS),
    "a row that both updated, theirs": (["UPDATE d.t SET n = 9"], ["UPDATE d.t SET n = 8 WHERE id = 1"], THEIRS),
    "other columns": (
        ["ALTER TABLE d.t ADD COLUMN m INT DEFAULT 5", "UPDATE d.t SET m = 6 WHERE k = 'a'"],
        ["ALTER TABLE d.t ALTER COLUMN n TYPE BIGINT", "UPDATE d.t SET n = 5000000000 WHERE k = 'b'"],
        MERGE,
    ),
    "an overwrite": (
        ["UPDATE d.t SET n = 9 WHERE k = 'a'"],
        ["INSERT OVERWRITE d.t PARTITION (k = 'b') VALUES (5, 5)"],
        MERGE,
    ),
    "a RESTORE": (["DELETE FROM d.t WHERE id = 1"], ["DELETE FROM d.t WHERE k = 'b'", "RESTORE d.t"], MERGE),
    "a table of theirs": ([], ["CREATE TABLE d.u (a INT)", "INSERT INTO d.u VALUES (1), (2)"], MERGE),
}


@contextmanager
def without_values(folder: Path) -> Iterator[None]:
    """Meanwhile the parts have as many rows as before, and no column but the rows' origins."""
    whole = {path: path.read_bytes() for path in folder.rglob("*.parquet")}
    for path in whole:
        part = pq.read_table(path)
        origins = [name for name in part.column_names if name == ORIGIN]
        pq.write_table(part.select(origins) if origins else pa.table({"": pa.nulls(len(part))}), path)
    yield
    assert set(folder.rglob("*.parquet")) == set(whole)  # nor has it written any
    for path, data in whole.items():
        path.write_bytes(data)


@pytest.mark.parametrize(("ours", "theirs", "merge"), CASES.values(), ids=CASES)
def test_no_values_are_read(lake, tmp_path, ours, theirs, merge):
    told(lake, "CREATE TABLE d.t (id INT, n INT, k STRING) PARTITIONED BY (k)")
    told(lake, "INSERT INTO d.t VALUES (1, 1, 'a'), (2, 2, 'a'), (3, 3, 'b'), (4, 4, 'b')", "CREATE BRANCH dev")
    start = f"RESTORE TABLE d.t TO VERSION {lake.version}"
    told(lake, *ours)
    told(lake.on("dev"), *(start if text == "RESTORE d.t" else text for text in theirs))
    lake.close()
    stripped = Path(shutil.copytree(tmp_path / "lake", tmp_path / "stripped"))
    ways = "SHOW CONFLICTS IN dev WITH (detect = 'file')", merge.replace(" dev", " dev DRY RUN"), merge
    with anabranch.connect(tmp_path / "lake", create=False) as whole:
        expected = [told(whole, way) for way in ways], state(whole)
    with without_values(stripped), anabranch.connect(stripped, create=False) as bare:
        done = [told(bare, way) for way in ways]
        with pytest.raises(PartCorrupted):
            rows(bare, "d.t")
    with anabranch.connect(stripped, create=False) as whole:
        assert (done, state(whole)) == expected


def state(lake):
    return [(table, labels(lake, table), rows(lake, table)) for table in lake.tables()]
