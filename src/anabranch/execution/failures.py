"""Spark's exceptions as ours: an error that a kernel raised comes back as itself, an analysis error as SqlError."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch import errors

_OURS = re.compile(r"anabranch\.errors\.(\w+): (.*?)(?:\n\s*$|\n\n|\n\tat |\Z)", re.DOTALL)


_FILE = re.compile(r"(?:reading file|read file|file:) ?(file:\S+?\.parquet)")
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)
_NO_ROOM = re.compile("No space left on device|Disk quota exceeded|File too large")
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_PYTHON = re.compile(r"^(\w[\w.]*(?:Error|Exception|Invalid|Warning): .+)$", re.MULTILINE)


@contextmanager
def spark_failures(writing: str | None = None) -> Iterator[None]:
    """`writing`: the path that Spark itself writes to meanwhile."""
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        yield
    except (ParseException, AnalysisException) as error:
        raise errors.SqlError(_first_lines(str(error))) from error
    except PySparkException as error:
        raise translated(error, writing) from error
    except Exception as error:
        # Ctrl-C cancels the jobs, and what comes back is Spark's word for that.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if type(error).__module__.startswith("py4j"):
            raise translated(error, writing) from error
        raise


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
