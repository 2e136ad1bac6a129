"""An LMDB as a source of `convert`: keys and values as bytes, in the order of the keys."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, NoReturn, Tuple

import lmdb
import numpy as np

from ._array_columns import text_column
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, BadValue, Frames, Piece, Source, bad_value
from ._errors import ConfigurationError, DataError
from ._frames import Fixed, Variable, frames
from ._remote_files import facts_of, is_remote
from ._scratch import Scratch

_MOST_ROWS = 4096
_HEAD_BYTES = 128 << 10  # two pages of the largest size


class Lmdb(Source):
    """The entries of the main database. Values stay as they are: nothing is unpickled."""

    def __init__(self, path: str, data: str, options: ColumnOptions, scratch: Scratch) -> None:
        """Opens a folder or a file. `data` is the file."""
        self.name = path
        self._data = data
        self._facts = facts_of(data)
        self._scratch = scratch
        self._options = options
        options.check(path, ["key", "value"])
        encoders = [text_column(name, "bytes", options) for name in ("key", "value") if name not in options.drop]
        if not encoders:
            raise ConfigurationError(f"{path} has no column with values")
        self.columns = [column for column, _ in encoders]
        self._environment: Any = None
        #: The pieces and the first key of each, once they are known.
        self._found: Tuple[List[Piece], List[bytes]] = ([], [])
        self._rows = self._count()
        digest = hashlib.sha256(f"{self._facts.size} {self._facts.state}".encode())
        self._content = f"{self._rows} entries, {digest.hexdigest()[:16]}"

    def _count(self) -> int:
        """Returns the number of entries. A remote file has it in its first pages, which are copied."""
        count: int
        if not is_remote(self._data):
            with self._begin() as transaction:
                count = transaction.stat()["entries"]
                return count
        with self._scratch.part(self._data, self._facts) as part:
            part.resize(self._facts.size)
            part.extend(_HEAD_BYTES)
            environment = self._opened(part.path)
            try:
                with environment.begin() as transaction:
                    count = transaction.stat()["entries"]
                    return count
            finally:
                environment.close()

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def pieces(self) -> List[Piece]:  # type: ignore[override]
        """The first use reads all keys, and copies a remote file."""
        if not self._found[0]:
            size = max(1, min(_MOST_ROWS, PIECE_BYTES * max(1, self.rows) // max(1, self._facts.size)))
            keys: List[bytes] = []
            try:
                with self._begin() as transaction:
                    for number, key in enumerate(transaction.cursor().iternext(keys=True, values=False)):
                        if number % size == 0:
                            keys.append(bytes(key))
            except lmdb.Error as error:
                self._fail("", error)
            found = [Piece(n * size, min(size, self.rows - n * size), (n,)) for n in range(len(keys))]
            self._found = (found, keys)
        return self._found[0]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_environment": None}

    def _begin(self) -> Any:
        if self._environment is None:
            self._environment = self._opened(self._scratch.path(0, self._data, self._facts))
        return self._environment.begin(buffers=True)

    def _opened(self, path: str) -> Any:
        try:
            return lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False)
        except lmdb.Error as error:
            self._fail("", str(error).removeprefix(f"{path}: "))

    def _fail(self, where: str, error: object) -> NoReturn:
        raise DataError(f"{self.name}{where}: {error}") from None

    def arguments(self) -> Dict[str, str]:
        return {"source": self.name, "content": self._content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        keys, values = np.empty(piece.rows, object), np.empty(piece.rows, object)
        try:
            with self._begin() as transaction:
                cursor = transaction.cursor()
                cursor.set_key(self._found[1][piece.place[0]])
                for number in range(piece.rows):
                    key, value = cursor.item()
                    keys[number], values[number] = bytes(key), bytes(value)
                    cursor.next()
        except lmdb.Error as error:
            self._fail(f", entries {piece.begin} to {piece.begin + piece.rows}", error)
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
