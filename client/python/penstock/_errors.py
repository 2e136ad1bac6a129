"""The errors of this package. The class names the side that must act. Daemon, loader or feeder write the message."""

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
    """The base class of this package's errors. `code` is the code of a program's error, such as "NOT_FOUND", or None."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code


class ConfigurationError(PenstockError):
    """A mistake in a job, an argument or the environment. The message names the mistake and the correction."""


class DataError(PenstockError):
    """A failure of a batch: a record that cannot be read, a file that differs from the job's, or a job that has ended."""


class MachineError(PenstockError):
    """An error of a machine or a connection: an absent coordinator, too little memory, a process that ended."""


class FeederDied(MachineError):
    """The feeder has ended. The message has its last lines. The next request for a batch starts another feeder."""


class TimeoutError(PenstockError, builtins.TimeoutError):
    """A batch or an answer did not arrive in time. The message names what is missing. No batch is lost."""


_TIMEOUT = frozenset({"DEADLINE_EXCEEDED"})
_MACHINE = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"})


def error_of(code: str, message: str, of_batch: bool) -> PenstockError:
    """Returns the exception for a status. Timeouts and machine errors follow from the code. Other failures of a batch
    are DataErrors, and other failures of a request are ConfigurationErrors.
    """
    if code in _TIMEOUT:
        return TimeoutError(message, code)
    if code in _MACHINE:
        return MachineError(message, code)
    if code == "ALREADY_EXISTS":  # another trainer has this rank
        return ConfigurationError(message, code)
    if of_batch or code == "DATA_LOSS":
        return DataError(message, code)
    return ConfigurationError(message, code)
