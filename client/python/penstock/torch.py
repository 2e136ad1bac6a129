"""Batches as PyTorch's tensors.

    loader = penstock.torch.Loader("train.textproto", data_root="/data", columns=("image", "label"))
    for images, labels in loader:
        ...
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import torch

from . import _batch
from ._cuda import Cuda, keep_until, locked_arena, settle, wait_for_copies
from ._deadline import Deadline
from ._errors import ConfigurationError
from ._feeder import FeederOptions
from ._loader import BaseLoader
from ._loader import Loader as _NumpyLoader
from ._map import AheadLoader, Work
from ._ranks import Place
from ._stream import Offer, Stream

__all__ = ["Batch", "Loader", "Normalize", "Ragged"]

#: What `columns` may name beside the job's columns, which come first.
_OF_ROWS = ("ids", "sources", "valid")


class Ragged(NamedTuple):
    """Rows of unlike lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`."""

    values: torch.Tensor
    row_splits: torch.Tensor


class Normalize(NamedTuple):
    """What becomes of a column of uint8 images (rows, height, width, channels), on the device where there is one.

    (rows, channels, height, width) in torch.channels_last, of `dtype`, `(x / 255 - mean) / std`, as torchvision has it.
    """

    mean: Tuple[float, ...] = (0.485, 0.456, 0.406)
    std: Tuple[float, ...] = (0.229, 0.224, 0.225)
    dtype: torch.dtype = torch.float32


class Batch(Dict[str, Any]):
    """A dict of tensors (`Ragged`, lists of bytes), with where its rows come from. What rebuilds it as a dict may do so."""

    ids: Optional[torch.Tensor] = None
    valid: Optional[torch.Tensor] = None
    epoch: int = 0
    step: int = 0


class Loader(AheadLoader[Any]):
    """As penstock.Loader, with tensors. Beyond its arguments:

    columns     a tuple of these columns' tensors for each batch ("valid", "ids" and "sources" may be among them); else a
                dict of all (`Batch`)
    pin_memory  tensors are copied once, into memory of PyTorch's that `.to(device, non_blocking=True)` copies from while the
                CPU goes on. Else they look at the arena, without a copy, and `non_blocking` gains nothing
    device      the copy is this loader's: the next batches are on their way while the step runs
    normalize   {"image": penstock.torch.Normalize(...)}: cast and normalized behind the copy, so uint8 crosses the bus
    ahead       with device: batches that are on their way before they are asked for
    register    with device: the arena is page-locked (cudaHostRegister) where batches lie, and batches are copied from there,
                not through page-locked memory of PyTorch's. The feeder keeps its memory then; the first loader's to say
    """

    def __init__(
        self,
        job: Any,
        *,
        columns: Optional[Sequence[str]] = None,
        pin_memory: bool = False,
        device: Union[str, int, torch.device, None] = None,
        normalize: Optional[Mapping[str, Normalize]] = None,
        ahead: int = 1,
        register: bool = False,
        **arguments: Any,
    ) -> None:
        self._columns = tuple(columns) if columns is not None else None
        self._normalize = dict(normalize or {})
        self._pin_memory = pin_memory
        self._device = torch.device(device) if device is not None else None
        if ahead < 0:
            raise ConfigurationError(f"ahead={ahead} is less than 0")
        on_cuda = self._device is not None and self._device.type == "cuda"
        if register and not on_cuda:
            raise ConfigurationError(f"register=True page-locks memory for device='cuda', not for device={device!r}")
        self._register = register
        super().__init__((_Rows if register else _NumpyLoader)(job, **arguments), ahead if on_cuda else 0)

    def _work(self) -> Work[Any]:
        self._check_columns()
        finishing = _Finishing(self._columns, self._normalize)
        if self._device is not None and self._device.type == "cuda":
            return _OnDevice(finishing, self._columns, Cuda(self._device), self._loader, self._register)
        pin: Optional[Callable[[torch.Tensor], torch.Tensor]] = torch.Tensor.pin_memory if self._pin_memory else None
        return _OnHost(finishing, self._columns, pin, self._device)

    def _check_columns(self) -> None:
        schema = self.schema
        for name in (*(self._columns or ()), *self._normalize):
            if name not in schema and (name not in _OF_ROWS or name in self._normalize):
                raise ConfigurationError(f"no column {name!r}; there are {', '.join(schema)}")
        for name in self._normalize:
            column = schema[name]
            if column.type != "uint8" or len(column.shape) != 3 or column.ragged:
                raise ConfigurationError(f"normalize: {name} is no column of images: {column.type}{list(column.shape)}")


def tensors_of(batch: _batch.Batch, columns: Optional[Sequence[str]]) -> Batch:
    """Views of the arena; bfloat16 is torch.bfloat16, strings are lists of bytes."""
    out = Batch()
    schema = batch._layout.columns
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
    if columns is None:  # a tuple has none of these
        out.ids = torch.from_numpy(batch.ids)
        out.valid = torch.from_numpy(batch.valid)
        out.epoch, out.step = batch.epoch, batch.step
    return out


def _tensor(array: Any, kind: str) -> torch.Tensor:
    if kind == "bfloat16":
        # NumPy has the bits as uint16, which older releases of PyTorch do not know.
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _strings(value: Any) -> List[Any]:
    if isinstance(value, _batch.Ragged):
        return [list(row) for row in value]
    strings: List[Any] = value.tolist()
    return strings


def _mapped(batch: Batch, function: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
    """The same batch with `function` of each tensor."""
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


def _tensors(batch: Batch) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []
    _mapped(batch, lambda tensor: found.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return found


def _own_ids(batch: Batch) -> Batch:
    """Where the columns are copies, ids are too: nothing looks at the arena any more."""
    batch.ids = batch.ids.clone() if batch.ids is not None else None
    batch.valid = batch.valid.clone() if batch.valid is not None else None
    return batch


class _Finishing:
    """The last steps of a batch, wherever its tensors are."""

    def __init__(self, columns: Optional[Tuple[str, ...]], normalize: Dict[str, Normalize]) -> None:
        self._columns = columns
        self._normalize = normalize
        self._factors: Dict[str, Tuple[torch.Tensor, torch.Tensor]] = {}

    def normalized(self, batch: Batch) -> Batch:
        for name, how in self._normalize.items():
            if name in batch:
                batch[name] = self._normalized(name, batch[name], how)
        return batch

    def _normalized(self, name: str, image: torch.Tensor, how: Normalize) -> torch.Tensor:
        if name not in self._factors:
            mean, std = (torch.tensor(values, dtype=torch.float32, device=image.device) for values in (how.mean, how.std))
            self._factors[name] = (1 / (255 * std)).to(how.dtype), (mean / std).to(how.dtype)
        scale, offset = self._factors[name]
        # (rows, height, width, channels) seen as (rows, channels, height, width) is channels_last.
        return image.to(how.dtype).mul_(scale).sub_(offset).permute(0, 3, 1, 2)

    def shaped(self, batch: Batch) -> Any:
        return batch if self._columns is None else tuple(batch[name] for name in self._columns)


class _OnHost(Work[Any]):
    def __init__(
        self,
        finishing: _Finishing,
        columns: Optional[Tuple[str, ...]],
        pin: Optional[Callable[[torch.Tensor], torch.Tensor]],
        device: Optional[torch.device],
    ) -> None:
        self._finishing = finishing
        self._columns = columns
        self._pin = pin
        self._device = device

    def start(self, batch: _batch.Batch) -> Batch:
        tensors = tensors_of(batch, self._columns)
        if self._pin is not None:
            tensors = _own_ids(_mapped(tensors, self._pin))
        if self._device is not None and self._device.type != "cpu":
            tensors = _mapped(tensors, lambda tensor: tensor.to(self._device))
        return self._finishing.normalized(tensors)

    def finish(self, started: Batch) -> Any:
        return self._finishing.shaped(started)


class _Rows(_NumpyLoader):
    """With a feeder whose pages stay, so that they can be page-locked."""

    def _options(self, place: Place) -> FeederOptions:
        return super()._options(place)._replace(keep_pages=True)

    def _fetch_short_of_memory(self, stream: Stream, deadline: Deadline, until: Optional[int]) -> Offer:
        wait_for_copies()
        return super()._fetch_short_of_memory(stream, deadline, until)


class _OnDevice(Work[Any]):
    """Arena, page-locked memory, device: the second copy runs while the trainer's step does.

    With `register` the first copy is left out: the arena itself is page-locked, and a batch is kept until it was copied.
    """

    def __init__(
        self,
        finishing: _Finishing,
        columns: Optional[Tuple[str, ...]],
        cuda: Cuda,
        loader: BaseLoader[_batch.Batch],
        register: bool,
    ) -> None:
        self._finishing = finishing
        self._columns = columns
        self._cuda = cuda
        self._loader = loader
        self._register = register

    def start(self, batch: _batch.Batch) -> Tuple[Batch, Any, List[torch.Tensor]]:
        settle()
        tensors = _own_ids(tensors_of(batch, self._columns))
        sources: List[torch.Tensor] = []
        to_device = self._registered(sources) if self._register else self._pinned
        with self._cuda.stream():
            there = self._finishing.normalized(_mapped(tensors, to_device))
            return there, self._cuda.event(), sources

    def finish(self, started: Tuple[Batch, Any, List[torch.Tensor]]) -> Any:
        batch, event, sources = started
        if sources:
            keep_until(event, sources)
        self._cuda.join(event, _tensors(batch))
        return self._finishing.shaped(batch)

    def _pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        # Where all columns go this way the batch's slot is free again.
        return self._cuda.to_device(self._cuda.pinned(tensor))

    def _registered(self, sources: List[torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
        assert self._loader._stream is not None
        locked = locked_arena(self._loader._stream.feeder, self._cuda)

        def to_device(tensor: torch.Tensor) -> torch.Tensor:
            size = tensor.numel() * tensor.element_size()
            borders = locked.borders(tensor.data_ptr(), size) if locked is not None else None
            if borders is None:
                return self._pinned(tensor)
            sources.append(tensor)
            return self._cuda.to_device_in_parts(tensor, borders)

        return to_device
