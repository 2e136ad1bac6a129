"""Lines on standard error that a process prints only once."""

from __future__ import annotations

import sys
from typing import Set

_printed: Set[str] = set()


def say_once(text: str) -> None:
    """Prints the text unless this process has printed it before."""
    if text not in _printed:
        _printed.add(text)
        print(f"penstock: {text}", file=sys.stderr)
