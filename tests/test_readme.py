"""The README is true: its Python block and its shell session give the output that it shows."""

import doctest
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.cli import main
from anabranch.cli.exits import CONFLICT, OK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).parents[1] / "README.md"

# What differs from run to run, as the README has it -> as any run has it.
VOLATILE = [
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+\+00:00)?", "<time>"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def steady(text: str) -> str:
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text


@pytest.mark.spark
def test_python(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("python")
    test = doctest.DocTestParser().get_doctest(block, {}, "README", str(README), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert result.attempted > 8
    assert not result.failed, "".join(told)


def test_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANABRANCH_AUTHOR", "you")
    (block,) = blocks("console")
    for step in block.removeprefix("$ ").split("\n$ "):
        line, _, shown = step.partition("\n")
        words = shlex.split(line)
        if words[0] == "export":
            name, value = words[1].split("=")
            monkeypatch.setenv(name, value)
            continue
        assert words[0] == "anabranch"
        code, said = main(words[1:]), capsys.readouterr()
        assert code == (CONFLICT if "anabranch: error" in shown else OK), said.err
        assert steady((said.out + said.err).strip("\n")) == steady(shown.strip("\n"))
