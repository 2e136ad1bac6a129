"""Checks the arguments of penstock.torch.Loader that belong to PyTorch. The errors are this package's."""

from __future__ import annotations

import math
import warnings
from typing import Any, Dict, Mapping, Optional, Type, TypeVar, Union

import torch

from ._errors import ConfigurationError
from ._schema_types import Column

_N = TypeVar("_N")

_HOW = 'normalize={"image": penstock.torch.Normalize()}'


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def device_of(device: Union[str, int, torch.device, None]) -> Optional[torch.device]:
    if device is None:
        return None
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigurationError(
            f"device={device!r} is not a device: {first_line(error)}. Give a torch.device, or a name such as 'cuda:0'"
        ) from None


def pins_memory() -> bool:
    """Returns True if PyTorch can page-lock memory. Otherwise warns, as its DataLoader does."""
    accelerator: Any = getattr(torch, "accelerator", torch.cuda)
    if accelerator.is_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=2,
    )
    return False


def check_normalize(normalize: Any, kind: Type[_N]) -> Dict[str, _N]:
    """Returns a dict of `kind` by column. Raises ConfigurationError for other arguments."""
    if normalize is None:
        return {}
    if not isinstance(normalize, Mapping):
        raise ConfigurationError(f"normalize={normalize!r} names no column: {_HOW}")
    for name, how in normalize.items():
        if not isinstance(how, kind):
            raise ConfigurationError(f"normalize[{name!r}] is a penstock.torch.Normalize, not {how!r}: {_HOW}")
        _check_values(name, how)
    return dict(normalize)


def _check_values(name: str, how: Any) -> None:
    if not isinstance(how.dtype, torch.dtype) or not how.dtype.is_floating_point:
        raise ConfigurationError(f"normalize[{name!r}].dtype is a floating point type such as torch.float32, not {how.dtype!r}")
    for field in ("mean", "std"):
        values = _numbers(getattr(how, field))
        if values is None:
            raise ConfigurationError(
                f"normalize[{name!r}].{field} is a number for each channel, from 0 to 1, not {getattr(how, field)!r}"
            )
        if field == "std" and 0.0 in values:
            raise ConfigurationError(f"normalize[{name!r}].std holds 0, by which it would divide")


def _numbers(values: Any) -> Optional[list[float]]:
    try:
        numbers = torch.as_tensor(values, dtype=torch.float64).reshape(-1).tolist()
    except (RuntimeError, TypeError, ValueError):
        return None
    return numbers if numbers and all(map(math.isfinite, numbers)) else None


def check_normalized_column(column: Column, how: Any) -> None:
    """Raises ConfigurationError if a column is not images, or if `how` is for another number of channels."""
    if column.type != "uint8" or len(column.shape) != 3 or column.ragged:
        raise ConfigurationError(f"normalize: {column.name} is no column of images: {column.type}{list(column.shape)}")
    for field in ("mean", "std"):
        count = len(_numbers(getattr(how, field)) or ())
        if count not in (1, column.shape[2]):
            raise ConfigurationError(
                f"normalize[{column.name!r}].{field} has {count} values, and {column.name} has {column.shape[2]} channels: "
                "give one value for each channel, or one for all"
            )
