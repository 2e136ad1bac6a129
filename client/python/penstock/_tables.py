"""Parquet, Arrow IPC and Feather files as a source of `convert`."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import pyarrow as pa

from ._arrow_columns import arrow_columns, encoded_batch
from ._column_options import ColumnOptions
from ._convert_source import Frames, Piece, Source
from ._errors import ConfigurationError, DataError
from ._remote_files import Facts, facts_of
from ._source_files import kind_of
from ._table_files import open_table


class _File(NamedTuple):
    path: str
    kind: str
    facts: Facts


class Tables(Source):
    """The rows of table files that have the same columns."""

    def __init__(self, source: str, paths: List[str], options: ColumnOptions) -> None:
        self.name = source
        self._files: List[_File] = []
        self._options = options
        self._schema: Any = None
        self._open: Optional[Tuple[int, Any]] = None  # the number of the open file, and the file
        self.pieces = []
        for path in paths:
            self._add(path)
        self._columns = arrow_columns(self._schema, source, options)
        self.columns = [column.column for column in self._columns]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_columns": None, "_open": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._columns = arrow_columns(self._schema, self.name, self._options)

    def _add(self, path: str) -> None:
        """Adds the pieces of a file, after a check of its columns."""
        facts = facts_of(path)
        kind = kind_of(path, facts)
        if kind is None:
            raise ConfigurationError(f"{path} is neither a Parquet file nor an Arrow or Feather file")
        self._files.append(_File(path, kind, facts))
        try:
            table = open_table(path, kind, facts)
            parts = table.parts()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path}: {error}") from None
        self._check_schema(path, table.schema)
        begin = self.pieces[-1].begin + self.pieces[-1].rows if self.pieces else 0
        for number, part in enumerate(parts):
            for first in range(0, part.rows, part.batch):
                rows = min(part.batch, part.rows - first)
                self.pieces.append(Piece(begin, rows, (len(self._files) - 1, number, first)))
                begin += rows

    def _check_schema(self, path: str, schema: Any) -> None:
        if self._schema is None:
            self._schema = schema
        here, first = ({field.name: field.type for field in of} for of in (schema, self._schema))
        for name in {**first, **here}:
            if here.get(name) != first.get(name) and name not in self._options.drop:
                then, now = (f"type {of[name]}" if name in of else "no such column" for of in (first, here))
                raise ConfigurationError(
                    f"{path}: column {name!r} has {now}, but {self._files[0].path} has {then}; convert such files one by one"
                )

    def arguments(self) -> Dict[str, str]:
        digest = hashlib.sha256()
        for file in self._files:
            digest.update(f"{file.path}\0{file.facts.size}\0{file.facts.state}\n".encode())
        for column in self.columns:
            digest.update(repr(column).encode())
        count = len(self._files)
        return {
            "source": self.name,
            "content": f"{count} file{'s' if count > 1 else ''}, {self.rows} rows, {digest.hexdigest()[:16]}",
            **self._options.arguments(),
        }

    def frames(self, piece: Piece, skip: int) -> Frames:
        number, part, first = piece.place
        file = self._files[number]
        begin, end = first + skip, first + piece.rows
        missing: Dict[str, int] = {}
        out: List[bytes] = []
        names = list(dict.fromkeys(column.path[0] for column in self._columns))
        try:
            if self._open is None or self._open[0] != number:
                self._open = (number, open_table(file.path, file.kind, file.facts))
            for at, batch in self._open[1].batches(part, begin, names):
                low, high = max(begin, at), min(end, at + batch.num_rows)
                if low < high:
                    rows = batch.slice(low - at, high - low)
                    out.append(encoded_batch(self._columns, rows, file.path, piece.begin + low - first, missing))
                if at + batch.num_rows >= end:
                    break
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{file.path}, rows {piece.begin} to {piece.begin + piece.rows}: {error}") from None
        return Frames(out[0] if len(out) == 1 else b"".join(out), piece.rows - skip, missing, {})
