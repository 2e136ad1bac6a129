"""Data preparation for training."""

from ._errors import ConfigurationError, DataError, MachineError, PenstockError, TimeoutError
from ._writer import ShardPart, ShardSet, ShardWriter

__all__ = [
    "ConfigurationError",
    "DataError",
    "MachineError",
    "PenstockError",
    "ShardPart",
    "ShardSet",
    "ShardWriter",
    "TimeoutError",
]
