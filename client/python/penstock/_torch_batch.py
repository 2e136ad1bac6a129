"""Converts batches of NumPy arrays to batches of tensors."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch

from . import _batch
from ._errors import ConfigurationError

_RECENT = ("uint16", "uint32", "uint64")  # PyTorch has them since 2.3


class Ragged(NamedTuple):
    """Rows of different lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`."""

    values: torch.Tensor
    row_splits: torch.Tensor


class Normalize(NamedTuple):
    """Casts and normalizes a column of uint8 images (rows, height, width, channels), on the loader's device.

    The result has the shape (rows, channels, height, width) in torch.channels_last and the type `dtype`. As in torchvision, a
    value x becomes `(x / 255 - mean) / std`.
    """

    mean: Tuple[float, ...] = (0.485, 0.456, 0.406)
    std: Tuple[float, ...] = (0.229, 0.224, 0.225)
    dtype: torch.dtype = torch.float32


class Batch(Dict[str, Any]):
    """A dict of the columns, with the origin of its rows. A value is a tensor, a `Ragged`, or a list of bytes (for ragged
    strings, a list of such lists). Batch(other) copies the columns of another dict, without the origin.
    """

    ids: Optional[torch.Tensor] = None
    valid: Optional[torch.Tensor] = None
    epoch: int = 0
    step: int = 0


# The module in which users find them.
for _public in (Ragged, Normalize, Batch):
    _public.__module__ = "penstock.torch"


def tensors_of(batch: _batch.Batch, columns: Optional[Sequence[str]]) -> Batch:
    """Returns tensors that are views of the arena. bfloat16 becomes torch.bfloat16, and strings become lists of bytes."""
    out = Batch()
    schema = _batch.columns_of(batch)
    for name in columns if columns is not None else schema:
        if name not in schema:
            out[name] = torch.from_numpy(getattr(batch, name))
            continue
        value, column = batch[name], schema[name]
        if column.string:
            out[name] = _strings(value)
        elif column.ragged:
            out[name] = Ragged(_tensor(value.values, column.type), torch.from_numpy(value.row_splits))
        else:
            out[name] = _tensor(value, column.type)
    if columns is None:  # a tuple has no such attributes
        out.ids = torch.from_numpy(batch.ids)
        out.valid = torch.from_numpy(batch.valid)
        out.epoch, out.step = batch.epoch, batch.step
    return out


def _tensor(array: Any, kind: str) -> torch.Tensor:
    if kind == "bfloat16":
        # The NumPy array holds the bits as uint16.
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if kind in _RECENT and not hasattr(torch, kind):
        remedy = "upgrade it to 2.3, or add an op to the job: cast { to: INT64 }"
        raise ConfigurationError(f"PyTorch {torch.__version__} has no {kind}: {remedy}")
    return torch.from_numpy(array)


def _strings(value: Any) -> List[Any]:
    if isinstance(value, _batch.Ragged):
        return [list(row) for row in value]
    strings: List[Any] = value.tolist()
    return strings


def mapped(batch: Batch, function: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
    """Returns a batch of the results of `function` for each tensor, except the ids and `valid`."""
    out = Batch()
    for name, value in batch.items():
        if isinstance(value, torch.Tensor):
            out[name] = function(value)
        elif isinstance(value, Ragged):
            out[name] = Ragged(function(value.values), function(value.row_splits))
        else:
            out[name] = value
    out.ids, out.valid, out.epoch, out.step = batch.ids, batch.valid, batch.epoch, batch.step
    return out


def tensors_in(batch: Batch) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []
    mapped(batch, lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def own_ids(batch: Batch) -> Batch:
    """Replaces the ids and `valid` of a batch by copies, so that they are no views of the arena. Returns the batch."""
    batch.ids = batch.ids.clone() if batch.ids is not None else None
    batch.valid = batch.valid.clone() if batch.valid is not None else None
    return batch
