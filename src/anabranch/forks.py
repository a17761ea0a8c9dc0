"""Forks: a forked process has a copy of everything, and must not use all of it.

Connections, threads, reserved numbers and passing files stay the parent's, and a lock may be held by a thread that the
child does not have.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, Protocol
from weakref import WeakValueDictionary


class Renewed(Protocol):
    def start_anew(self) -> None:
        """In a forked process, before anybody uses it there."""


_KNOWN: WeakValueDictionary[int, Any] = WeakValueDictionary()
_ABANDONED: list[object] = []


def renew_after_fork(thing: Renewed) -> None:
    """For as long as it lives."""
    _KNOWN[id(thing)] = thing


def abandon(thing: object) -> None:
    """What the parent goes on using is never collected here: its finalizers would end it for the parent, too."""
    _ABANDONED.append(thing)


def _renew() -> None:
    with ExitStack() as stack:  # which goes on where one of them fails, and then says so
        for thing in list(_KNOWN.values()):
            stack.callback(thing.start_anew)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
