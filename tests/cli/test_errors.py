"""Exit codes, and errors in one line."""

import json
from pathlib import Path

import pytest

from anabranch.cli import exits, main
from anabranch.cli.settings import Settings
from anabranch.errors import CommitConflict, MergeConflict, NotFound
from anabranch.model.conflict import ConflictRecord
from tests.cli.conftest import Cli

USAGE = [
    [],
    ["lgo"],
    ["log", "-n", "-1"],
    ["log", "--limit", "many"],
    ["log", "--limit", "٤"],
    ["log", "--lim", "1"],  # no abbreviations: a later option may have the same beginning
    ["describe"],
    ["branch", "a", "-d", "b"],
    ["branch", "-d", "a", "-m", "b", "c"],
    ["branch", "-m", "a"],
    ["branch", "--at", "3"],
    ["tag", "--from", "main"],
    ["restore", "--all"],
    ["restore", "--to", "1"],
    ["restore", "--to", "1", "--all", "--table", "d.t"],
    ["init", "-b", "dev", "/no/such/lake"],
    ["sql", "-f", "no/such/file.sql"],
    ["sql", "--limit", "-1", "-c", "SHOW TAGS"],
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_usage(cli: Cli, words: list[str]) -> None:
    ran = cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("anabranch: error: ")
    assert ran.err.count("\n") == 1
    told = json.loads(cli("--json", *words).err)
    assert told["error"] == "Usage"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lgo"], "'lgo' is no command. Did you mean 'log'? (see `anabranch --help`)"),
        (["mrge", "dev"], "'mrge' is no command. Did you mean 'merge'? (see `anabranch --help`)"),
        (["checkout", "dev"], "'checkout' is no command (see `anabranch --help`)"),
        (["delete"], "'delete' is no command (see `anabranch --help`)"),
        (["sql", "SHOW TABLES"], "SHOW TABLES: statements come with -c (see `anabranch sql --help`)"),
        (["merge", "dev", "main"], "main: the branch to merge into comes with --into (see `anabranch merge --help`)"),
        (["conflicts", "dev", "main"], "comes with --into (see `anabranch conflicts --help`)"),
        (["merge", "dev", "--force"], "unrecognized arguments: --force (see `anabranch merge --help`)"),
        (["diff", "a", "b", "c"], "unrecognized arguments: c (see `anabranch diff --help`)"),
        (["--lim", "log"], "unrecognized arguments: --lim (see `anabranch log --help`)"),
        (["log", "-n", "x"], "not a number of 0 or more (see `anabranch log --help`)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_usage_error_says_where_to_look(cli: Cli, words: list[str], said: str) -> None:
    ran = cli(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.endswith(f"{said}\n")


@pytest.mark.parametrize(
    "words",
    [
        *(["tables", "-l"], ["tables", "--catalog"], ["init"], ["tables"], ["diff", "3", "4", "--table"]),
        *(
            ["restore", "--to", "3", "--table"],
            ["restore", "--to", "3", "--database"],
            ["config"],
            ["config", "--unset"],
        ),
        ["merge", "main@3", "--resolutions"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("empty", ["", " "])
def test_what_names_nothing_means_nothing_else(cli: Cli, words: list[str], empty: str) -> None:
    """`anabranch -l "$UNSET" …` must not work on another lake."""
    ran = cli(*words, empty)
    assert (ran.code, ran.out) == (2, "")
    assert f"'{empty}' names nothing" in ran.err
    assert cli("log", "--json").json[0]["version"] == 4


ERRORS = [
    (["log", "nope"], "NotFound"),
    (["log", "99"], "NotFound"),
    (["-b", "nope", "tables"], "NotFound"),
    (["branch", "main"], "AlreadyExists"),
    (["branch", "-d", "main"], "Refused"),
    (["branch", "new", "--from", "main@4", "--at", "3"], "Refused"),
    (["tag", "new", "--from", "main@3", "--at", "3"], "Refused"),
    (["tag", "-d", "nope"], "NotFound"),
    (["tables", "nope"], "NotFound"),
    (["describe", "d.nope"], "NotFound"),
    (["history", "d.nope"], "NotFound"),
    (["restore", "--to", "99", "--all"], "NotFound"),
    (["restore", "--to", "1", "--table", "d.nope"], "NotFound"),
    (["sql", "-c", "INSERT INTO d.t VALUES (NULL, 'a')"], "NullViolation"),
    (["--lake", "/no/such/lake", "log"], "NotALake"),
    (["--catalog", "oracle://nowhere", "log"], "CatalogUnreachable"),
]


@pytest.mark.parametrize(
    ("words", "kind"), ERRORS, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_errors(cli: Cli, words: list[str], kind: str) -> None:
    ran = cli(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("anabranch: error: ")
    assert "Traceback" not in ran.err
    told = json.loads(cli(*words, "--json").err)
    assert told["error"] == kind
    assert ran.err == f"anabranch: error: {told['message']}\n"


def test_a_sql_error_points_at_its_place(cli: Cli) -> None:
    ran = cli("sql", "-c", "SHOW TAGS; SHOW NONSENSE")
    assert ran.code == 1
    first, text, mark = ran.err.splitlines()
    assert first.startswith("anabranch: error: ")
    assert text.strip() == "SHOW TAGS; SHOW NONSENSE"
    assert mark.index("^") == text.index("NONSENSE")


def test_a_sql_error_in_a_file_names_the_line_of_the_file(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("SHOW TAGS;\n-- SHOW NONSENSE\n\n  SHOW\n  NONSENSE;\nSHOW NONE")
    ran = cli("sql", "--keep-going", "-f", str(script))
    first, *shown = ran.err.splitlines()
    assert first.endswith("found NONSENSE (line 5, column 3)")
    assert (shown[:2], shown[-2:]) == (["    NONSENSE;", "    ^"], ["  SHOW NONE", "       ^"])
    assert shown[2].endswith("found NONE (line 6, column 6)")


def test_debug_shows_the_traceback(cli: Cli) -> None:
    ran = cli("log", "nope", "--debug")
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err
    assert ran.err.splitlines()[-1].startswith("anabranch: error: ")


def test_json_stands_on_either_side_of_the_command(cli: Cli) -> None:
    assert cli("--json", "tables").json == cli("tables", "--json").json == ["d.t"]


def test_an_option_beside_the_command_wins_over_the_surroundings(cli: Cli, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "second")]) == 0
    for words in (["-l", str(tmp_path / "second"), "tables"], ["tables", "-l", str(tmp_path / "second")]):
        assert cli(*words).out == ""


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://joe:s3cret@127.0.0.1:1/db",
        "postgresql+psycopg://joe@127.0.0.1:1/db?password=s3cret&sslpassword=s3cret",
        "postgresql+psycopg://127.0.0.1:1/db?user=joe&sslPassword=s3cret",
        "postgresql+psycopg://joe:s3cret@127.0.0.1:port/db",
        "oracle://joe:a/s3cret@nowhere",
    ],
)
def test_errors_show_no_password(cli: Cli, url: str) -> None:
    ran = cli("--catalog", url, "log")
    assert ran.code == 1
    assert url.partition("://")[0] in ran.err
    assert "***" in ran.err
    assert "s3cret" not in ran.err


def test_what_to_type_next_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings("far", "postgresql://joe:s3cret@host/db")
    assert settings.typed("dev") == "anabranch -l far --catalog 'postgresql://joe:***@host/db' -b dev"
    monkeypatch.setenv("ANABRANCH_LAKE", "near")
    monkeypatch.setenv("ANABRANCH_CATALOG", "postgresql://joe:s3cret@host/db")
    assert settings.typed("main") == "anabranch -l far"
    assert Settings(".").typed("main") == "anabranch -l ."


@pytest.mark.parametrize("words", [["init", "{}"], ["-l", "{}", "log"]])
def test_a_file_in_the_way_of_a_lake(cli: Cli, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "file").write_text("mine")
    ran = cli(*(word.format(tmp_path / "file" / "sub") for word in words))
    assert ran.code == 1
    assert ran.err.endswith(f"file/sub' is not a lake: '{tmp_path / 'file'}' is a file. Name a folder.\n")


def test_a_catalog_without_a_lake(cli: Cli, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no.db"
    ran = cli("--catalog", url, "log")
    assert (ran.code, f"Create one with `anabranch init PATH --catalog {url}`." in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("table", "t"), 1),
        (RuntimeError("no"), 1),
        (exits.Usage("no"), 2),
        (CommitConflict("no"), 3),
        (MergeConflict("no"), 3),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert exits.code_of(error) == code
    assert code in exits.EXIT_CODES


def test_help_tells_the_exit_codes(cli: Cli) -> None:
    ran = cli("--help")
    assert ran.code == 0
    for code, meaning in exits.EXIT_CODES.items():
        assert f"  {code:<4} {meaning}" in ran.out


def test_conflicts_are_records_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    conflict = ConflictRecord("d.t", "table", "rule", "ours", "theirs")
    assert exits.report(CommitConflict("moved", [conflict]), Settings(json=True)) == 3
    told = json.loads(capsys.readouterr().err)
    assert told["conflicts"][0]["object"] == "d.t"


def test_an_error_that_is_not_ours_is_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    exits.report(ValueError("first\nsecond"), Settings())
    assert capsys.readouterr().err == "anabranch: error: ValueError: first (--debug shows more)\n"
