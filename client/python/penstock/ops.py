"""The ops of a job's pipeline, by their names in a job file: `ops.random_resized_crop(height=224, width=224)`.

The arguments are the fields of the op, `column` (its column; default "image") and `name` (its part of the random key).
docs/augmentations.md describes them.
"""

from __future__ import annotations

from typing import Any, List

from ._messages import op_function
from ._near_name import unknown
from ._schema import SCHEMA

__all__ = list(SCHEMA.ops())


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    if name not in SCHEMA.ops():
        raise AttributeError(str(unknown("op", name, SCHEMA.ops())))
    function = globals()[name] = op_function(name)
    return function


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
