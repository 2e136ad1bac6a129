"""The repr() of a loader."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from ._errors import ConfigurationError
from ._ranks import find_place


class Facts(NamedTuple):
    """The facts about a loader that are known without opening its job."""

    job: str
    epoch: Optional[int]  # None: the epoch of a loaded state
    batch_size: int  # 0: the job's, which is not known yet
    place: Tuple[Optional[int], Optional[int]]  # rank and world size, as given
    closed: bool


def describe(loader: object, facts: Facts) -> str:
    """Returns <penstock.torch.Loader of job 'train': epoch 0, batch size 256, rank 0 of 1>."""
    kind = type(loader)
    module = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    parts = [
        f"epoch {facts.epoch}" if facts.epoch is not None else "epoch of the loaded state",
        f"batch size {facts.batch_size}" if facts.batch_size else "the job's batch size",
        _rank(facts.place),
        *(["closed"] if facts.closed else []),
    ]
    return f"<{'.'.join([*module, kind.__name__])} of job {facts.job!r}: {', '.join(parts)}>"


def _rank(given: Tuple[Optional[int], Optional[int]]) -> str:
    try:
        place = find_place(*given)
    except ConfigurationError:
        return "rank unknown"
    return f"rank {place.rank} of {place.world_size}"
