"""Where a process begins: what takes time is imported where Ctrl-C is awaited.

Nothing is done by then, so that an interrupt is told in a word. This module itself imports nothing but `sys`.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code; no exception leaves."""
    ctrl = None
    try:
        from anabranch.cli.ctrl import Ctrl

        with Ctrl() as ctrl:
            from anabranch.cli.app import run

            return run(argv, ctrl)
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt) and not (ctrl and ctrl.pressed):
            raise
    words = sys.argv[1:] if argv is None else argv
    told = '{"error": "KeyboardInterrupt", "message": "interrupted"}' if "--json" in words else "anabranch: interrupted"
    print(told, file=sys.stderr, flush=True)
    return INTERRUPTED
