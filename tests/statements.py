"""What the catalog asks of its database, statement by statement."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal
from unittest.mock import patch

from sqlalchemy.exc import OperationalError

from anabranch.catalog.engine import Database
from anabranch.catalog.links import Link


@contextmanager
def watched(note: Callable[[str], object]) -> Iterator[None]:
    """Tells the text of every statement, COMMIT and ROLLBACK too, right before it runs."""
    driven = Link._driven

    def told(link: Link, text: str, *work: Any) -> Any:
        note(text)
        return driven(link, text, *work)

    with patch.object(Link, "_driven", told):
        yield


@contextmanager
def cut(when: Literal["before", "after"], meanwhile: Callable[[], object] = lambda: None) -> Iterator[None]:
    """The connection breaks before or after the next commit is in; `meanwhile`: until it is tried again."""
    writing = Database.writing

    @contextmanager
    def broken(database: Database, *, relaxed: bool = False) -> Iterator[Link]:
        with ExitStack() as stack:
            if relaxed or when == "after":
                yield stack.enter_context(writing(database, relaxed=relaxed))
        if not relaxed:
            Database.writing = writing  # type: ignore[method-assign]
            meanwhile()
            with database.errors():
                raise OperationalError("COMMIT", None, ConnectionError("cut"), connection_invalidated=True)

    with patch.object(Database, "writing", broken):
        yield
        assert Database.writing is writing, "nothing was committed"
