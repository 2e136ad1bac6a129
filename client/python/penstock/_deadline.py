"""The remaining time of a wait."""

from __future__ import annotations

import time

PIECE = 0.5  # seconds between two checks of a wait


class Deadline:
    """A deadline after `seconds`, without the time in which the process was stopped.

    The clock of a stopped process (SIGSTOP, a frozen container) continues, but the expected event cannot occur. A wait
    is therefore measured in pieces, and a piece counts for at most 4 times PIECE.
    """

    __slots__ = ("_last", "_left")

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """The remaining seconds. Zero or less: the deadline has passed."""
        now = time.monotonic()
        self._left -= min(now - self._last, 4 * PIECE)
        self._last = now
        return self._left
