"""`penstock.convert`: writes the rows of another format as TFRecord shards, and continues a killed run."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from ._arguments import path_text
from ._column_options import ColumnOptions
from ._convert_child import ShardProgram
from ._convert_progress import Progress
from ._convert_readers import BrokenOutput, Readers, write_all
from ._convert_source import ConvertedColumn, Source
from ._cpus import available_cpus
from ._errors import ConfigurationError
from ._scratch import Scratch
from ._sizes import parse_size
from ._sources import open_source
from ._tokenizers import Token, tokenizers_of
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
    source: Any,
    out: Union[str, os.PathLike[str]],
    *,
    drop: Sequence[str] = (),
    split: str = "",
    processes: int = 0,
    prefix: str = "data",
    shard_bytes: Union[int, str] = "128MiB",
    dry_run: bool = False,
    trust: bool = False,
    tokenize: Optional[Mapping[str, Union[str, os.PathLike[str]]]] = None,
    begin_token: Token = None,
    end_token: Token = None,
) -> Conversion:
    """Writes the rows of `source` as shards `out`/`prefix`-00000.tfrecord ..., and a job file that reads them back bit for
    bit:

        result = penstock.convert("table.parquet", "shards")
        loader = penstock.Loader(result.job)

    `source` is the path of a Parquet, Arrow IPC or Feather file, of a folder of them, or a glob; of an HDF5 file, of an LMDB,
    of ArrayRecord files, of a folder of MDS or LitData, or of a saved data set of Hugging Face. Each may be in a bucket
    ("s3://BUCKET/..."). "hf://NAME" is a data set of Hugging Face's hub. `source` may also be a data set in Python, whose
    rows are dicts: one with a length and an index, or an iterable, which a continued run reads again from the beginning.

    `drop` leaves columns out. `split` names a part of a data set of Hugging Face, MDS or LitData. `trust` allows the
    library to unpickle columns, which runs code that the files contain. `processes` read at the same time (0: one
    for each CPU, and this process alone for a data set in Python); the shards do not depend on their number. With `dry_run`,
    nothing is written, and the result has the columns.

    `tokenize` replaces columns of texts by tokens, which are ragged int32: {"text": "tokenizer.json"}. A tokenizer is a
    tokenizer.json of Hugging Face or a folder that has one, a model of SentencePiece, or "tiktoken:NAME". `begin_token` and
    `end_token`, by text or number, stand before and after the tokens of each text.

    If the process is killed, the same call continues after the last finished shard. Raises ConfigurationError for a
    column that a record cannot hold, and for a folder with shards of another source or other arguments.
    """
    options = ColumnOptions(drop, tokenizers_of(tokenize, begin_token, end_token))
    with Scratch() as scratch:
        found = open_source(source, options, split, trust, scratch)
        return run(found, out, processes=processes, prefix=prefix, shard_bytes=shard_bytes, dry_run=dry_run)


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
    if source.rows == 0 and not source.is_replayed:
        raise ConfigurationError(f"{source.name} has no rows")
    if dry_run:
        return Conversion(source.columns, "", "", 0, source.rows, 0, 0, {})
    if "://" not in folder:
        folder = os.path.abspath(os.path.expanduser(folder))
    program = ShardProgram(folder, prefix, size, source.arguments(), source.is_replayed)
    try:
        sent = _send(source, program, processes or (1 if source.is_local else available_cpus()))
        casts = {column.name: column.cast for column in sent.columns.values() if column.cast}
        made = program.finish(program.cast(casts))
    finally:
        program.end()
    return Conversion(
        list(sent.columns.values()),
        made["files"],
        made["job"],
        made["shards"],
        made["records"],
        made["bytes"],
        made["resumed_shards"],
        sent.missing,
    )


class _Sent:
    """What the rows that this run sent have in common."""

    def __init__(self, source: Source) -> None:
        self.columns = {column.name: column for column in source.columns}
        self.missing: Dict[str, int] = {}

    def add(self, missing: Dict[str, int], columns: Dict[str, ConvertedColumn]) -> None:
        for name, rows in missing.items():
            self.missing[name] = self.missing.get(name, 0) + rows
        for name, column in columns.items():
            known = self.columns.setdefault(name, column)
            if known != column:
                raise ConfigurationError(f"column {name!r} is {column.source} in some rows, and {known.source} in others")


def _send(source: Source, program: ShardProgram, processes: int) -> _Sent:
    """Sends the records that earlier runs have not finished, or all records of a source that is replayed."""
    sent = _Sent(source)
    progress = Progress(0 if source.is_replayed else program.finished, source.rows)
    try:
        if source.is_replayed:
            for piece in source.replay():
                write_all(program.input, piece.data)
                progress.add(piece.rows)
                sent.add(piece.missing, piece.columns)
        elif not program.complete:
            _deliver(source, program, processes, progress, sent)
    except BrokenOutput:
        raise program.failure() from None
    finally:
        progress.end()
    return sent


def _deliver(source: Source, program: ShardProgram, processes: int, progress: Progress, sent: _Sent) -> None:
    left = [piece for piece in source.pieces if piece.begin + piece.rows > program.finished]
    if not left:
        return
    before = source.pieces[: -len(left)]
    if before:
        source.written(before[-1])
    readers = Readers(source, left, program.finished - left[0].begin, processes, program.input)
    try:
        for _ in left:
            piece = readers.deliver()
            progress.add(piece.rows)
            sent.add(piece.missing, piece.columns)
    finally:
        readers.end()
