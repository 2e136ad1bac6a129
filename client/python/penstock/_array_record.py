"""ArrayRecord files as a source of `convert`: Examples stay Examples, and other records are bytes."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, NoReturn

import numpy as np
from array_record.python.array_record_module import ArrayRecordReader

from ._array_columns import text_column
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, BadValue, ConvertedColumn, Frames, Piece, Source
from ._errors import ConfigurationError, DataError
from ._examples import features_of
from ._frames import Variable, frames
from ._packing import RECORD, frame

_RECORD = "record"
_MOST_ROWS = 4096


class ArrayRecords(Source):
    """The records of files, one file after another. Nothing in them is unpickled."""

    def __init__(self, name: str, paths: List[str], options: ColumnOptions) -> None:
        self.name = name
        self._paths = paths
        self._options = options
        self._open: Dict[int, Any] = {}
        self.pieces: List[Piece] = []
        digest = hashlib.sha256()
        for number, path in enumerate(paths):
            facts = os.stat(path)
            digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}\n".encode())
            self._add_file(number, facts.st_size)
        first = self._read(0, 0, 1)[0]
        features = features_of(first)
        self._holds_examples = features is not None
        if self._holds_examples and options.tokenizers:
            raise ConfigurationError(f"tokenize: {name} has Examples, which stay as they are; tokenize them in Loader.map")
        options.check(name, [] if features else [_RECORD])
        if options.drop:
            raise ConfigurationError(f"{name} has no column with values")
        self.columns = (
            [ConvertedColumn(key, "feature of an Example", kind, "") for key, kind in sorted(features.items())]
            if features
            else [text_column(_RECORD, "bytes", options)[0]]
        )
        self._content = f"{self.rows} records, {digest.hexdigest()[:16]}"

    def _add_file(self, number: int, size: int) -> None:
        path = self._paths[number]
        count = self._reader(number).num_records()
        if count == 0:  # the library finds no records in a file that was cut off
            raise DataError(f"{path} has no records, or was cut off: write it again, or leave it out")
        rows = max(1, min(_MOST_ROWS, PIECE_BYTES * count // size))
        before = self.rows
        self.pieces += [Piece(before + at, min(rows, count - at), (number, at)) for at in range(0, count, rows)]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_open": {}}

    def _reader(self, number: int) -> Any:
        """Returns the reader of a file. Only the last one stays open."""
        if number not in self._open:
            for reader in self._open.values():
                reader.close()
            try:
                self._open = {number: ArrayRecordReader(self._paths[number])}
            except RuntimeError as error:
                self._fail(number, str(error))
        return self._open[number]

    def _read(self, number: int, begin: int, end: int) -> List[bytes]:
        try:
            found: List[bytes] = self._reader(number).read(begin, end)
        except (RuntimeError, IndexError, ValueError) as error:
            self._fail(number, f"records {begin} to {end}: {error}")
        if len(found) != end - begin:
            self._fail(number, f"records {begin} to {end}: {len(found)} are readable")
        return found

    def _fail(self, number: int, reason: str) -> NoReturn:
        raise DataError(f"{self._paths[number]}: {reason}") from None

    def arguments(self) -> Dict[str, str]:
        return {"source": self.name, "content": self._content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        number, at = piece.place
        found = self._read(number, at + skip, at + piece.rows)
        if self._holds_examples:
            return Frames(b"".join([frame(RECORD, record) for record in found]), len(found), {}, {})
        values = np.empty(len(found), object)
        values[:] = found
        try:
            encoded = text_column(_RECORD, "bytes", self._options)[1](values)
        except BadValue as bad:
            self._fail(number, f"record {at + skip + bad.row} {bad}")
        assert isinstance(encoded, Variable)
        return Frames(frames(len(found), [], [encoded]), len(found), {}, {})
