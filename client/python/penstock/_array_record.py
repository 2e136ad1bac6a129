"""ArrayRecord files as a source of `convert`: Examples stay Examples, and other records are bytes."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Any, Dict, List, NoReturn, Tuple

import numpy as np
from array_record.python.array_record_module import ArrayRecordReader

from ._array_columns import text_column
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, BadValue, ConvertedColumn, Frames, Piece, Source
from ._errors import ConfigurationError, DataError
from ._examples import features_of
from ._frames import Variable, frames
from ._packing import RECORD, frame
from ._remote_files import facts_of, is_remote
from ._scratch import Scratch

_RECORD = "record"
_MOST_ROWS = 4096
_END_BYTES = 256 << 10  # bytes at each end of a remote file; most footers are smaller


class ArrayRecords(Source):
    """The records of files, one file after another. Nothing in them is unpickled."""

    def __init__(self, name: str, paths: List[str], options: ColumnOptions, scratch: Scratch) -> None:
        self.name = name
        self._paths = paths
        self._facts = [facts_of(path) for path in paths]
        self._options = options
        self._scratch = scratch
        self._open: Dict[int, Any] = {}
        self._counts: List[int] = []
        self.pieces: List[Piece] = []
        digest = hashlib.sha256()
        first: List[bytes] = []
        for number, (path, facts) in enumerate(zip(paths, self._facts)):
            digest.update(f"{path} {facts.size} {facts.state}\n".encode())
            count = self._look_into(number, first)
            self._add_file(number, count)
        features = features_of(first[0])
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

    def _look_into(self, number: int, first: List[bytes]) -> int:
        """Returns the number of a file's records. Adds its first record to `first` if that is empty. Copies only the end of
        a remote file, which has the number, and its begin for a record.
        """
        path, facts = self._paths[number], self._facts[number]
        if not is_remote(path):
            count: int = self._reader(number).num_records()
            if count and not first:
                first += self._read(number, 0, 1)
            return count
        with self._scratch.part(path, facts) as part:
            part.resize(facts.size)
            size = _END_BYTES
            while True:
                part.extend(0 if first else size, size)
                try:
                    found, some = _look_into(part.path, 0 if first else 1)
                    if found or part.is_whole:
                        first += some
                        return found
                except (RuntimeError, IndexError, ValueError) as error:
                    if part.is_whole:
                        self._fail(number, str(error))
                size *= 4

    def _add_file(self, number: int, count: int) -> None:
        if count == 0:  # the library finds no records in a file that was cut off
            raise DataError(f"{self._paths[number]} has no records, or was cut off: write it again, or leave it out")
        self._counts.append(count)
        rows = max(1, min(_MOST_ROWS, PIECE_BYTES * count // self._facts[number].size))
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
                self._open = {}
                copy = self._scratch.path(number, self._paths[number], self._facts[number])
                self._open = {number: ArrayRecordReader(copy)}
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

    def written(self, piece: Piece) -> None:
        number, at = piece.place
        self._scratch.drop_before(number + (at + piece.rows == self._counts[number]))

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


def _look_into(path: str, most: int) -> Tuple[int, List[bytes]]:
    """Returns the number of a file's records, and at most `most` records. Raises an error of the library."""
    reader = ArrayRecordReader(path)
    try:
        count = reader.num_records()
        return count, reader.read(0, most) if count and most else []
    finally:
        with contextlib.suppress(RuntimeError):  # it repeats the error of a damaged file
            reader.close()
