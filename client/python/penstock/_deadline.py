"""How long may still be waited."""

from __future__ import annotations

import time

PIECE = 0.5  # of a wait: then it is seen what is left, and what else is due


class Deadline:
    """So many seconds from now, as who waits would count them.

    A process that was stopped (SIGSTOP, a frozen container) did not wait meanwhile, although the clock went on: what it
    waits for has had no chance to come. A wait is therefore looked at in pieces, and one that took far longer than PIECE
    counts as one that was a little late.
    """

    __slots__ = ("_last", "_left")

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds; zero or less: it is over."""
        now = time.monotonic()
        self._left -= min(now - self._last, 4 * PIECE)
        self._last = now
        return self._left
