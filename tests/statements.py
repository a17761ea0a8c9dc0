"""What the catalog asks of its database, statement by statement."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

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
