"""Data sets in Python as a source of `convert`: objects with a length and an index, and iterables."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any, Dict, Iterator, List

from ._column_options import ColumnOptions
from ._convert_source import Frames, Piece, Source
from ._errors import ConfigurationError
from ._packing import FEATURES, frame
from ._values import RowEncoder, names_of

# Small pieces: rows of Python may take long, and a killed run repeats an unfinished piece.
_PIECE_BYTES, _MOST_ROWS = 1 << 20, 64


class _PythonSource(Source):
    """Rows that are dicts."""

    is_local = True

    def __init__(self, dataset: Any, options: ColumnOptions, first: object) -> None:
        self.name = f"the {type(dataset).__name__}"
        self._encoder = RowEncoder(options)
        self._options = options
        self._first = len(self._encoded(0, first, {}))
        options.check(self.name, names_of(first))
        self.pieces = []

    @property
    def columns(self) -> List[Any]:  # type: ignore[override]
        return list(self._encoder.columns.values())

    def _encoded(self, number: int, row: object, missing: Dict[str, int]) -> bytes:
        try:
            return frame(FEATURES, self._encoder.encoded(row, missing))
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.name}, row {number}: {error}") from None


class IndexedRows(_PythonSource):
    """A data set with a length and an index, such as a list or a map-style data set of PyTorch."""

    def __init__(self, dataset: Any, options: ColumnOptions) -> None:
        count = len(dataset)
        if count == 0:
            raise ConfigurationError(f"the {type(dataset).__name__} has no rows")
        self._dataset = dataset
        super().__init__(dataset, options, dataset[0])
        size = max(1, min(_MOST_ROWS, _PIECE_BYTES // self._first))
        self.pieces = [Piece(begin, min(size, count - begin), ()) for begin in range(0, count, size)]

    def arguments(self) -> Dict[str, str]:
        # A few rows stand for all, because a digest of all would read the data set twice.
        digest = hashlib.sha256()
        for number in sorted({0, self.rows // 2, self.rows - 1}):
            digest.update(self._encoded(number, self._dataset[number], {}))
        content = f"{self.rows} rows, {digest.hexdigest()[:16]}"
        return {"source": self.name, "content": content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        missing: Dict[str, int] = {}
        numbers = range(piece.begin + skip, piece.begin + piece.rows)
        data = b"".join([self._encoded(number, self._dataset[number], missing) for number in numbers])
        return Frames(data, len(numbers), missing, dict(self._encoder.columns))


class IteratedRows(_PythonSource):
    """An iterable of rows. A run that continues reads all of them again."""

    is_replayed = True

    def __init__(self, dataset: Any, options: ColumnOptions) -> None:
        rows = iter(dataset)
        try:
            first = next(rows)
        except StopIteration:
            raise ConfigurationError(f"the {type(dataset).__name__} has no rows") from None
        super().__init__(dataset, options, first)
        self._rows = itertools.chain([first], rows)

    def arguments(self) -> Dict[str, str]:
        return {"source": "an iterable in Python", **self._options.arguments()}

    def replay(self) -> Iterator[Frames]:
        number = 0
        while True:
            data: List[bytes] = []
            size, missing = 0, {}  # type: ignore[var-annotated]
            for row in self._rows:
                data.append(self._encoded(number, row, missing))
                number += 1
                size += len(data[-1])
                if size >= _PIECE_BYTES:
                    break
            if not data:
                return
            yield Frames(b"".join(data), len(data), missing, dict(self._encoder.columns))


def rows_of(dataset: Any, options: ColumnOptions) -> Source:
    """Returns the source for a data set. Raises ConfigurationError if it is none."""
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__") and not hasattr(dataset, "keys"):
        return IndexedRows(dataset, options)
    if hasattr(dataset, "__iter__") and not hasattr(dataset, "keys"):
        return IteratedRows(dataset, options)
    raise ConfigurationError(
        f"source={type(dataset).__name__}: a path, an iterable of dicts, or a data set with a length and an index is expected"
    )
