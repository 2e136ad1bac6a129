"""The work of a loop of penstock.torch.Loader: makes tensors on the host, or on a CUDA device ahead of the loop."""

from __future__ import annotations

from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple

import torch

from . import _batch
from ._ahead import Work
from ._columns import Selection
from ._core import Core
from ._cuda import Cuda, keep_until, locked_arena, settle
from ._errors import ConfigurationError, MachineError
from ._schema_types import Column
from ._torch_arguments import check_normalized_column, first_line, pins_memory
from ._torch_batch import Batch, Normalize, mapped, own_ids, tensors_in, tensors_of


class MakeWork:
    """Creates the work of one loop. Holds no reference to the loader, which closes when it is destroyed."""

    def __init__(
        self,
        selection: Selection,
        normalize: Dict[str, Normalize],
        pin_memory: bool,
        device: Optional[torch.device],
        register: bool,
    ) -> None:
        self._selection = selection
        self._normalize = normalize
        self._pin_memory = pin_memory
        self._device = device
        self._register = register

    def __call__(self, core: Core) -> Work[Any]:
        self._check_columns(core.started().layout.columns)
        finishing = _Finishing(self._selection, self._normalize)
        names = self._selection.names
        if self._device is not None and self._device.type == "cuda":
            return _OnDevice(finishing, names, _cuda_of(self._device), core if self._register else None)
        return _OnHost(finishing, names, _pinned if self._pin_memory and pins_memory() else None, self._device)

    def _check_columns(self, schema: Dict[str, Column]) -> None:
        self._selection.check(schema)
        for name, how in self._normalize.items():
            if name not in schema:
                raise ConfigurationError(f"normalize: no column {name!r}; there are {', '.join(schema)}")
            check_normalized_column(schema[name], how)


def _cuda_of(device: torch.device) -> Cuda:
    try:
        return Cuda(device)
    except (AssertionError, RuntimeError) as error:  # PyTorch raises these for a missing GPU or driver
        raise ConfigurationError(
            f"device={str(device)!r} cannot be used: {first_line(error)}. Name a device that PyTorch finds "
            "(torch.cuda.device_count()), or leave device out"
        ) from error


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    return _page_locked(tensor, torch.Tensor.pin_memory, "pin_memory=True", "Leave pin_memory out")


def _page_locked(
    tensor: torch.Tensor, pin: Callable[[torch.Tensor], torch.Tensor], argument: str, without: str
) -> torch.Tensor:
    """Returns a page-locked copy. Raises MachineError, which names the loader's argument, if PyTorch cannot make it."""
    try:
        return pin(tensor)
    except RuntimeError as error:
        raise MachineError(
            f"{argument}: PyTorch cannot page-lock {tensor.numel() * tensor.element_size()} bytes: {first_line(error)}. "
            f"{without}, or give this process more memory that it may lock"
        ) from error


class _Finishing:
    """The last steps of a batch, on the host or on a device."""

    def __init__(self, selection: Selection, normalize: Dict[str, Normalize]) -> None:
        self._selection = selection
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
        # (rows, height, width, channels) viewed as (rows, channels, height, width) is channels_last.
        return image.to(how.dtype).mul_(scale).sub_(offset).permute(0, 3, 1, 2)

    def shaped(self, batch: Batch) -> Any:
        return batch if self._selection.names is None else self._selection.of(batch.__getitem__)


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
            tensors = own_ids(mapped(tensors, self._pin))
        if self._device is not None and self._device.type != "cpu":
            tensors = mapped(tensors, self._to_device)
        return self._finishing.normalized(tensors)

    def finish(self, started: Batch) -> Any:
        return self._finishing.shaped(started)

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        try:
            return tensor.to(self._device)
        except (AssertionError, ImportError, NotImplementedError, RuntimeError) as error:
            raise ConfigurationError(f"device={str(self._device)!r} cannot be used: {first_line(error)}") from error


class _OnDevice(Work[Any]):
    """Copies from the arena to page-locked memory, and from there to the device while the trainer's step runs.

    With `register`, the core whose feeder has the page-locked arena, it copies from the arena to the device, and keeps
    the batch until the copy has ended.
    """

    def __init__(
        self,
        finishing: _Finishing,
        columns: Optional[Tuple[str, ...]],
        cuda: Cuda,
        register: Optional[Core],
    ) -> None:
        self._finishing = finishing
        self._columns = columns
        self._cuda = cuda
        self._register = register

    def start(self, batch: _batch.Batch) -> Tuple[Batch, Any, List[torch.Tensor]]:
        settle()
        tensors = own_ids(tensors_of(batch, self._columns))
        sources: List[torch.Tensor] = []
        to_device = self._registered(self._register, sources) if self._register is not None else self._pinned
        with self._cuda.stream():
            there = self._finishing.normalized(mapped(tensors, to_device))
            return there, self._cuda.event(), sources

    def finish(self, started: Tuple[Batch, Any, List[torch.Tensor]]) -> Any:
        batch, event, sources = started
        if sources:
            keep_until(event, sources)
        self._cuda.join(event, tensors_in(batch))
        return self._finishing.shaped(batch)

    def surroundings(self) -> Callable[[], ContextManager[Any]]:
        return self._cuda.on_current_stream()

    def _pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        # After the copies of all columns, no tensor holds the batch's slot of the arena.
        return self._cuda.to_device(_page_locked(tensor, self._cuda.pinned, "device='cuda'", "Leave device out"))

    def _registered(self, core: Core, sources: List[torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
        assert core.stream is not None
        locked = locked_arena(core.stream.feeder, self._cuda)

        def to_device(tensor: torch.Tensor) -> torch.Tensor:
            size = tensor.numel() * tensor.element_size()
            borders = locked.borders(tensor.data_ptr(), size) if locked is not None else None
            if borders is None:
                return self._pinned(tensor)
            sources.append(tensor)
            return self._cuda.to_device_in_parts(tensor, borders)

        return to_device
