"""Penstock: data preparation for training. Batches of a job for a training loop:

    loader = penstock.Loader("train.textproto", data_root="/data")
    for batch in loader:
        batch["image"], batch["label"]

This process loads only Python code. A child process makes the batches, in memory that both processes map.
"""

from . import messages, ops
from ._batch import Batch, Ragged, Strings
from ._convert import Conversion, convert
from ._convert_source import ConvertedColumn
from ._errors import ConfigurationError, DataError, FeederDied, MachineError, PenstockError, TimeoutError
from ._expressions import col
from ._feeder import shutdown
from ._job_commands import Preview, cancel, continue_blend, init, preview, status, submit
from ._jobs import Job
from ._loader import Loader
from ._map import MappedLoader
from ._program import find_program
from ._ranks import find_place
from ._schema_types import Column
from ._sequences import cu_seqlens
from ._writer import ShardPart, ShardSet, ShardWriter
from .messages import Feature

__all__ = [
    "Batch",
    "Column",
    "ConfigurationError",
    "Conversion",
    "ConvertedColumn",
    "DataError",
    "Feature",
    "FeederDied",
    "Job",
    "Loader",
    "MachineError",
    "MappedLoader",
    "PenstockError",
    "Preview",
    "Ragged",
    "ShardPart",
    "ShardSet",
    "ShardWriter",
    "Strings",
    "TimeoutError",
    "cancel",
    "col",
    "continue_blend",
    "convert",
    "cu_seqlens",
    "find_place",
    "find_program",
    "init",
    "messages",
    "ops",
    "preview",
    "shutdown",
    "status",
    "submit",
]
