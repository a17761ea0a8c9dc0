"""Ctrl-C, remembered: some modules answer an interrupt while they are imported with an error of their own."""

from __future__ import annotations

import signal
from types import FrameType


class Ctrl:
    """Whether Ctrl-C was pressed while the block ran; only where Python would raise KeyboardInterrupt for it."""

    def __init__(self) -> None:
        self.pressed = False

    def __enter__(self) -> Ctrl:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._handle(self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) == self._press:  # Spark has a handler of its own
            self._handle(signal.default_int_handler)

    def _handle(self, handler: object) -> None:
        try:
            signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
        except ValueError:
            return  # not in the main thread, which alone is interrupted

    def _press(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True
        signal.default_int_handler(number, frame)
