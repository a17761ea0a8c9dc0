"""merge, conflicts, diff, cherry-pick, revert and the graph: what a person reads, and what a program gets."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

import anabranch
from anabranch.catalog.embedded import CATALOG_FILE
from anabranch.cli.output import shown_width
from tests.cli.conftest import Cli


def sql(cli: Cli, *statements: str) -> None:
    ran = cli("sql", "-c", "; ".join(statements))
    assert ran.code == 0, ran.err


@pytest.fixture
def apart(cli: Cli) -> Cli:
    """dev and main each have a row of their own."""
    sql(cli, "CREATE BRANCH dev", "INSERT INTO d.t VALUES (10, 'm')", "INSERT INTO d.t@dev VALUES (20, 'd')")
    return cli


@pytest.fixture
def at_odds(cli: Cli) -> Cli:
    """Row 2 was updated on both sides, and row 1 deleted on main and updated on dev."""
    sql(cli, "CREATE BRANCH dev", "UPDATE d.t SET v = 'ours' WHERE id = 2", "DELETE FROM d.t WHERE id = 1")
    sql(cli, "UPDATE d.t@dev SET v = 'theirs' WHERE id = 2", "UPDATE d.t@dev SET v = 'one' WHERE id = 1")
    return cli


# --- merge ------------------------------------------------------------------------------------------------------------


def test_merge_says_what_it_did(apart: Cli, ids) -> None:
    ran = apart("merge", "dev")
    assert ran.code == 0, ran.err
    assert ran.lines[-2].split() == ["d.t", "insert", "1", "0"]
    assert ran.lines[-1] == "main is at version 6"
    assert ids() == [1, 2, 3, 10, 20]
    assert apart("merge", "dev").out == "main is up to date with dev\n"


def test_merge_into_another_branch_either_way_of_saying_it(apart: Cli, ids) -> None:
    assert apart("merge", "main", "--into", "dev").lines[-1] == "dev is at version 6"
    assert apart("-b", "dev", "merge", "main").out == "dev is up to date with main\n"
    assert (ids("dev"), ids()) == ([1, 2, 3, 10, 20], [1, 2, 3, 10])


def test_merge_as_json(apart: Cli) -> None:
    preview = apart("merge", "dev", "--dry-run", "--json").json
    changes = [{"object": "d.t", "change": "insert", "rows_added": 1, "rows_removed": 0}]
    told = {"branch": "main", "up_to_date": False, "changes": changes, "conflicts": []}
    assert preview == told | {"version": None, "dry_run": True}
    assert apart("merge", "dev", "--json").json == told | {"version": 6, "dry_run": False}
    again = apart("merge", "dev", "--json").json
    assert (again["up_to_date"], again["version"], again["changes"]) == (True, None, [])


def test_a_dry_run_changes_nothing(apart: Cli, ids) -> None:
    ran = apart("merge", "dev", "--dry-run")
    assert (ran.code, ran.lines[-1]) == (0, "nothing was changed")
    assert ids() == [1, 2, 3, 10]


# --- conflicts --------------------------------------------------------------------------------------------------------


def test_a_conflict_is_shown_side_by_side_and_with_what_to_type_next(at_odds: Cli, ids) -> None:
    ran = at_odds("merge", "dev", "--detect", "row")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("anabranch: error: 'dev' and 'main' do not fit together: 2 conflicts.\n")
    lines = [line.split() for line in ran.err.splitlines()]
    assert ["base", "ours", "theirs"] in lines
    assert ["*", "v", "b", "ours", "theirs"] in lines
    assert ["id", "2", "2", "2"] in lines
    assert ["*", "v", "a", "(deleted)", "one"] in lines
    assert "Nothing was changed. Next, one of:" in ran.err
    assert "anabranch merge dev --detect row --resolve theirs" in ran.err
    assert "anabranch diff main dev --table d.t" in ran.err
    assert ids() == [2, 3]


def test_what_to_type_next_names_the_way_that_passes(cli: Cli) -> None:
    sql(cli, "CREATE BRANCH dev", "UPDATE d.t SET v = 'x' WHERE id = 1", "UPDATE d.t@dev SET v = 'y' WHERE id = 2")
    ran = cli("merge", "dev")
    assert ran.code == 3
    assert "anabranch merge dev --detect row" in ran.err
    assert "anabranch conflicts dev --detect row" in ran.err
    assert cli("merge", "dev", "--detect", "row").code == 0


def test_two_tables_of_one_name_need_a_rename(cli: Cli) -> None:
    sql(cli, "CREATE BRANCH `my dev`", "CREATE TABLE d.n (a INT)", "CREATE TABLE d.n@`my dev` (a INT)")
    ran = cli("merge", "my dev")
    assert ran.code == 3
    assert ran.err.splitlines()[-2:] == [
        "Nothing was changed. Two things of one name cannot be merged: rename one first (ALTER TABLE d.n RENAME TO …).",
        "Then again:  anabranch merge 'my dev'",
    ]


@pytest.mark.parametrize(
    ("rows", "offered", "said"),
    [
        (["INSERT INTO d.n@dev VALUES (1)", "INSERT INTO d.n VALUES (0.5)"], [], "RESTORE the table on one branch"),
        (["INSERT INTO d.n VALUES (0.5)"], ["ours"], "keep main"),
        (["INSERT INTO d.n@dev VALUES (1)"], ["theirs"], "take dev"),
    ],
)
def test_only_sides_that_settle_a_conflict_are_offered(cli: Cli, rows: list, offered: list, said: str) -> None:
    sql(cli, "CREATE TABLE d.n (a INT)", "CREATE BRANCH dev", "ALTER TABLE d.n ALTER COLUMN a TYPE DOUBLE")
    sql(cli, "ALTER TABLE d.n@dev ALTER COLUMN a TYPE BIGINT", *rows)
    ran = cli("merge", "dev")
    assert (ran.code, said in ran.err) == (3, True)
    assert [side for side in ("ours", "theirs") if f"--resolve {side}" in ran.err] == offered


@pytest.mark.parametrize(
    ("side", "expected"),
    [("ours", [[2, "ours"], [3, "c"]]), ("theirs", [[1, "one"], [2, "theirs"], [3, "c"]])],
)
@pytest.mark.parametrize("how", ["--resolve={side}", "--resolve-table=d.t={side}"])
def test_a_conflict_is_resolved(at_odds: Cli, folder, side: str, expected: list, how: str) -> None:
    assert at_odds("merge", "dev", how.format(side=side)).code == 0
    with anabranch.connect(folder, create=False) as lake:
        found = lake.table("d.t").to_arrow().sort_by("id").to_pylist()
    assert [list(row.values()) for row in found] == expected


def test_a_rule_is_told_in_words(at_odds: Cli) -> None:
    lines = at_odds("conflicts", "dev").lines
    assert "d.t, file of slot 1: both updated rows of the same file (A3)" in lines
    assert "d.t, file of slot 1: theirs updated and ours deleted rows of the same file (A1)" in lines
    assert "A3: both updated rows of the same file." in at_odds("sql", "-c", "MERGE BRANCH dev").err


def test_help_says_what_a_pick_compares(cli: Cli) -> None:
    for verb, said in {"merge": "as the table", "cherry-pick": "else row", "revert": "else row"}.items():
        assert said in " ".join(cli(verb, "--help").out.split())


def test_conflicts_alone(at_odds: Cli) -> None:
    ran = at_odds("conflicts", "dev", "--detect", "row")
    assert (ran.code, ran.err) == (3, "")
    assert len([line for line in ran.lines if line.startswith("d.t, row ")]) == 2
    assert at_odds("conflicts", "dev", "--detect", "row", "-n", "1").lines[-1].startswith("… and 1 more")
    both = {record["rule"]: record for record in at_odds("conflicts", "dev", "--detect", "row", "--json").json}
    assert both["update/update"]["base"] == {"id": 2, "v": "b"}
    assert both["update/update"]["theirs"] == {"id": 2, "v": "theirs"}
    assert both["update/delete"]["ours"] == "deleted"
    assert at_odds("merge", "dev", "--dry-run", "--detect", "row").code == 3


@pytest.mark.parametrize("words", [["merge", "dev", "--detect", "row"], ["cherry-pick", "dev@6"], ["revert", "6"]])
def test_all_conflicts_are_shown_if_asked_for(cli: Cli, words: list[str]) -> None:
    rows = ", ".join(f"({id}, 'x')" for id in range(10, 40))
    sql(cli, f"INSERT INTO d.t VALUES {rows}", "CREATE BRANCH dev", "UPDATE d.t@dev SET v = 'y'")
    sql(cli, "UPDATE d.t SET v = 'z'", "UPDATE d.t SET v = 'w'")
    for option, dry, count in [([], [], 20), (["--limit", "0"], [], 33), (["-n", "2"], ["--dry-run"], 2)]:
        ran = cli(*words, *option, *dry)
        shown = (ran.out if dry else ran.err).splitlines()
        assert (ran.code, len([line for line in shown if line.startswith("d.t, row ")])) == (3, count)
        assert (f"… and {33 - count} more (--limit 0 shows all)" in shown) == (count < 33)


@pytest.mark.parametrize(("option", "count"), [([], 30), (["-n", "0"], 30), (["-n", "2"], 2), (["--limit", "25"], 25)])
def test_a_program_gets_all_conflicts_unless_it_asks_for_fewer(cli: Cli, option: list[str], count: int) -> None:
    rows = ", ".join(f"({id}, 'x')" for id in range(10, 37))
    sql(
        cli,
        f"INSERT INTO d.t VALUES {rows}",
        "CREATE BRANCH dev",
        "UPDATE d.t@dev SET v = 'y'",
        "UPDATE d.t SET v = 'z'",
    )
    asked = ["dev", "--detect", "row", "--json", *option]
    refused = cli("merge", *asked)
    told = [cli("conflicts", *asked).json, cli("merge", "--dry-run", *asked).json["conflicts"]]
    assert [len(conflicts) for conflicts in [*told, json.loads(refused.err)["conflicts"]]] == [count] * 3
    assert refused.code == 3
    assert "30 conflicts" in refused.err


@pytest.mark.parametrize(
    "words",
    [
        *(["merge", "dev"], ["merge", "dev", "--detect", "row"]),
        *(["cherry-pick", "dev@5"], ["revert", "5"], ["revert", "5", "--detect", "file"], ["merge", "types"]),
    ],
    ids=" ".join,
)
def test_a_dry_run_that_conflicts_says_what_the_merge_would_say(at_odds: Cli, words: list[str]) -> None:
    sql(at_odds, "CREATE TABLE d.n (a INT)", "CREATE BRANCH types", "ALTER TABLE d.n ALTER COLUMN a TYPE DOUBLE")
    sql(at_odds, "ALTER TABLE d.n@types ALTER COLUMN a TYPE BIGINT", "INSERT INTO d.n VALUES (0.5)")
    sql(at_odds, "UPDATE d.t SET v = 'again' WHERE id = 2")
    dry, ran = at_odds(*words, "--dry-run"), at_odds(*words)
    assert (dry.code, dry.err, ran.code, ran.out) == (3, "", 3, "")
    assert "Nothing was changed. " in dry.out
    assert dry.lines == ran.err.splitlines()[2:]


def test_a_dry_run_of_a_revert_that_nothing_settles_says_so_too(cli: Cli) -> None:
    sql(cli, "CREATE TABLE d.w (x INT)", "INSERT INTO d.w VALUES (1)", "ALTER TABLE d.w ALTER COLUMN x TYPE BIGINT")
    sql(cli, "INSERT INTO d.w VALUES (50000000000)")
    version = cli("log", "--json").json[1]["version"]
    dry, ran = cli("revert", str(version), "--dry-run"), cli("revert", str(version))
    assert "the widening cannot be undone" in ran.err
    assert dry.lines == ran.err.splitlines()[2:]


def test_no_conflicts(apart: Cli) -> None:
    ran = apart("conflicts", "dev")
    assert (ran.code, ran.out) == (0, "dev merges into main without conflicts\n")
    assert apart("conflicts", "main", "--into", "dev", "--json").json == []


def test_a_conflict_as_json_is_an_error_with_records(at_odds: Cli) -> None:
    ran = at_odds("merge", "dev", "--json")
    told = json.loads(ran.err)
    assert (ran.code, ran.out, told["error"]) == (3, "", "MergeConflict")
    assert {conflict["rule"] for conflict in told["conflicts"]} == {"A1", "A3"}
    assert told["passing"] is None
    told = json.loads(at_odds("merge", "dev", "--detect", "row", "--json").err)
    assert told["conflicts"] == at_odds("conflicts", "dev", "--detect", "row", "--json").json


PASSING = [
    # what both sides do, what is compared, and the other `detect` under which nothing conflicts
    (("v = 'x' WHERE id = 1", "v = 'y' WHERE id = 2"), "file", "row"),
    (("v = 'x' WHERE id = 1", "id = 10 WHERE id = 1"), "file", "cell"),
    (("v = 'x' WHERE id = 1", "id = 10 WHERE id = 1"), "row", "cell"),
    (("v = 'x' WHERE id = 1", "v = 'y' WHERE id = 1"), "file", None),
    (("v = 'x' WHERE id = 1", "v = 'y' WHERE id = 1"), "row", None),
    (("v = 'x' WHERE id = 1", "v = 'y' WHERE id = 1"), "cell", None),
]


@pytest.mark.parametrize(("both", "detect", "passing"), PASSING)
def test_a_refused_merge_names_the_way_that_passes(cli: Cli, both: tuple, detect: str, passing: str | None) -> None:
    sql(cli, "CREATE BRANCH dev", f"UPDATE d.t SET {both[0]}", f"UPDATE d.t@dev SET {both[1]}")
    merge = ["merge", "dev", "--detect", detect]
    assert json.loads(cli(*merge, "--json").err)["passing"] == passing
    statement = f"MERGE BRANCH dev WITH (detect = '{detect}')"
    assert json.loads(cli("sql", "--json", "-c", statement).err)["passing"] == passing
    for said in (cli(*merge).err, cli(*merge, "--dry-run").out):
        assert re.findall(r"compare by (\w+): this passes", said) == [passing] * (passing is not None)
    if passing:
        assert cli("merge", "dev", "--detect", passing).code == 0


def test_many_columns_show_the_first_ones_and_those_that_differ(cli: Cli) -> None:
    columns = ", ".join(f"c{n} INT" for n in range(20))
    sql(cli, f"CREATE TABLE d.w ({columns})", f"INSERT INTO d.w VALUES ({', '.join('0' * 20)})", "CREATE BRANCH dev")
    sql(cli, "UPDATE d.w SET c7 = 1", "UPDATE d.w@dev SET c7 = 2, c9 = 3")
    lines = [line.split() for line in cli("conflicts", "dev", "--detect", "cell").lines]
    first = [[f"c{n}", "0", "0", "0"] for n in range(3)]
    rest = ["(15", "more", "columns,", "in", "which", "they", "are", "equal)"]
    assert lines[1:] == [["base", "ours", "theirs"], *first, ["*", "c7", "0", "1", "2"], ["c9", "0", "0", "3"], rest]
    sql(cli, "DELETE FROM d.w")
    lines = [line.split() for line in cli("conflicts", "dev", "--detect", "cell").lines]
    first = [[f"c{n}", "0", "(deleted)", "0"] for n in range(3)]
    changed = [["*", "c7", "0", "(deleted)", "2"], ["*", "c9", "0", "(deleted)", "3"]]
    assert lines[1:] == [["base", "ours", "theirs"], *first, *changed, rest]


def test_null_is_not_the_text_null(cli: Cli) -> None:
    sql(cli, "CREATE BRANCH dev", "UPDATE d.t SET v = NULL WHERE id = 1", "UPDATE d.t@dev SET v = 'NULL' WHERE id = 1")
    lines = [line.split() for line in cli("conflicts", "dev", "--detect", "row").lines]
    assert ["*", "v", "a", "NULL", "'NULL'"] in lines
    lines = [line.split() for line in cli("diff", "main", "dev", "--table", "d.t").lines]
    assert lines[2:] == [["-U", "1", "NULL"], ["+U", "1", "'NULL'"]]


def test_show_conflicts_tells_null_from_texts_that_read_like_it(cli: Cli) -> None:
    sql(cli, "CREATE BRANCH dev", "UPDATE d.t SET v = NULL WHERE id < 3", "UPDATE d.t SET v = '' WHERE id = 3")
    sql(cli, "UPDATE d.t@dev SET v = 'NULL' WHERE id = 1", "UPDATE d.t@dev SET v = 'None' WHERE id > 1")
    lines = cli("sql", "-c", "SHOW CONFLICTS IN dev WITH (detect = 'row')").lines
    assert [re.findall(r"v=(\S*)", line)[-2:] for line in lines[2:]] == [
        ["NULL", "'NULL'"],
        ["NULL", "None"],
        ["''", "None"],
    ]


def test_values_stay_on_their_lines(cli: Cli, folder) -> None:
    sql(cli, "CREATE TABLE d.k (id STRING PRIMARY KEY, v STRING)", "INSERT INTO d.k VALUES ('x', '')")
    with anabranch.connect(folder, create=False) as lake:
        lake.table("d.k").write([{"id": "a\nb", "v": "0"}])
        dev = lake.create_branch("dev")
        lake.table("d.k").write([{"id": "a\nb", "v": "it's\ttwo\r\nlines"}])
        dev.table("d.k").write([{"id": "a\nb", "v": "\x1b[31m\\n"}])
    assert cli("conflicts", "dev").lines == [
        r"d.k, id = 'a\nb': update/update",
        r"        base    ours                   theirs",
        r"    id  'a\nb'  'a\nb'                 'a\nb'",
        r"  * v   0       'it\'s\ttwo\r\nlines'  '\x1b[31m\\n'",
    ]


def test_long_values_are_cut_for_people_and_whole_for_programs(cli: Cli, folder) -> None:
    long = {"ours": "\x1b[31m" + "o" * 5_000, "theirs": "t" * 5_000}
    with anabranch.connect(folder) as lake:
        lake.create_branch("dev")
        for at, text in ((lake, long["ours"]), (lake.on("dev"), long["theirs"])):
            at.sql("UPDATE d.t SET v = :v WHERE id = 1", {"v": text})
    shown = [
        cli("merge", "dev", "--detect", "row").err,
        cli("conflicts", "dev", "--detect", "row").out,
        cli("sql", "-c", "SHOW CONFLICTS IN dev WITH (detect = 'row')").out,
        cli("sql", "-c", "MERGE BRANCH dev WITH (detect = 'row')").err,
    ]
    for text in shown:
        assert len(text) < 3_000
        assert "\x1b" not in text
        assert "tttt…" in text.replace("\n", "")
    (found,) = json.loads(cli("--json", "conflicts", "dev", "--detect", "row").out)
    assert {side: found[side]["v"] for side in long} == long


@pytest.mark.parametrize("columns", ["80", "120", None])
@pytest.mark.parametrize("letter", ["x", "字"])
def test_long_values_fit_the_terminal_and_show_where_they_differ(
    cli: Cli, folder, monkeypatch: pytest.MonkeyPatch, columns: str | None, letter: str
) -> None:
    same = letter * 360
    with anabranch.connect(folder) as lake:
        lake.sql("UPDATE d.t SET v = :v WHERE id = 1", {"v": f"{same}base"})
        lake.create_branch("dev")
        for at, end in ((lake, "ours"), (lake.on("dev"), "theirs")):
            at.sql("UPDATE d.t SET v = :v WHERE id = 1", {"v": f"{same}{end}"})
    monkeypatch.setenv("NO_COLOR", "1")
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    lines = cli("conflicts", "dev", "--detect", "row").lines
    assert all(shown_width(line) <= int(columns or 3 * 82 + 8) for line in lines)
    (told,) = (line.split() for line in lines if line.startswith("  * v"))
    assert [text.strip(f"…{letter}") for text in told[2:]] == ["base", "ours", "theirs"]
    assert all(text.startswith(f"…{letter}") for text in told[2:])


def test_nan_is_nan(cli: Cli) -> None:
    made = "CREATE TABLE d.f (id INT, x DOUBLE, y ARRAY<DOUBLE>)", "INSERT INTO d.f VALUES (1, 0, array(0d))"
    sql(cli, *made, "CREATE BRANCH dev", "UPDATE d.f SET id = 2, x = double('nan'), y = array(double('nan'))")
    sql(cli, "UPDATE d.f@dev SET id = 3, x = double('nan'), y = array(double('nan'))")
    lines = [line.split() for line in cli("conflicts", "dev", "--detect", "row").lines]
    assert [line[1] for line in lines if line[0] == "*"] == ["id"]
    assert "theirs id = 3, ours id = 2 " in cli("merge", "dev", "--detect", "row", "--json").err


# --- resolutions ------------------------------------------------------------------------------------------------------


def test_conflicts_are_resolved_row_by_row_from_what_they_show(at_odds: Cli, tmp_path, folder) -> None:
    ran = at_odds("merge", "dev", "--detect", "row")
    assert "anabranch merge dev --detect row --resolutions FILE" in ran.err
    shown = {record["rule"]: record for record in at_odds("conflicts", "dev", "--detect", "row", "--json").json}
    both, lost = shown["update/update"], shown["update/delete"]
    rows = [{**both["theirs"], "_row_id": both["row"], "v": "mine"}, {"_row_id": lost["row"], "_kind": "-D"}]
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"d.t": rows[:1]}))
    ran = at_odds("merge", "dev", "--resolutions", str(file))
    assert (ran.code, "1 conflict." in ran.err) == (3, True)
    assert f"anabranch merge dev --resolutions {file} --resolve ours" in ran.err  # what is settled stays so
    assert "FILE" not in ran.err
    file.write_text(json.dumps({"d.t": rows}))
    assert at_odds("merge", "dev", "--resolutions", str(file)).code == 0
    with anabranch.connect(folder, create=False) as lake:
        assert lake.table("d.t").to_arrow().sort_by("id").to_pylist() == [{"id": 2, "v": "mine"}, {"id": 3, "v": "c"}]


def test_conflicts_of_keys_are_resolved_from_what_they_show(cli: Cli, tmp_path, folder) -> None:
    sql(cli, "CREATE TABLE d.k (id STRING PRIMARY KEY, n INT)", "INSERT INTO d.k VALUES ('a', 1)", "CREATE BRANCH dev")
    sql(cli, "INSERT INTO d.k VALUES ('a', 2)", "INSERT INTO d.k@dev VALUES ('a', 3)")
    ran = cli("merge", "dev")
    assert "  anabranch merge dev --resolutions FILE  row by row (see merge --help)" in ran.err.splitlines()
    (conflict,) = cli("conflicts", "dev", "--json").json
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"d.k": [{**conflict["row"], "n": 5}]}))
    assert cli("merge", "dev", "--resolutions", str(file)).code == 0
    with anabranch.connect(folder, create=False) as lake:
        assert lake.table("d.k").to_arrow().to_pylist() == [{"id": "a", "n": 5}]


def test_a_revert_that_nothing_settles_is_not_typed_again(cli: Cli) -> None:
    sql(cli, "CREATE TABLE d.n (a INT)", "ALTER TABLE d.n ALTER COLUMN a TYPE BIGINT", "CREATE BRANCH dev")
    sql(cli, "INSERT INTO d.n VALUES (1)")
    ran = cli("revert", "6")
    assert (ran.code, ran.err.splitlines()[-1][:20]) == (3, "Nothing was changed.")


def test_help_says_what_resolve_table_does(cli: Cli) -> None:
    assert "--resolve-table DATABASE.TABLE=SIDE who wins in one table" in " ".join(cli("merge", "--help").out.split())


def test_what_is_settled_already_is_typed_again(at_odds: Cli) -> None:
    sql(at_odds, "CREATE TABLE d.u (id INT)", "CREATE TABLE d.u@dev (id INT)")
    ran = at_odds("merge", "dev", "--detect", "row", "--resolve-table", "d.t=ours")
    assert ran.err.splitlines()[-1] == "Then again:  anabranch merge dev --resolve-table d.t=ours --detect row"
    ran = at_odds("merge", "dev", "--resolve-table", "d.t=ours", "--resolve-table", "d.t=theirs")
    assert (ran.code, "'d.t' can take one side, not both" in ran.err) == (2, True)


def test_values_that_json_has_no_word_for(cli: Cli, tmp_path, folder) -> None:
    columns = (
        "n INT, d DATE, t TIMESTAMP, p DECIMAL(10,2), b BINARY, f DOUBLE, a ARRAY<DATE>, s STRUCT<x: DECIMAL(5,1)>"
    )
    with anabranch.connect(folder, create=False) as lake:
        lake.sql(f"CREATE TABLE d.v ({columns}, m MAP<DATE, BIGINT>)")
        row = {"n": 1, "d": date(2026, 1, 2), "t": datetime(2026, 1, 2, 3, tzinfo=timezone.utc), "p": Decimal("1.50")}
        row |= {"b": b"\xca\xfe", "f": float("inf"), "a": [date(2026, 1, 3)], "s": {"x": Decimal("2.5")}}
        lake.table("d.v").write([row | {"m": [(date(2026, 1, 4), 7)]}])
        lake.sql("CREATE BRANCH dev")
        expected = lake.table("d.v").to_arrow().drop_columns("n")
    sql(cli, "UPDATE d.v SET n = 2", "UPDATE d.v@dev SET n = 3")
    (conflict,) = cli("conflicts", "dev", "--detect", "row", "--json").json
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"d.v": [{**conflict["ours"], "n": 4, "_row_id": conflict["row"]}]}))
    ran = cli("merge", "dev", "--resolutions", str(file))
    assert ran.code == 0, ran.err
    with anabranch.connect(folder, create=False) as lake:
        found = lake.table("d.v").to_arrow()
    assert found["n"].to_pylist() == [4]
    assert found.drop_columns("n").equals(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "rows.json' cannot be read: No such file or directory.\n"),
        (b"\xff", "rows.json' cannot be read: it is no text in UTF-8.\n"),
        ("{", "rows.json' are no JSON: look at line 1, column 2.\n"),
        ('{"d.t":\n [}', "rows.json' are no JSON: look at line 2, column 3.\n"),
        ("[]", "no JSON object of tables"),
        ('{"d.t": 5}', "no JSON object of tables"),
        ('{"d.t": [5]}', "no JSON object of tables"),
        ('{"d.t": [], "d.u": [], "d.t": []}', "'d.t' is given twice in one object"),
        ('{"d.t": [{"_row_id": 5, "v": "x", "v": "y"}]}', "'v' is given twice in one object"),
        ('{"x": []}', "'x' does not name a table: write database.table.\n"),
        ('{"t": []}', "'t' does not name a table: write database.table. Did you mean 'd.t'?\n"),
        ('{"d.t@dev": []}', "'d.t@dev': a ref cannot stand here"),
        ('{"d.t": [{"_row_id": 1%s, "id": 1, "v": "x"}]}' % ("0" * 30), "does not fit column '_row_id' of type bigint"),
        ('{"d.nope": []}', "table 'd.nope' does not exist"),
        ('{"d.t": [{"_row_id": 5, "id": 1, "v": "x"}]}', "row 5 of table 'd.t' does not conflict"),
        ('{"d.t": [{"_row_id": 5, "id": 1, "w": "x"}]}', "'v' is missing"),
    ],
)
def test_resolutions_that_cannot_be(at_odds: Cli, tmp_path, text: str | bytes | None, said: str) -> None:
    file = tmp_path / "rows.json"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = at_odds("merge", "dev", "--resolve", "ours", "--resolutions", str(file))
    assert ran.code != 0
    assert said in ran.err
    assert at_odds("log", "--json").json[0]["version"] == 6


# --- diff -------------------------------------------------------------------------------------------------------------


def test_diff(apart: Cli) -> None:
    sql(apart, "ALTER TABLE d.t@dev ADD COLUMN w INT", "CREATE TABLE d.u@dev (a INT)", "INSERT INTO d.u@dev VALUES (1)")
    sql(apart, "ALTER TABLE d.t@dev RENAME COLUMN v TO word")
    assert apart("diff", "main", "dev").lines == [
        "d.t",
        "    ~ column renamed: v -> word",
        "    + column w int",
        "    ~ rows: 1 inserted, 1 deleted, 0 updated",
        "+ table d.u (1 row)",
    ]
    assert "- table d.u (1 row)" in apart("diff", "dev").lines
    since_fork = apart("-b", "dev", "diff").lines
    assert "    ~ rows: 1 inserted, 0 deleted, 0 updated" in since_fork
    assert apart("diff", "main", "main").out == ""


def test_diff_of_a_table(apart: Cli) -> None:
    lines = [line.split() for line in apart("diff", "main", "dev", "--table", "d.t").lines]
    assert lines[0] == ["_change", "id", "v"]
    assert lines[2:] == [["-D", "10", "m"], ["+I", "20", "d"]]
    assert apart("diff", "3", "4", "--table", "d.t", "--json").json == [{"_change": "+I", "id": 3, "v": "c"}]
    assert apart("diff", "main", "dev", "--table", "d.t", "-n", "1").lines[-1] == "(1 of 2 lines: --limit 0 shows all)"


# --- cherry-pick and revert -------------------------------------------------------------------------------------------


def test_cherry_pick_and_revert(apart: Cli, ids) -> None:
    assert apart("cherry-pick", "dev@5").lines[-1] == "main is at version 6"
    assert ids() == [1, 2, 3, 10, 20]
    assert apart("revert", "6").lines[-1] == "main is at version 7"
    assert ids() == [1, 2, 3, 10]
    id = apart("log", "-n", "1", "--json").json[0]["id"]
    assert apart("revert", id[:12]).lines[-1] == "main is at version 8"
    assert ids() == [1, 2, 3, 10, 20]
    assert apart("cherry-pick", "dev@5").out == "nothing of dev@5 is new to main\n"
    assert apart("cherry-pick", "3").out == "nothing of version 3 is new to main\n"
    apart("revert", "8")
    assert apart("revert", "8").out == "nothing of version 8 is left to undo on main\n"


def test_the_beginning_of_an_id_may_be_a_number(apart: Cli, ids, folder) -> None:
    digits, zero = "613882fe-0000-4000-8000-000000000001", "0613882f-0000-4000-8000-000000000002"
    with closing(sqlite3.connect(folder / CATALOG_FILE)) as catalog, catalog:
        catalog.execute("UPDATE commit_log SET id = ? WHERE version = 4", [digits])
        catalog.execute("UPDATE commit_log SET id = ? WHERE version = 3", [zero])
    for ran in (apart("revert", "613882"), apart("sql", "-c", "REVERT 613882")):
        assert (ran.code, ids()) == (1, [1, 2, 3, 10])
        assert f"version '613882' does not exist. For the commit of that id write '{digits}'." in ran.err
    assert (apart("revert", "613882f").code, ids()) == (0, [1, 2, 10])
    assert (apart("revert", "0613882").code, ids()) == (0, [10])
    assert apart("sql", "-c", "REVERT 0613882").code == 0


def test_a_pick_that_conflicts(at_odds: Cli) -> None:
    ran = at_odds("cherry-pick", "dev@5")
    assert ran.code == 3
    assert ran.err.startswith("anabranch: error: 'dev@5' cannot be picked onto 'main': 1 conflict.")
    assert "anabranch cherry-pick dev@5 --resolve ours" in ran.err
    assert at_odds("cherry-pick", "dev@5", "--resolve", "theirs").code == 0


def test_a_picked_or_reverted_commit_is_named_with_its_branch(apart: Cli) -> None:
    """`version 5` alone would be another commit: main has one of its own."""
    apart("cherry-pick", "dev@5")
    apart("revert", "5")
    messages = [commit["message"] for commit in apart("log", "-n", "2", "--json").json]
    assert messages == ["main@5: INSERT d.t: 1 row", "dev@5: INSERT d.t: 1 row"]
    sql(apart, "UPDATE d.t SET v = 'x' WHERE id = 20", "UPDATE d.t@dev SET v = 'y' WHERE id = 20")
    assert "dev@6 (UPDATE) cannot be picked onto 'main'" in apart("sql", "-c", "CHERRY PICK dev@6").err


def test_taking_theirs_in_a_revert_goes_back(cli: Cli, folder) -> None:
    sql(cli, "UPDATE d.t SET v = 'x' WHERE id = 1", "UPDATE d.t SET v = 'y' WHERE id = 1")
    ran = cli("revert", "5")
    lines = [" ".join(line.split()) for line in ran.err.splitlines()]
    assert (ran.code, lines[-2:]) == (
        3,
        [
            "anabranch revert 5 --resolve ours keep main where both changed a row",
            "anabranch revert 5 --resolve theirs go back to before version 5 where both changed a row",
        ],
    )
    assert cli("revert", "5", "--resolve", "theirs").code == 0
    with anabranch.connect(folder, create=False) as lake:
        assert lake.table("d.t").to_arrow().sort_by("id")["v"].to_pylist() == ["a", "b", "c"]


def test_a_pick_of_what_is_not_here(cli: Cli) -> None:
    sql(cli, "CREATE BRANCH dev", "INSERT INTO d.t@dev VALUES (9, 'i')", "UPDATE d.t@dev SET v = 'j' WHERE id = 9")
    ran = cli("cherry-pick", "dev@6")
    assert ran.code == 3
    lines = [line.split() for line in ran.err.splitlines()]
    assert ["*", "v", "i", "(not", "there)", "j"] in lines
    assert "main lacks what dev@6 changed: pick the commit that made it first" in ran.err
    assert "deleted" not in ran.err
    assert cli("cherry-pick", "dev@5").code == cli("cherry-pick", "dev@6").code == 0


# --- log --graph and branch -------------------------------------------------------------------------------------------


def test_the_graph(apart: Cli) -> None:
    apart("merge", "dev")
    lines = apart("log", "--graph").lines
    drawn = [line[:4].rstrip() for line in lines]
    assert drawn[:2] == ["*", "|\\"]
    assert drawn[-5:] == ["*"] * 5
    assert "|/" in drawn
    assert "MERGE BRANCH dev into main  (main)" in lines[0]
    versions = [commit["version"] for commit in apart("log", "--graph", "--json").json]
    assert sorted(versions) == [0, 1, 2, 3, 4, 5, 5, 6]
    assert len(apart("log", "--graph", "-n", "1").lines) == 1


def test_dropped_branches_keep_their_names_in_what_is_drawn(apart: Cli) -> None:
    sql(apart, "CREATE TABLE d.new@dev (a INT)", "CREATE TAG kept FROM dev", "CREATE BRANCH child FROM dev")
    apart("merge", "dev")
    apart("branch", "-d", "dev")
    graph = [line for line in apart("log", "--graph").lines if "CREATE TABLE d.new" in line]
    assert "  6  dev (dropped)  20" in graph[0]
    assert graph[0].endswith("(child, tag kept)")
    assert "dev (dropped)" in apart("history", "d.new").lines[-1]
    assert apart("tag").lines == ["kept  dev@6 (dropped)"]
    assert "from dev (dropped)@6" in apart("branch").lines[-1]
    assert apart("tag", "--json").json[0]["branch"] is None
    assert {commit["branch"] for commit in apart("log", "--graph", "--json").json} == {"main", None}


def test_branches_say_how_far_they_are(apart: Cli) -> None:
    assert apart("branch").lines[1].split() == ["dev", "version", "5", "from", "main@4", "1", "ahead,", "1", "behind"]


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["merge"], 2, "THEIRS"),
        (["merge", "dev", "--detect", "line"], 2, "line"),
        (["merge", "dev", "--resolve-table", "d.t"], 2, "--resolve-table d.t=ours"),
        (["merge", "nope"], 1, "'nope' does not exist"),
        (["merge", "main"], 1, "itself"),
        (["merge", "dev", "--into", "nope"], 1, "'nope' does not exist"),
        (["merge", "dev", "--resolve-table", "d.x=ours"], 1, "'d.x' does not exist"),
        (["merge", "dev", "--resolve-table", "t=ours"], 1, "write database.table. Did you mean 'd.t'?\n"),
        (["describe", "T"], 1, "'T' does not name a table: write database.table. Did you mean 'd.t'?\n"),
        (["diff", "dev", "--table", "x"], 1, "'x' does not name a table: write database.table.\n"),
        (["conflicts", "nope"], 1, "'nope' does not exist"),
        (["diff"], 2, "no fork"),
        (["diff", "nope"], 1, "'nope' does not exist"),
        (["diff", "dev", "--table", "d.x"], 1, "'d.x' does not exist"),
        (["cherry-pick", "99"], 1, "version '99' does not exist"),
        (["revert", "zzz"], 1, "commit 'zzz' does not exist"),
        (["log", "--graph", "--long"], 2, "not allowed with"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes(apart: Cli, words: list[str], code: int, said: str) -> None:
    ran = apart(*words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


@pytest.mark.parametrize("ref", ["", "@", "@3", "dev@"])
@pytest.mark.parametrize(
    "words",
    [
        *(["merge"], ["merge", "--dry-run"], ["conflicts"], ["diff"], ["diff", "dev"], ["log"], ["log", "--graph"]),
        *(["cherry-pick"], ["revert"], ["branch"], ["branch", "new"], ["branch", "new", "--from"], ["branch", "-d"]),
        *(["branch", "-m", "dev"], ["tag"], ["tag", "new"], ["tag", "new", "--from"], ["tag", "-d"]),
        *(["merge", "dev", "--into"], ["log", "--branch"], ["restore", "--all", "--to"]),
    ],
    ids=" ".join,
)
def test_a_ref_that_names_nothing(apart: Cli, ids, words: list[str], ref: str) -> None:
    """`anabranch merge "$UNSET"` must not succeed."""
    ran = apart(*words, ref)
    assert (ran.code in (1, 2), ran.out) == (True, "")
    assert f"'{ref}'" in ran.err
    assert (ids(), [branch["branch"] for branch in apart("branch", "--json").json]) == ([1, 2, 3, 10], ["main", "dev"])
    assert apart("tag", "--json").json == []


def test_the_history_of_a_table_that_came_by_a_merge_names_the_branches(apart: Cli) -> None:
    sql(apart, "CREATE TABLE d.new@dev (a INT)", "MERGE BRANCH dev")
    lines = [line.split() for line in apart("history", "d.new").lines]
    assert [(line[1], line[5]) for line in lines] == [("main", "MERGE"), ("dev", "CREATE")]
    assert [record["branch"] for record in apart("history", "d.new", "--json").json] == ["main", "dev"]
    assert apart("history", "d.t").lines[0].split()[4:6] == ["MERGE", "BRANCH"]
