"""The real thing: a process of its own, with its streams, signals and Spark."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

ANABRANCH = [sys.executable, "-m", "anabranch.cli"]


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "ANABRANCH_LAKE": str(folder)}


def run(environment: dict[str, str], *words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ANABRANCH, *words], env=environment, input=text, capture_output=True, encoding="utf-8", timeout=240
    )


def test_output_and_errors_go_their_own_ways(environment: dict[str, str]) -> None:
    ran = run(environment, "sql", "--keep-going", text="SHOW TAGS; DROP TABLE d.nope; CREATE TAG a")
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-1] == "tag a at version 4"
    assert ran.stderr == "anabranch: error: table 'd.nope' does not exist.\n"


def test_the_console_script_is_installed() -> None:
    ran = subprocess.run([Path(sys.executable).with_name("anabranch"), "--version"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout[:10]) == (0, "anabranch ")


def test_log_starts_without_what_it_does_not_need(environment: dict[str, str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "anabranch.cli", "log"],
        env=environment, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert len(ran.stdout.splitlines()) == 5
    assert "sqlalchemy" in imported
    assert not imported & {"pyspark", "sqlglot", "rich", "pandas"}


def test_a_reader_that_goes_away_is_no_error_to_tell(environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen([*ANABRANCH, "log"], env=environment, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (141, b"")


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        *((["log"], closed, 0) for closed in ([0], [1], [2], [0, 1, 2])),
        *((["log", "--json"], [1], 0), (["describe", "d.t"], [1], 0), (["log", "nope"], [2], 1), (["sql"], [0], 0)),
        (["lgo"], [1, 2], 2),
    ],
)
def test_a_stream_may_be_closed(environment: dict[str, str], words: list[str], closed: list[int], code: int) -> None:
    process = subprocess.Popen(
        [*ANABRANCH, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: [os.close(number) for number in closed],
    )
    out, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, b"")
    assert bool(out) == (1 not in closed and words[0] == "log" and not code)


def test_ctrl_c_ends_it_quietly(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    os.mkfifo(script)
    process = subprocess.Popen(
        [*ANABRANCH, "sql", "-f", str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )
    writer = os.open(script, os.O_WRONLY)  # returns when the command has begun to read
    try:
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    finally:
        os.close(writer)
    assert (process.returncode, out, said) == (130, b"", b"anabranch: interrupted\n")


PRESSED = """
import os, signal, sys

class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                if {swallowed}:
                    raise AttributeError("partially initialized module")
                raise

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Pressing())
from anabranch.cli import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize(
    "module", ["anabranch.cli.app", "argparse", "anabranch.cli.tag", "anabranch.lake", "sqlalchemy"]
)
@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("words", [["log"], ["log", "--json"]], ids=" ".join)
def test_ctrl_c_while_modules_are_imported(
    environment: dict[str, str], module: str, swallowed: bool, words: list[str]
) -> None:
    """Some modules make an error of their own of it."""
    script = PRESSED.format(module=module, swallowed=swallowed, words=words)
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    told = '{"error": "KeyboardInterrupt", "message": "interrupted"}' if "--json" in words else "anabranch: interrupted"
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", told + "\n")


LOGGED = """
import logging, sys
from anabranch.cli import log, main

def run(settings, args):
    try:
        raise KeyboardInterrupt
    finally:
        logging.exception("while sending command")  # as py4j does

log.run = run
sys.exit(main(["log", *sys.argv[1:]]))
"""


def test_what_other_libraries_log_of_ctrl_c_is_for_debugging() -> None:
    ran = subprocess.run([sys.executable, "-c", LOGGED], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "anabranch: interrupted\n")
    ran = subprocess.run([sys.executable, "-c", LOGGED, "--debug"], capture_output=True, text=True, timeout=60)
    assert "ERROR:root:while sending command" in ran.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_a_query_prints_rows_and_nothing_of_spark(environment: dict[str, str]) -> None:
    ran = run(environment, "sql", "--limit", "2", "-c", "SELECT id, v FROM d.t ORDER BY id; SELECT 1 / 0 AS x")
    assert ran.returncode == 1
    assert [line.split() for line in ran.stdout.splitlines()] == [
        ["id", "v"],
        ["─" * 6],
        ["1", "a"],
        ["2", "b"],
        ["(2", "rows,", "…", "more", "rows:", "--limit", "0", "shows", "all)"],
    ]
    assert ran.stderr.startswith("anabranch: error: [DIVIDE_BY_ZERO] ")
    assert "WARN" not in ran.stderr
    assert "\tat " not in ran.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_a_jvm_that_does_not_start_is_told(environment: dict[str, str]) -> None:
    ran = run({**environment, "JAVA_HOME": "/no/such/java"}, "sql", "-c", "SELECT 1")
    assert ran.returncode == 1
    assert "/no/such/java" in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("anabranch: error: ")
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_ctrl_c_while_spark_starts_leaves_no_jvm_behind(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*ANABRANCH, "sql", "-c", "SELECT 1"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text():
            time.sleep(0.01)
        for _ in range(2):  # people press it again
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
        out, said = process.communicate(timeout=120)  # the JVM has the same output, so it is gone as well
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, out, said) == (130, b"", b"anabranch: interrupted\n")
