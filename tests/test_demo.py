"""`make demo` tells its story to the end: changes on both sides, their merge, a conflict resolved, the graph."""

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
GRAPH = r"""
* 10 main
* 9 main
* 8 main
|\
| * 7 cleanup
* | 7 main
* | 6 main
|\|
* | 5 main
* | 4 main
| * 6 cleanup
| * 5 cleanup
| * 4 cleanup
|/
* 3 main
* 2 main
* 1 main
* 0 main
"""


def answers(told: str, statement: str) -> list[list[str]]:
    """The lines that came of a statement, for each time that one which begins so was run."""
    found = re.findall(rf"^> {re.escape(statement)}[^;]*;\n(.*?)\n\n", told, re.MULTILINE | re.DOTALL)
    return [text.splitlines() for text in found]


def last(told: str, statement: str) -> list[str]:
    """The last of these lines of each, without the spaces that make it a table."""
    return [" ".join(lines[-1].split()) for lines in answers(told, statement)]


@pytest.mark.spark
def test_demo(spark: "SparkSession", capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(DEMO))["main"]()
    told = capsys.readouterr().out
    assert re.search(r"\n\nDone in \d+ s\. The same from a shell: anabranch --help\n$", told)
    assert last(told, "DIFF main cleanup") == ["shop.orders rows changed 0 101 200"]

    assert last(told, "MERGE BRANCH cleanup WITH (detect = 'row')") == [
        "shop.orders column, delete, update 100 200 version 6"
    ]
    # On the branch, and with what main had inserted meanwhile.
    assert last(told, "SELECT status, count(*)") == ["open 99800 49850100.00", "open 99801 49850112.50"]

    assert told.count("refused: ") == 1
    ((refused, *_),) = answers(told, "MERGE BRANCH cleanup WITH (detect = 'cell')")
    assert refused.strip() == "refused: 'cleanup' does not merge into 'main': 1 conflict. Nothing was changed."
    (shown,) = answers(told, "SHOW CONFLICTS IN cleanup")
    assert {"status=audit", "status=paid", "status=fraud"} <= set(" ".join(shown).replace(",", " ").split())
    assert last(told, "SELECT id, customer, amount, status") == ["1999 customer 499 1998.00 fraud"]
    assert last(told, "RESTORE TABLE shop.orders TO VERSION 8") == ["RESTORE: version 10"]

    ((header, _, *lines),) = answers(told, "SHOW LOG GRAPH")
    first, rest = header.index("graph"), header.index("version")
    graph = [[line[first:rest].rstrip(), *line[rest:].split()] for line in lines]
    assert [" ".join([drawn, *commit[:1], *commit[3:4]]) for drawn, *commit in graph] == GRAPH.split("\n")[1:-1]
