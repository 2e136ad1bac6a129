"""`penstock.convert`: writes the rows of another format as TFRecord shards, and continues a killed run."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Sequence, Union

from ._arguments import path_text
from ._convert_child import ShardProgram
from ._convert_progress import Progress
from ._convert_readers import BrokenOutput, Readers
from ._convert_source import ConvertedColumn, Source, needed
from ._cpus import available_cpus
from ._errors import ConfigurationError
from ._sizes import parse_size
from ._source_files import kind_of, table_files
from ._tracebacks import public


class Conversion(NamedTuple):
    """The result of convert()."""

    #: The columns of the source, with their types there and their features.
    columns: List[ConvertedColumn]
    #: The glob of the shards.
    files: str
    #: A job file that reads them back: penstock.Loader(job).
    job: str
    shards: int
    records: int
    bytes: int
    #: The shards that earlier runs had finished.
    resumed_shards: int
    #: By column, how many of the rows that this run read have no value. Such a column is ragged.
    missing: Dict[str, int]


@public
def convert(
    source: Union[str, os.PathLike[str]],
    out: Union[str, os.PathLike[str]],
    *,
    drop: Sequence[str] = (),
    processes: int = 0,
    prefix: str = "data",
    shard_bytes: Union[int, str] = "128MiB",
    dry_run: bool = False,
) -> Conversion:
    """Writes the rows of `source` as shards `out`/`prefix`-00000.tfrecord ..., and a job file that reads them back bit for
    bit:

        result = penstock.convert("table.parquet", "shards")
        loader = penstock.Loader(result.job)

    `source` is a Parquet, Arrow IPC or Feather file, a folder of them, or a glob. `drop` leaves columns out. `processes`
    read at the same time (0: one for each CPU); the shards do not depend on their number. With `dry_run`, nothing is
    written, and the result has the columns.

    If the process is killed, the same call continues after the last finished shard. Raises ConfigurationError for a
    column that a record cannot hold, and for a folder with shards of another source or other arguments.
    """
    found = open_source(source, list(drop))
    return run(found, out, processes=processes, prefix=prefix, shard_bytes=shard_bytes, dry_run=dry_run)


def open_source(source: Any, drop: List[str]) -> Source:
    """Returns the source for an argument of convert()."""
    name = path_text("source", source)
    if "://" in name:
        raise ConfigurationError(f"{name} is a URL; copy the files to a disk, or mount the storage, and give their path")
    paths = table_files(name)
    if kind_of(paths[0]) is None:
        raise ConfigurationError(f"{paths[0]} is neither a Parquet file nor an Arrow or Feather file")
    try:
        from ._tables import Tables  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise needed("pyarrow", "parquet", paths[0]) from None
    return Tables(name, paths, drop)


def run(
    source: Source,
    out: Union[str, os.PathLike[str]],
    *,
    processes: int,
    prefix: str,
    shard_bytes: Union[int, str],
    dry_run: bool,
) -> Conversion:
    """Writes the rows of an opened source."""
    size = parse_size("shard_bytes", shard_bytes)
    if not isinstance(processes, int) or processes < 0:
        raise ConfigurationError(f"processes={processes!r}: a whole number from 0 on is expected")
    folder = path_text("out", out)
    if source.rows == 0:
        raise ConfigurationError(f"{source.name} has no rows")
    if dry_run:
        return Conversion(source.columns, "", "", 0, source.rows, 0, 0, {})
    if "://" not in folder:
        folder = os.path.abspath(os.path.expanduser(folder))
    program = ShardProgram(folder, prefix, size, source.arguments(), replay=False)
    try:
        missing = _send(source, program, processes or available_cpus())
        casts = {column.name: column.cast for column in source.columns if column.cast}
        made = program.finish(program.cast(casts))
    finally:
        program.end()
    return Conversion(
        source.columns,
        made["files"],
        made["job"],
        made["shards"],
        made["records"],
        made["bytes"],
        made["resumed_shards"],
        missing,
    )


def _send(source: Source, program: ShardProgram, processes: int) -> Dict[str, int]:
    """Sends the records that earlier runs have not finished. Returns how many rows lack a value, by column."""
    missing: Dict[str, int] = {}
    left = [] if program.complete else [piece for piece in source.pieces if piece.begin + piece.rows > program.finished]
    if not left:
        return missing
    progress = Progress(program.finished, source.rows)
    readers = Readers(source, left, program.finished - left[0].begin, processes, program.input)
    try:
        for _ in left:
            piece = readers.deliver()
            progress.add(piece.rows)
            for name, rows in piece.missing.items():
                missing[name] = missing.get(name, 0) + rows
    except BrokenOutput:
        readers.end()
        raise program.failure() from None
    finally:
        readers.end()
        progress.end()
    return missing
