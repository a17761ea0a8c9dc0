"""Every command without Spark: what it prints, and what it did."""

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from anabranch.cli import main
from tests.cli.conftest import Cli

Ids = Callable[..., list[int]]


# --- init -------------------------------------------------------------------------------------------------------------


def test_init_makes_a_lake_and_says_what_to_type_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my lake"]) == 0
    out = capsys.readouterr().out
    assert "A new lake in 'my lake', on branch main." in out
    assert "anabranch -l 'my lake' sql -c" in out
    assert main(["-l", "my lake", "log"]) == 0


def test_init_of_a_lake_changes_nothing(cli: Cli, folder: Path, ids: Ids) -> None:
    ran = cli("init", str(folder))
    assert (ran.code, ran.out) == (0, f"There is a lake in '{folder}' already.\n")
    assert ids() == [1, 2, 3]
    assert cli("init", "--json").json == {"lake": str(folder), "created": False, "branch": "main", "version": 4}


def test_init_does_not_take_over_a_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("…")
    ran = cli("init", str(tmp_path / "other"))
    assert ran.code == 1
    assert "holds other things. Choose an empty" in ran.err
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def test_init_makes_no_lake_that_it_cannot_open(cli: Cli, tmp_path: Path) -> None:
    ran = cli("init", "-b", "dev", str(tmp_path / "new"))
    assert ran.code == 2
    assert "leave out --branch, and create 'dev' in it." in ran.err
    assert not (tmp_path / "new").exists()
    assert cli("init", "-b", "main", str(tmp_path / "new")).code == 0


MISSING = (
    "it holds the data of one, but its catalog is missing. Restore 'catalog.db' from a backup; or name the catalog"
)


@pytest.mark.parametrize("left", [None, b""], ids=["no file", "an empty file"])
def test_a_lake_that_lost_its_catalog_is_not_made_anew(cli: Cli, folder: Path, left: bytes | None) -> None:
    (folder / "catalog.db").unlink()
    if left is not None:
        (folder / "catalog.db").write_bytes(left)
    for words in (["init"], ["log"], ["sql", "-c", "SHOW TAGS"]):
        ran = cli(*words)
        assert (ran.code, ran.out, MISSING in ran.err) == (1, "", True), words
    assert not (folder / "catalog.db").exists() or not (folder / "catalog.db").stat().st_size


