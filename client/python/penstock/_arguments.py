"""Checks of arguments: numbers, paths, and arguments of other libraries' loaders that have an equivalent setting here."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any, Callable, Dict, Mapping, TypeVar, Union

from ._errors import ConfigurationError
from ._tracebacks import public_after

Path = Union[str, "os.PathLike[str]"]
_Init = TypeVar("_Init", bound=Callable[..., None])

_NO_WORKERS = "there are no worker processes; the feeder's threads prepare the rows, and threads= sets their number"
_SEED = 'the job sets the seed: order { seed: 17 }, in Python order={"seed": 17}'
_OF_TORCH = "only penstock.torch.Loader has it"

#: The equivalent setting of this package, by argument.
EQUIVALENTS: Dict[str, str] = {
    "dataset": 'the job names the records: dataset { files: "train-*" }; job= takes the job',
    "num_workers": _NO_WORKERS,
    "persistent_workers": "the feeder and its threads always stay between epochs; leave it out",
    "multiprocessing_context": _NO_WORKERS,
    "worker_init_fn": "there are no worker processes to initialize; leave it out",
    "prefetch_factor": "prefetch_steps= and prefetch_bytes= limit how far ahead batches are prepared",
    "shuffle": 'the job sets the order: order { shuffle: CHUNKED }, FULL or NONE, in Python order={"shuffle": "FULL"}',
    "drop_last": "the job decides about the last batch: batch { last: DROP }, PAD or PARTIAL",
    "sampler": "the job's `order` draws the records, and each rank gets its own rows; for a subset write shards of it",
    "batch_sampler": "the job's `order` and `batch` make the batches; for a subset write shards of it",
    "transform": "the job's `ops` transform images (penstock.ops); loader.map(fn) runs Python on finished batches",
    "collate_fn": "the job's features make the columns; loader.map(fn) runs Python on finished batches",
    "generator": _SEED,
    "seed": _SEED,
    "in_order": "batches always come in the job's order; leave it out",
    "pin_memory_device": "device= of penstock.torch.Loader copies batches to a device",
    "pin_memory": _OF_TORCH,
    "device": f"{_OF_TORCH}; penstock.jax.Loader places arrays by sharding=",
    "normalize": f"{_OF_TORCH}; the op normalize of the job does the same before the batch is made",
    "sharding": "only penstock.jax.Loader has it",
}


def check_number(name: str, value: object) -> None:
    """Raises ConfigurationError if the argument `name` is not a number."""
    if not isinstance(value, Real):
        raise ConfigurationError(f"{name}={value!r}: a number is expected")


def path_text(name: str, value: object) -> str:
    """Returns the path as text. Raises ConfigurationError if the argument `name` is not a path."""
    if not isinstance(value, (str, os.PathLike)):
        raise ConfigurationError(f"{name}={value!r}: a path is expected")
    return os.fspath(value)


def reject(arguments: Mapping[str, Any]) -> None:
    """Raises ConfigurationError if an argument belongs to another library."""
    found = [name for name in arguments if name in EQUIVALENTS]
    if found:
        raise ConfigurationError("\n".join(f"a loader has no argument {name}: {EQUIVALENTS[name]}" for name in found))


def rejects_foreign_arguments(init: _Init) -> _Init:
    """Decorates a public constructor, so that it rejects the arguments of EQUIVALENTS and names their equivalents."""
    return public_after(reject, init)
