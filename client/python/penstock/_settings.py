"""The checked arguments of a loader's constructor."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ._arguments import Path, check_number, path_text
from ._arrays import ArrayFile
from ._checks import JobFacts
from ._errors import ConfigurationError
from ._feeder import FeederOptions
from ._sizes import parse_size

MAX_READ_THREADS = 512  # also the limit of a worker

Size = Union[int, str]


class Settings(NamedTuple):
    """The checked arguments of a loader. Immutable."""

    job: Dict[str, Any]  # the members of OPEN that name the job
    known: JobFacts
    request: Dict[str, Any]  # the other members of OPEN that differ from their defaults
    feeder: FeederOptions
    place: Tuple[Optional[int], Optional[int]]  # rank and world size, as given
    epochs: int
    start_epoch: int
    timeout: float
    accept_new_pipeline: bool
    arrays: Optional[ArrayFile] = None  # keeps the file of arrays


def check_numbers(counts: Dict[str, int], read_threads: int, timeout: float) -> None:
    """Raises ConfigurationError if a value is not a number, if a count is negative, or if a limit is out of range."""
    for name, value in {**counts, "read_threads": read_threads}.items():
        check_number(name, value)
        if value < 0:
            raise ConfigurationError(f"{name}={value} is less than 0")
    if read_threads > MAX_READ_THREADS:
        raise ConfigurationError(f"read_threads={read_threads}: at most {MAX_READ_THREADS}")
    check_number("timeout", timeout)
    if not timeout > 0:
        raise ConfigurationError(f"timeout={timeout}: it must be greater than 0 seconds")


def request_members(
    *,
    data_roots: List[str],
    group: str,
    batch_size: int,
    epoch: int,
    allow_missing: bool,
    prefetch_steps: int,
    prefetch_bytes: Size,
) -> Dict[str, Any]:
    """Returns the members of OPEN that do not name the job. Omits members with their default."""
    members = {
        "data_roots": data_roots,
        "group": group,
        "batch_size": batch_size,
        "epoch": epoch,
        "allow_missing": allow_missing,
        "prefetch_steps": prefetch_steps,
        "prefetch_bytes": parse_size("prefetch_bytes", prefetch_bytes),
    }
    return {name: value for name, value in members.items() if value}


def feeder_options(
    *,
    memory: Size,
    threads: int,
    read_threads: int,
    memory_budget: Size,
    record_cache: Optional[Size],
    decoded_cache: Optional[Size],
    row_cache: Optional[Size],
    disk_cache: Optional[Path],
    disk_cache_size: Size,
    index_dir: Optional[Path],
) -> FeederOptions:
    """Returns the options for the start of a feeder. Converts sizes to bytes and makes paths absolute."""
    return FeederOptions(
        memory=parse_size("memory", memory),
        threads=threads,
        memory_budget=parse_size("memory_budget", memory_budget),
        record_cache=_cache_size("record_cache", record_cache),
        decoded_cache=_cache_size("decoded_cache", decoded_cache),
        index_dir=_folder("index_dir", index_dir),
        read_threads=read_threads,
        row_cache=_cache_size("row_cache", row_cache),
        disk_cache=_folder("disk_cache", disk_cache),
        disk_cache_size=parse_size("disk_cache_size", disk_cache_size),
    )


def _cache_size(name: str, size: Optional[Size]) -> Optional[int]:
    return parse_size(name, size) if size is not None else None


def _folder(name: str, path: Optional[Path]) -> str:
    return os.path.abspath(os.path.expanduser(path_text(name, path))) if path is not None else ""
