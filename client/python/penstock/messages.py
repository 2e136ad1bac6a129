"""The messages of a job file: Feature, Order, Batch, Errors ... A dict may replace each of them."""

from __future__ import annotations

from typing import Any, List

from ._messages import CLASSES
from ._near_name import unknown

__all__ = list(CLASSES)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name not in CLASSES:
        raise AttributeError(str(unknown("message", name, CLASSES)))
    return CLASSES[name]


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
