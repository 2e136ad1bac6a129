"""Penstock: data preparation for training. Batches of a job for a training loop:

    loader = penstock.Loader("train.textproto", data_root="/data")
    for batch in loader:
        batch["image"], batch["label"]

Nothing but Python is loaded into this process: batches are made by a child process, in memory that both have mapped.
"""

from ._batch import Batch, Ragged, Strings
from ._errors import ConfigurationError, DataError, FeederDied, MachineError, PenstockError, TimeoutError
from ._feeder import shutdown
from ._loader import Loader
from ._map import MappedLoader
from ._program import find_program
from ._ranks import find_place
from ._schema_types import Column
from ._writer import ShardPart, ShardSet, ShardWriter

__all__ = [
    "Batch",
    "Column",
    "ConfigurationError",
    "DataError",
    "FeederDied",
    "Loader",
    "MachineError",
    "MappedLoader",
    "PenstockError",
    "Ragged",
    "ShardPart",
    "ShardSet",
    "ShardWriter",
    "Strings",
    "TimeoutError",
    "find_place",
    "find_program",
    "shutdown",
]
