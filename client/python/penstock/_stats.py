"""Statistics of the loops' waits for batches."""

from __future__ import annotations

import time
from typing import Any, Dict, Mapping, Optional


class LoopStats:
    """Counts of all loops of one loader."""

    def __init__(self) -> None:
        self.batches = 0
        self.rows = 0
        self.bytes = 0
        self.waited = 0.0
        self.longest = 0.0
        self.first: Optional[float] = None
        self._since: Optional[float] = None  # when the first batch arrived
        self._until = 0.0

    def delivered(self, rows: int, held_bytes: int, waited: float) -> None:
        now = time.monotonic()
        self.batches += 1
        self.rows += rows
        self.bytes += held_bytes
        if self._since is None:
            self._since = now
            self.first = waited
        else:
            self.waited += waited
            self.longest = max(self.longest, waited)
        self._until = now

    def numbers(self) -> Dict[str, float]:
        seconds = self._until - self._since if self._since is not None else 0.0
        later = self.batches - 1
        return {
            "batches": float(self.batches),
            "rows": float(self.rows),
            "bytes": float(self.bytes),
            "seconds": seconds,
            "waited_seconds": self.waited,
            "waited_share": self.waited / seconds if seconds > 0 else 0.0,
            "longest_wait_seconds": self.longest,
            "first_batch_seconds": self.first or 0.0,
            "batches_per_second": later / seconds if seconds > 0 else 0.0,
            "rows_per_second": self.rows * later / self.batches / seconds if seconds > 0 else 0.0,
        }


def feeder_numbers(answer: Mapping[str, Any]) -> Dict[str, float]:
    """Returns the numbers of the feeder's answer, under names that begin with "feeder_"."""
    numbers = {
        f"feeder_{name}": float(value)
        for name, value in answer.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    for dataset in answer.get("datasets", ()):
        for name in ("rows", "passes"):
            numbers[f"feeder_dataset_{dataset['name']}_{name}"] = float(dataset[name])
    return numbers
