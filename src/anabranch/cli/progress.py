"""A line on stderr that says what takes so long, if someone is watching; and other logs kept away from it."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows `what` with a spinner until the block ends; the library's own log replaces the text."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # slow to import, and useless in a pipe

    with Console(file=sys.stderr).status(what) as status, _told_by_log(status):
        yield


@contextmanager
def _told_by_log(status: Status) -> Iterator[None]:
    handler = _Showing(status)
    logger = logging.getLogger("anabranch")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _Showing(logging.Handler):
    def __init__(self, status: Status) -> None:
        super().__init__(logging.INFO)
        self._status = status

    def emit(self, record: logging.LogRecord) -> None:
        self._status.update(record.getMessage())


@contextmanager
def unheard(*, unless: bool = False) -> Iterator[None]:
    """Log records of other libraries go nowhere: py4j answers Ctrl-C with a page of them."""
    if unless:
        yield
        return
    # With a handler of its own, the root logger prints nothing by itself.
    nowhere = logging.NullHandler()
    logging.getLogger().addHandler(nowhere)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(nowhere)


@contextmanager
def quiet(*, unless: bool = False) -> Iterator[None]:
    """Gives processes that start meanwhile a stderr of their own; `sys.stderr` stays where it was.

    The JVM warns about itself before any logging is configured, and Python workers write to its stderr. What they said
    is shown only if the block fails with an error that this library does not know: then Spark may not have started.
    """
    from anabranch.errors import AnabranchError

    with ExitStack() as closing:
        if unless or not _is_real_stderr():
            yield
            return
        said = closing.enter_context(tempfile.TemporaryFile())
        ours, own = sys.stderr, os.dup(2)
        os.dup2(said.fileno(), 2)
        sys.stderr = closing.enter_context(open(own, "w", buffering=1, encoding=ours.encoding, errors=ours.errors))
        try:
            yield
        except AnabranchError:
            raise
        except Exception:
            said.seek(0)
            print(said.read().decode(errors="replace")[-2_000:].rstrip(), file=sys.stderr)
            raise
        finally:
            sys.stderr.flush()
            sys.stderr = ours
            os.dup2(own, 2)


def _is_real_stderr() -> bool:
    try:
        return sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False