def test_what_a_crash_left_of_init_can_be_initialised(cli: Cli, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    for name in ("catalog.db", "catalog.db.lock"):
        (begun / name).touch()
    assert cli("-l", str(begun), "log").code == 1
    assert cli("init", str(begun)).out.startswith("A new lake in ")


def test_what_is_said_of_a_folder_that_is_no_lake_can_be_done(cli: Cli, tmp_path: Path) -> None:
    other, empty = tmp_path / "other", tmp_path / "an empty one"
    empty.mkdir()
    (other / "data").mkdir(parents=True)
    assert f"it holds no catalog. Create one with `anabranch init '{empty}'`." in cli("-l", str(empty), "log").err
    ran = cli("-l", str(other), "log")
    assert ran.err.endswith("it holds other things. Name the lake's folder, or `anabranch init` a new one.\n")


def test_a_folder_that_may_not_be_read_is_told(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    for words in (["init"], ["log"]):
        assert cli(*words).err.endswith(
            "is not a lake: it cannot be read: Permission denied. Name a folder of your own.\n"
        )


# --- log and history --------------------------------------------------------------------------------------------------


def test_log_is_one_line_a_commit_with_the_names_that_stand_there(cli: Cli) -> None:
    cli("branch", "dev", "--at", "3")
    cli("tag", "empty", "--at", "2")
    lines = cli("log").lines
    assert [line.split()[0] for line in lines] == ["4", "3", "2", "1", "0"]
    assert lines[0].endswith("ada  INSERT           d.t: 1 row  (main)")
    assert lines[1].endswith("(dev)")
    assert lines[2].endswith("CREATE TABLE     d.t  (tag empty)")
    assert "(" not in lines[3]


@pytest.mark.parametrize(
    ("words", "versions"),
    [
        ([], [4, 3, 2, 1, 0]),
        (["-n", "2"], [4, 3]),
        (["-n", "0"], [4, 3, 2, 1, 0]),
        (["-n", "0", "--graph"], [4, 3, 2, 1, 0]),
        (["2"], [2, 1, 0]),
        (["main@1"], [1, 0]),
        (["empty"], [2, 1, 0]),
        (["dev"], [3, 2, 1, 0]),
        (["-b", "dev"], [3, 2, 1, 0]),
    ],
)
def test_log_of_a_ref(cli: Cli, words: list[str], versions: list[int]) -> None:
    cli("branch", "dev", "--at", "3")
    cli("tag", "empty", "--at", "2")
    assert [commit["version"] for commit in cli("log", "--json", *words).json] == versions
    assert len(cli("log", *words).lines) == len(versions)


def test_a_limit_of_0_is_none(cli: Cli) -> None:
    assert cli("history", "d.t", "-n", "0").lines == cli("history", "d.t").lines != []
    for command in ("log", "history", "diff", "merge", "conflicts", "cherry-pick", "revert", "sql"):
        assert "; 0 for all" in " ".join(cli(command, "--help").out.split())


def test_log_as_json_has_the_whole_commit(cli: Cli) -> None:
    newest = cli("log", "-n", "1", "--json").json[0]
    assert newest["branch"] == "main"
    assert newest["author"] == "ada"
    assert newest["operation"] == "INSERT"
    assert newest["parents"] == [{"branch": "main", "version": 3}]
    assert newest["time"].endswith("+00:00")
    assert f"id         {newest['id']}" in cli("log", "-n", "1", "--long").out


def test_history_is_of_one_table(cli: Cli) -> None:
    cli("sql", "-c", "CREATE TABLE d.other (a INT)")
    assert [commit["version"] for commit in cli("history", "d.t", "--json").json] == [4, 3, 2]
    assert len(cli("history", "d.t", "-n", "1").lines) == 1


# --- branch and tag ---------------------------------------------------------------------------------------------------


def test_branches_are_made_listed_renamed_and_dropped(cli: Cli) -> None:
    assert cli("branch", "dev").out == "branch dev at version 4\n"
    assert cli("branch", "old", "--from", "dev", "--at", "3").out == "branch old at version 3\n"
    assert cli("branch").lines == [
        "*  main  version 4",
        "   dev   version 4  from main@4",
        "   old   version 3  from dev@3   1 behind",
    ]
    assert cli("branch", "-b", "dev").lines[1].startswith("*  dev")
    assert cli("branch", "-m", "old", "older").out == "branch old is now older\n"
    assert cli("branch", "-d", "older").out == "branch older dropped\n"
    main, dev = cli("branch", "--json").json
    assert main.pop("bytes_pinned") > 0
    apart = {"ahead": None, "behind": None}
    assert main == {"current": True, "branch": "main", "parent": None, "fork": None, "head": 4} | apart
    apart = {"ahead": 0, "behind": 0, "bytes_pinned": 0}
    assert dev == {"current": False, "branch": "dev", "parent": "main", "fork": 4, "head": 4} | apart


def test_tags_are_made_listed_renamed_and_dropped(cli: Cli) -> None:
    assert cli("tag").out == ""
    assert cli("tag", "v1").out == "tag v1 at version 4\n"
    assert cli("tag", "v0", "--at", "2", "--json").json == {"tag": "v0", "version": 2}
    assert cli("tag").lines == ["v0  main@2", "v1  main@4"]
    assert cli("tag", "-m", "v0", "first").code == 0
    assert cli("tag", "-d", "v1", "--json").json == {"tag": "v1", "dropped": True}
    assert cli("tag", "--json").json == [{"tag": "first", "branch": "main", "version": 2}]


# --- tables and describe ----------------------------------------------------------------------------------------------


def test_tables(cli: Cli) -> None:
    cli("sql", "-c", "CREATE DATABASE e; CREATE TABLE e.`a b` (x INT)")
    assert cli("tables").lines == ["d.t", "e.`a b`"]
    assert cli("tables", "d").lines == ["d.t"]
    assert cli("tables", "--json").json == ["d.t", "e.`a b`"]


def test_a_branch_or_tag_may_start_anywhere_as_in_git(cli: Cli) -> None:
    assert cli("branch", "dev", "3").out == "branch dev at version 3\n"
    assert cli("branch", "again", "dev").out == "branch again at version 3\n"
    assert cli("tag", "v1", "main@2").out == "tag v1 at version 2\n"
    assert cli("branch", "old", "v1").out == "branch old at version 2\n"
    refused = cli("branch", "more", "dev", "--at", "2")
    assert (refused.code, "START" in refused.err) == (2, True)
    assert cli("branch", "more", "nothing").code == 1


def test_describe_of_everything_as_json_is_an_object(cli: Cli) -> None:
    told = cli("describe", "d.t", "-x", "--json").json
    assert (told["table"], told["rows"], told["primary_key"]) == ("d.t", "3", "")
    assert [column["column"] for column in told["columns"]] == ["id", "v"]


def test_describe(cli: Cli) -> None:
    lines = cli("describe", "d.t").lines
    assert lines[0].split() == ["column", "type", "nullable", "default", "comment"]
    assert lines[3].split() == ["v", "string", "yes", "'x'", "a", "word"]
    assert "# rows" in cli("describe", "-x", "d.t").out
    assert cli("describe", "d.t", "--json").json[0] == {
        "column": "id", "type": "bigint", "nullable": "no", "default": None, "comment": None,
    }  # fmt: skip


# --- restore ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [["--table", "d.t"], ["--database", "d"], ["--all"]])
def test_restore_is_a_new_commit(cli: Cli, ids: Ids, what: list[str]) -> None:
    assert cli("restore", "--to", "3", *what).out == "restored as version 5\n"
    assert ids() == [1, 2]
    assert cli("restore", "--to", "3", *what).out == "nothing differs from version 3\n"
    assert cli("restore", "--to", "4", *what, "--json").json == {"restored": True, "version": 6}
    assert ids() == [1, 2, 3]


def test_restore_works_on_the_branch_that_is_named(cli: Cli, ids: Ids) -> None:
    cli("branch", "dev")
    assert cli("-b", "dev", "restore", "--to", "3", "--all").code == 0
    assert (ids("dev"), ids("main")) == ([1, 2], [1, 2, 3])


# --- sql --------------------------------------------------------------------------------------------------------------


def test_sql_runs_statements_in_the_order_given(cli: Cli, ids: Ids, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("-- ; a comment\nINSERT INTO d.t VALUES (5, ';');\n\nDELETE FROM d.t WHERE v = ';';")
    ran = cli("sql", "-c", "INSERT INTO d.t VALUES (4, 'd')", "-f", str(script), "-c", "SHOW TAGS; CREATE BRANCH b")
    assert ran.code == 0, ran.err
    assert "branch b at version 7" in ran.out
    assert ids() == [1, 2, 3, 4]


def test_sql_from_standard_input(cli: Cli, ids: Ids, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("DELETE FROM d.t WHERE id = 1;"))
    assert cli("sql").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("DELETE FROM d.t WHERE id = 2"))
    assert cli("sql", "-f", "-").code == 0
    assert ids() == [3]


def test_sql_writes_to_its_branch_and_a_use_lasts(cli: Cli, ids: Ids) -> None:
    cli("branch", "dev")
    cli("branch", "next")
    assert cli("-b", "dev", "sql", "-c", "DELETE FROM d.t; USE BRANCH next; DELETE FROM d.t WHERE id = 1").code == 0
    assert (ids("dev"), ids("next"), ids("main")) == ([], [2, 3], [1, 2, 3])


def test_sql_as_json_is_one_array_a_statement(cli: Cli) -> None:
    ran = cli("sql", "--json", "-c", "DELETE FROM d.t WHERE id = 3; SHOW TABLES IN d; SHOW TAGS")
    assert [json.loads(line) for line in ran.lines] == [
        [{"rows_deleted": 1}],
        [{"database": "d", "table": "t", "comment": None}],
        [],
    ]


def test_sql_stops_at_the_first_error(cli: Cli, ids: Ids) -> None:
    ran = cli("sql", "-c", "DELETE FROM d.t WHERE id = 1; DROP TABLE d.nope; DELETE FROM d.t")
    assert ran.code == 1
    assert ids() == [2, 3]


def test_sql_keeps_going_if_told(cli: Cli, ids: Ids) -> None:
    ran = cli("sql", "--keep-going", "-c", "DROP TABLE d.nope; DROP TABLE d.never; DELETE FROM d.t WHERE id = 1")
    assert ran.code == 1
    assert ids() == [2, 3]
    assert "d.nope" in ran.err
    assert "d.never" in ran.err


def test_sql_reads_everything_before_it_runs_anything(cli: Cli, ids: Ids) -> None:
    ran = cli("sql", "-c", "DELETE FROM d.t", "-c", "INSERT INTO d.t VALUES (1, 'open")
    assert ran.code == 1
    assert "not closed" in ran.err
    assert ids() == [1, 2, 3]


# --- another catalog --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_a_catalog_in_postgresql(cli: Cli, tmp_path: Path, fresh_postgres_url: str) -> None:
    there = ["-l", str(tmp_path / "far"), "--catalog", fresh_postgres_url]
    assert cli(*there, "tables").code == 1
    assert cli(*there, "init", "--json").json["created"] is True
    assert cli(*there, "init", "--json").json["created"] is False
    assert cli(*there, "sql", "-c", "CREATE DATABASE p").code == 0
    assert [commit["operation"] for commit in cli("log", *there, "--json").json] == ["CREATE DATABASE", "create lake"]


def test_config(cli: Cli) -> None:
    assert cli("config", "merge.detect").out == "file\n"
    assert cli("config", "merge.detect", "row").out == "row\n"
    assert cli("config").lines[-1].split()[:2] == ["merge.detect", "row"]
    assert cli("config", "--json").json == {"merge.detect": "row"}
    assert cli("config", "--unset", "merge.detect", "--json").json == {"merge.detect": "file"}
    assert "Did you mean 'merge.detect'" in cli("config", "merge.detct", "row").err
    assert cli("config", "merge.detect", "rows").code == 1
    assert cli("config", "nope").code == 1
    assert cli("config", "merge.detect", "--unset", "merge.detect").code == 2
