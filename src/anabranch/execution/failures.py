"""Spark's exceptions as ours: an error that a kernel raised comes back as itself, an analysis error as SqlError."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch import errors

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

_OURS = re.compile(r"anabranch\.errors\.(\w+): (.*?)(?:\n\s*$|\n\n|\n\tat |\Z)", re.DOTALL)


_FILE = re.compile(r"(?:reading file|read file|file:) ?(file:\S+?\.parquet)")
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)
_NO_ROOM = re.compile("No space left on device|Disk quota exceeded|File too large")
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_OUR_MODULES = {"anabranch", "numpy", "pyarrow", "pyroaring", "sqlglot", "sqlalchemy", "fsspec", "pandas"}
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_PYTHON = re.compile(r"^(\w[\w.]*(?:Error|Exception|Invalid|Warning): .+)$", re.MULTILINE)


_PLACE = re.compile(r";? \(?line \d+,? pos \d+.*", re.DOTALL)
"""Where Spark found it in the text that it got, which is not the user's, and the plan that it had made so far."""


@contextmanager
def spark_failures(writing: str | None = None, labels: Sequence[str] = (), text: str = "") -> Iterator[None]:
    """`writing`: the path that Spark itself writes to meanwhile. `text`: what the user wrote, and `labels`: the columns
    of the tables that it reads."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        yield
    except ParseException as error:
        raise _syntax_error(str(error), text) from error
    except AnalysisException as error:
        raise _unknown_column(error, labels) or errors.SqlError(analysis_message(str(error))) from error
    except PySparkException as error:
        raise translated(error, writing) from error
    except Exception as error:
        # Ctrl-C cancels the jobs, and what comes back is Spark's word for that.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if type(error).__module__.startswith("py4j"):
            raise translated(error, writing) from error
        raise


def _syntax_error(message: str, text: str) -> errors.SqlError:
    """Spark's text is not the user's, so its position is found again by the word that it stumbled over."""
    near = _NEAR.search(message)
    word = near.group(1) if near else None
    found = "the end" if near and word is None else word or "this"
    places = [place.start() for place in re.finditer(re.escape(word), text)] if word else [len(text.rstrip())]
    if near is None or len(places) != 1:
        return errors.SqlError(analysis_message(message.strip()))
    return errors.SqlError(f"the query does not parse: unexpected {found}", text, places[0])


_NEAR = re.compile(r"Syntax error at or near (?:end of input|'([^']+)')")


def _unknown_column(error: PySparkException, labels: Sequence[str]) -> errors.NotFound | None:
    """Spark saw only the columns that are needed, so it cannot know the nearest one."""
    if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        return None
    found = error.getMessageParameters() or {}
    *_, name = names = _NAME.findall(found.get("objectName", "")) or [""]
    if not name:
        return None
    known = list(dict.fromkeys([*labels, *_NAME.findall(found.get("proposal", ""))]))
    shown = errors.nearest(name.replace("``", "`"), known)
    hint = f"Did you mean {errors.quoted(shown)}?" if shown else errors.columns_are(known)
    return errors.NotFound("column", ".".join(names).replace("``", "`"), hint=hint)


_NAME = re.compile("`((?:[^`]|``)+)`")


def analysis_message(text: str) -> str:
    """Spark's own words without its plan and its code."""
    return _STATE.sub("", _PLACE.sub("", _first_lines(text))).rstrip("; ")


def translated(error: Exception, writing: str | None = None) -> errors.AnabranchError:
    """The error behind a failed job."""
    text = str(error)
    found = _OURS.findall(text)
    if found:
        name, message = found[-1]
        kind = getattr(errors, name, errors.AnabranchError)
        ours = kind.__new__(kind)
        Exception.__init__(ours, _STATE.sub("", message.strip()))
        return ours
    lacking = _NO_MODULE.search(text)
    if lacking and lacking.group(1) in _OUR_MODULES:
        return errors.Refused(
            f"Spark's Python workers lack the module '{lacking.group(1)}': they run another Python than this process. "
            f"Set the environment variable PYSPARK_PYTHON, or 'spark.pyspark.python', to '{sys.executable}' before the "
            "Spark session starts; on a cluster, install anabranch for its Python."
        )
    full = _NO_ROOM.search(text)
    if full and writing is not None:
        return errors.StorageFull(writing, full.group())
    file = _FILE.search(text)
    if file:
        causes = _CAUSE.findall(text)
        return errors.StorageError(f"'{file.group(1)}' cannot be read: {(causes or ['it is broken'])[-1].strip()}.")
    python = _PYTHON.findall(text)
    return errors.ExpressionError(python[-1] if python else _first_lines(text))


def _first_lines(text: str) -> str:
    """Spark's own words without its stack trace."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("JVM stacktrace", "\tat ", "  at ")) or (lines and not line.strip()):
            break
        lines.append(line)
    return "\n".join(lines) or text[:500]
