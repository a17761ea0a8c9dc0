"""Run SQL statements, separated by semicolons.

They come from -c and -f in the order given, else from standard input. A query prints its first rows (--limit).
With --json every statement prints one line: an array with an object for each row, all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.cli import inputs
from anabranch.cli.exits import OK, Usage, report
from anabranch.cli.output import cell, print_json_rows, print_table
from anabranch.cli.progress import quiet, working
from anabranch.cli.refs import count
from anabranch.cli.rows import fetched, rows_of
from anabranch.cli.settings import Settings
from anabranch.errors import SqlError

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.commands.result import Result
    from anabranch.lake import Lake

DEFAULT_LIMIT = 100


@dataclass(frozen=True)
class Text:
    """Statements given on the command line."""

    text: str

    def read(self) -> str:
        return self.text


@dataclass(frozen=True)
class File:
    """Statements in a file; `-` is standard input."""

    path: str

    def read(self) -> str:
        return inputs.read(self.path)


def arguments(parser: argparse.ArgumentParser) -> None:
    # One list for both, so that they run in the order given.
    parser.add_argument(
        "-c", "--command", metavar="TEXT", type=Text, action="append", dest="sources", help="statements"
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", type=File, action="append", dest="sources", help="a file of them; - is stdin"
    )
    parser.add_argument(
        "--limit", metavar="ROWS", type=count, default=DEFAULT_LIMIT, help="rows of a query; 0 for all (100)"
    )
    parser.add_argument("--keep-going", action="store_true", help="run the rest after a statement that fails")


def run(settings: Settings, args: argparse.Namespace) -> int:
    sources: Sequence[Text | File] = args.sources or ()
    if not sources:
        if sys.stdin.isatty():
            raise Usage("nothing to run: give -c TEXT or -f FILE, or pipe statements in.")
        sources = [File(inputs.STDIN)]
    from anabranch.sql import spans  # brings sqlglot

    # All of it is read before anything runs: an unclosed string in the last file spoils no work.
    statements = [(text, *span) for text in [source.read() for source in sources] for span in spans(text)]
    code = OK
    with settings.open() as lake, quiet(unless=settings.debug):
        for text, start, end in statements:
            try:
                with _placed(text, start):
                    _run(lake, text[start:end], settings, args.limit)
            except Exception as error:
                if not args.keep_going or isinstance(error, BrokenPipeError):
                    raise
                failed = report(error, settings)
                code = code or failed
    return code


@contextmanager
def _placed(text: str, start: int) -> Iterator[None]:
    """Errors of the statement that starts there say where they are in the whole text."""
    try:
        yield
    except SqlError as error:
        raise error.within(text, start) from error.__cause__


def _run(lake: Lake, statement: str, settings: Settings, limit: int) -> None:
    from anabranch.commands.result import Result

    with working("running…"):
        answer = lake.sql(statement)
        found = answer if isinstance(answer, Result) else fetched(answer, None if settings.json else limit)
    if isinstance(found, Result):
        _print_result(found, settings)
    elif settings.json:
        print_json_rows(found.column_names, rows_of(found))
    else:
        _print_query(found, limit)


def _print_result(result: Result, settings: Settings) -> None:
    if settings.json:
        print_json_rows(result.columns, result)
    elif result.columns == ["status"]:
        for (status,) in result:
            print(status)
    elif len(result.columns) == 1 and result.columns[0].startswith("rows_"):
        for (rows,) in result:
            print(f"{rows:,} {'row' if rows == 1 else 'rows'} {result.columns[0].removeprefix('rows_')}")
    else:
        print_table(result.columns, result)


def _print_query(found: pa.Table, limit: int) -> None:
    shown = found.slice(0, limit) if limit else found
    print_table(found.column_names, [[cell(value) for value in row] for row in rows_of(shown)])
    counted = f"{shown.num_rows} row" if shown.num_rows == 1 else f"{shown.num_rows} rows"
    more = shown.num_rows < found.num_rows
    print(f"({counted}, … more rows: --limit 0 shows all)" if more else f"({counted})")
