"""Parquet and Arrow files: their rows in batches."""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple, Tuple

import pyarrow as pa
import pyarrow.parquet as pq

from ._convert_source import PIECE_BYTES
from ._remote_files import Facts, is_remote, open_file, open_unbuffered

_MOST_ROWS = 1 << 16
_REMOTE_READ = 8 << 20


class Part(NamedTuple):
    """A row group of a Parquet file, or a batch of an Arrow file."""

    rows: int
    batch: int  # rows that are encoded at a time


class ParquetTable:
    """A Parquet file. Its parts are row groups."""

    def __init__(self, path: str, facts: Facts) -> None:
        if is_remote(path):
            # Without a buffer, a column of a whole row group is read at once.
            self._file = pq.ParquetFile(open_unbuffered(path, facts), pre_buffer=False, buffer_size=_REMOTE_READ)
        else:
            self._file = pq.ParquetFile(path, memory_map=True)
        self.schema = self._file.schema_arrow
        self._group = -1
        self._at = 0
        self._batches: Iterator[Any] = iter(())

    def parts(self) -> List[Part]:
        groups = (self._file.metadata.row_group(i) for i in range(self._file.num_row_groups))
        return [Part(group.num_rows, _batch_rows(group.num_rows, group.total_byte_size)) for group in groups]

    def batches(self, part: int, begin: int, columns: List[str]) -> Iterator[Tuple[int, Any]]:
        """Yields batches of a part, each with its first row. The first one contains row `begin` or ends before it."""
        if part != self._group or begin < self._at:
            group = self._file.metadata.row_group(part)
            size = _batch_rows(group.num_rows, group.total_byte_size)
            self._batches = self._file.iter_batches(size, row_groups=[part], columns=columns, use_threads=False)
            self._group, self._at = part, 0
        for batch in self._batches:
            at, self._at = self._at, self._at + batch.num_rows
            yield at, batch


class ArrowTable:
    """An Arrow file or stream. Its parts are batches."""

    def __init__(self, path: str, kind: str, facts: Facts) -> None:
        self._path, self._facts = path, facts
        self._file: Any = pa.ipc.open_file(_arrow_file(path, facts)) if kind == "file" else None
        self._stream: Any = pa.ipc.open_stream(_arrow_file(path, facts)) if kind == "stream" else None
        table: Any = self._file if kind == "file" else self._stream
        self.schema = table.schema
        self._next = 0  # the number of the stream's next batch
        self._last: Any = None

    def parts(self) -> List[Part]:
        out: List[Part] = []
        while self._file is None or len(out) < self._file.num_record_batches:
            try:
                batch = self._batch(len(out))
            except StopIteration:
                break
            out.append(Part(batch.num_rows, _batch_rows(batch.num_rows, batch.nbytes)))
        return out

    def batches(self, part: int, begin: int, columns: List[str]) -> Iterator[Tuple[int, Any]]:
        yield 0, self._batch(part)

    def _batch(self, number: int) -> Any:
        if self._file is not None:
            return self._file.get_batch(number)
        if number < self._next - 1:
            self._stream, self._next = pa.ipc.open_stream(_arrow_file(self._path, self._facts)), 0
        while self._next <= number:
            self._last = self._stream.read_next_batch()
            self._next += 1
        return self._last


def _arrow_file(path: str, facts: Facts) -> Any:
    return pa.PythonFile(open_file(path, facts), "r") if is_remote(path) else pa.memory_map(path)


def open_table(path: str, kind: str, facts: Facts) -> Any:
    return ParquetTable(path, facts) if kind == "parquet" else ArrowTable(path, kind, facts)


def _batch_rows(rows: int, size: int) -> int:
    """Returns how many rows to encode at a time."""
    return max(1, min(_MOST_ROWS, rows * PIECE_BYTES // max(1, size)))
