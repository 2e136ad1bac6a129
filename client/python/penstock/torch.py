"""Batches as PyTorch tensors.

    loader = penstock.torch.Loader("train.textproto", data_root="/data", columns=("image", "label"))
    for images, labels in loader:
        ...
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

import torch

from ._arguments import check_number
from ._base import core_of
from ._columns import Columns, Selection
from ._cuda import wait_for_copies
from ._errors import ConfigurationError
from ._loader import Loader as _NumpyLoader
from ._map import AheadLoader
from ._torch_arguments import check_normalize, device_of
from ._torch_batch import Batch, Normalize, Ragged
from ._torch_work import MakeWork
from ._tracebacks import public

__all__ = ["Batch", "Loader", "Normalize", "Ragged"]


class Loader(AheadLoader[Any]):
    """Does what penstock.Loader does, with tensors. It has these arguments in addition to those of penstock.Loader:

    columns     columns by name ("valid", "ids", "sources", "datasets" too): a batch is a tuple of their tensors. One name: each
                batch is that column's tensor. Default: each batch is a dict of all columns (`Batch`)
    pin_memory  copies tensors into page-locked memory of PyTorch: `.to(device, non_blocking=True)` then copies while the CPU
                continues. Otherwise tensors are views of the arena, and `non_blocking` has no effect
    device      the device of the tensors. The loader copies batches to a CUDA device ahead of the loop, while the step runs
    normalize   {"image": penstock.torch.Normalize(...)}: casts and normalizes after the copy, so that the bus transfers uint8
    ahead       with a CUDA device: the number of batches whose copy starts before they are due
    register    with a CUDA device: page-locks the parts of the arena with batches (cudaHostRegister), and copies from them. The
                feeder then keeps its memory. Set it for the first loader of the process
    """

    @public
    def __init__(
        self,
        job: Any = None,
        *,
        columns: Columns = None,
        pin_memory: bool = False,
        device: Union[str, int, torch.device, None] = None,
        normalize: Optional[Mapping[str, Normalize]] = None,
        ahead: int = 1,
        register: bool = False,
        **arguments: Any,
    ) -> None:
        selection = Selection(columns)
        factors = check_normalize(normalize, Normalize)
        target = device_of(device)
        check_number("ahead", ahead)
        if ahead < 0:
            raise ConfigurationError(f"ahead={ahead} is less than 0")
        on_cuda = target is not None and target.type == "cuda"
        if register and not on_cuda:
            raise ConfigurationError(f"register=True page-locks memory for device='cuda', not for device={device!r}")
        loader = _NumpyLoader(job, **arguments)
        if register:
            core = core_of(loader)
            core.opening.keep_pages = True
            core.reclaim = wait_for_copies
        super().__init__(loader, ahead if on_cuda else 0, MakeWork(selection, factors, pin_memory, target, register))
