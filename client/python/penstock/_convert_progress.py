"""The line of `convert` that shows rate and time left on a terminal."""

from __future__ import annotations

import sys
import time

_LEAST = 0.2  # s between two changes of the line


def duration(seconds: float) -> str:
    """Returns "12 s", "5 min" or "2 h 05 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """Shows progress on standard error if that is a terminal. `total` is 0 if the number of rows is not known."""

    def __init__(self, done: int, total: int) -> None:
        self._first = self._done = done
        self._total = total
        self._begin = time.monotonic()
        self._drawn = 0.0
        self._shown = sys.stderr.isatty()

    def add(self, rows: int) -> None:
        self._done += rows
        now = time.monotonic()
        if self._shown and now - self._drawn >= _LEAST:
            self._drawn = now
            sys.stderr.write(f"\r\x1b[K{self.text(now)}")
            sys.stderr.flush()

    def text(self, now: float) -> str:
        rate = (self._done - self._first) / max(now - self._begin, 1e-9)
        line = f"{self._done:,} rows, {rate:,.0f} rows/s"
        if not self._total:
            return line
        left = f", {duration((self._total - self._done) / rate)} left" if rate > 0 else ""
        return f"{100 * self._done // self._total} %, {line}{left}"

    def end(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = 0.0
