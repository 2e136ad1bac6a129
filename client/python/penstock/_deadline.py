"""The remaining time of a wait."""

from __future__ import annotations

import time

PIECE = 0.5  # seconds of a wait until the next check of the remaining time and of other work


class Deadline:
    """A deadline after `seconds`, without the time in which the process was stopped.

    A stopped process (SIGSTOP, a frozen container) does not wait, although the clock continues: the expected event has
    had no chance to occur. A wait is therefore measured in pieces, and a piece that took far longer than PIECE counts
    as only slightly late.
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
