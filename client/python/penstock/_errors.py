"""What can go wrong, by whose part it is to act. Messages are those of the daemon, the loader or the feeder."""

from __future__ import annotations

import builtins
from typing import Optional

__all__ = [
    "ConfigurationError",
    "DataError",
    "FeederDied",
    "MachineError",
    "PenstockError",
    "TimeoutError",
]


class PenstockError(Exception):
    """All of this package's errors. `code` is the daemon's (such as "NOT_FOUND"), or None."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code


class ConfigurationError(PenstockError):
    """A mistake in a job, an argument or the environment: the message names it, and what would be right."""


class DataError(PenstockError):
    """The data: a record that cannot be read, a file that is not the job's any more."""


class MachineError(PenstockError):
    """A machine or a connection: no coordinator, no memory, a process that ended."""


class FeederDied(MachineError):
    """The feeder has ended, with its last lines. The next batch that is asked for starts another one."""


class TimeoutError(PenstockError, builtins.TimeoutError):
    """A batch, or an answer, did not come in time: the message says what is missing. Nothing is lost."""


_TIMEOUT = frozenset({"DEADLINE_EXCEEDED"})
_MACHINE = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"})


def error_of(code: str, message: str, of_batch: bool) -> PenstockError:
    """The exception of a status. What a batch fails with for good is the data's; else it is what was asked for."""
    if code in _TIMEOUT:
        return TimeoutError(message, code)
    if code in _MACHINE:
        return MachineError(message, code)
    if code == "ALREADY_EXISTS":  # another trainer has this rank
        return ConfigurationError(message, code)
    if of_batch or code == "DATA_LOSS":
        return DataError(message, code)
    return ConfigurationError(message, code)
