"""An LMDB as a source of `convert`: keys and values as bytes, in the order of the keys."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List

import lmdb
import numpy as np

from ._array_columns import text_column
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, BadValue, Frames, Piece, Source, bad_value
from ._errors import ConfigurationError, DataError
from ._frames import Fixed, Variable, frames

_MOST_ROWS = 4096


class Lmdb(Source):
    """The entries of the main database. Values stay as they are: nothing is unpickled."""

    def __init__(self, path: str, options: ColumnOptions) -> None:
        self.name = path
        self._options = options
        options.check(path, ["key", "value"])
        encoders = [text_column(name, "bytes", options) for name in ("key", "value") if name not in options.drop]
        if not encoders:
            raise ConfigurationError(f"{path} has no column with values")
        self.columns = [column for column, _ in encoders]
        self._environment: Any = None
        data = os.path.join(path, "data.mdb") if os.path.isdir(path) else path
        facts = os.stat(data)
        with self._begin() as transaction:
            count = transaction.stat()["entries"]
            size = max(1, min(_MOST_ROWS, PIECE_BYTES * max(1, count) // facts.st_size))
            #: The first key of each piece.
            self._keys: List[bytes] = []
            for number, key in enumerate(transaction.cursor().iternext(keys=True, values=False)):
                if number % size == 0:
                    self._keys.append(bytes(key))
        self.pieces = [Piece(n * size, min(size, count - n * size), (n,)) for n in range(len(self._keys))]
        digest = hashlib.sha256(f"{facts.st_size} {facts.st_mtime_ns}".encode())
        self._content = f"{count} entries, {digest.hexdigest()[:16]}"

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_environment": None}

    def _begin(self) -> Any:
        try:
            if self._environment is None:
                folder = os.path.isdir(self.name)
                self._environment = lmdb.open(self.name, subdir=folder, readonly=True, lock=False, readahead=False)
            return self._environment.begin(buffers=True)
        except lmdb.Error as error:
            raise DataError(f"{self.name}: {error}") from None

    def arguments(self) -> Dict[str, str]:
        return {"source": self.name, "content": self._content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        keys, values = np.empty(piece.rows, object), np.empty(piece.rows, object)
        try:
            with self._begin() as transaction:
                cursor = transaction.cursor()
                cursor.set_key(self._keys[piece.place[0]])
                for number in range(piece.rows):
                    key, value = cursor.item()
                    keys[number], values[number] = bytes(key), bytes(value)
                    cursor.next()
        except lmdb.Error as error:
            raise DataError(f"{self.name}, entries {piece.begin} to {piece.begin + piece.rows}: {error}") from None
        both = {"key": keys[skip:], "value": values[skip:]}
        fixed: List[Fixed] = []
        variable: List[Variable] = []
        for column in self.columns:
            try:
                encoded = text_column(column.name, "bytes", self._options)[1](both[column.name])
            except BadValue as bad:
                raise bad_value(f"{self.name}, entry {piece.begin + skip + bad.row}", column.name, bad) from None
            assert isinstance(encoded, Variable)
            variable.append(encoded)
        return Frames(frames(piece.rows - skip, fixed, variable), piece.rows - skip, {}, {})
