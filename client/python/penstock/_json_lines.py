"""JSON lines as a source of `convert`: files whose lines are objects, plain or compressed with gzip or zstd."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import json
import zlib
from typing import Any, BinaryIO, Dict, List, NamedTuple, NoReturn, Optional, Tuple, cast

from ._column_options import ColumnOptions
from ._convert_source import ConvertedColumn, Frames, Piece, Source, needed
from ._errors import ConfigurationError, DataError
from ._packing import FEATURES, frame
from ._remote_files import Facts, facts_of, open_file
from ._values import RowEncoder, names_of

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 20
#: Bytes of the lines that a process reads at a time. A killed run repeats an unfinished piece.
_PIECE_BYTES = 4 << 20
_MOST_LINE = 256 << 20  # limit of a record
#: Rows whose columns are printed before the others are read.
_FIRST_ROWS = 100


class _File(NamedTuple):
    path: str
    facts: Facts


def _opened(path: str, facts: Optional[Facts]) -> BinaryIO:
    """Opens a file for reads of its decompressed bytes."""
    file = cast(io.BufferedReader, open_file(path, facts))
    start = file.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=file), _BLOCK))
    if start.startswith(_ZSTD):
        return cast(BinaryIO, io.BufferedReader(_decompressed(file, path), _BLOCK))
    return file


def _decompressed(file: BinaryIO, path: str) -> io.RawIOBase:
    try:
        return cast(io.RawIOBase, importlib.import_module("penstock._zstandard").Decompressed(file))
    except ModuleNotFoundError:
        raise needed("pyarrow", "parquet", path) from None


def _failed(path: str, error: Exception) -> NoReturn:
    raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


_ERRORS = (OSError, EOFError, zlib.error)  # gzip raises each of them for a damaged file


def is_json_lines(path: str) -> bool:
    """Returns whether the decompressed content begins with an object."""
    try:
        with _opened(path, None) as stream:
            return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except _ERRORS as error:
        _failed(path, error)


class _Lines:
    """The lines of a file, from one place after another."""

    def __init__(self, file: _File, number: int) -> None:
        self.number = number
        self._path = file.path
        self._stream = _opened(file.path, file.facts)
        self.at = 0

    def advance(self, offset: int) -> None:
        """Moves forward in the decompressed bytes."""
        if isinstance(self._stream, io.BufferedReader) and isinstance(self._stream.raw, io.FileIO):
            self._stream.seek(offset)
            self.at = offset
        while self.at < offset:
            skipped = len(self._stream.read(min(_BLOCK, offset - self.at)))
            if skipped == 0:
                break
            self.at += skipped

    def next(self) -> bytes:
        """Returns the next line with its end, or nothing at the end of the file."""
        line = self._stream.readline(_MOST_LINE + 1)
        if len(line) > _MOST_LINE:
            raise DataError(f"{self._path}: the line at byte {self.at} has over {_MOST_LINE} bytes, the limit of a record")
        self.at += len(line)
        return line

    def close(self) -> None:
        self._stream.close()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


class JsonLines(Source):
    """The objects of JSON lines, file after file. Lines without text are no rows."""

    def __init__(self, source: str, paths: List[str], options: ColumnOptions) -> None:
        self.name = source
        self._options = options
        self._open: Optional[_Lines] = None
        self._files = [_File(path, facts_of(path)) for path in paths]
        self.pieces = []
        for number, file in enumerate(self._files):
            if not is_json_lines(file.path):
                raise ConfigurationError(f"{file.path} has no JSON object in its first line, as {paths[0]} has")
            self._add(number)
        self._encoder = RowEncoder(options)
        first = self._objects(self.pieces[0], 0, _FIRST_ROWS)
        options.check(source, list(dict.fromkeys(name for _, row in first for name in names_of(row))))
        self._encoded(first, 0, {})

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_open": None}

    @property
    def columns(self) -> List[ConvertedColumn]:  # type: ignore[override]
        return list(self._encoder.columns.values())

    def _add(self, number: int) -> None:
        """Adds the pieces of a file, whose lines it counts."""
        file = self._files[number]
        begin = self.rows
        try:
            lines = _Lines(file, number)
            line, first, offset, rows = 0, 0, 0, 0
            while text := lines.next():
                line += 1
                rows += 1 if text.strip() else 0
                if lines.at - offset >= _PIECE_BYTES:
                    self.pieces.append(Piece(begin, rows, (number, offset, first)))
                    begin, first, offset, rows = begin + rows, line, lines.at, 0
            lines.close()
        except _ERRORS as error:
            _failed(file.path, error)
        if rows:
            self.pieces.append(Piece(begin, rows, (number, offset, first)))

    def arguments(self) -> Dict[str, str]:
        digest = hashlib.sha256()
        for path, facts in self._files:
            digest.update(f"{path}\0{facts.size}\0{facts.state}\n".encode())
        count = len(self._files)
        content = f"{count} file{'s' if count > 1 else ''}, {self.rows} rows, {digest.hexdigest()[:16]}"
        return {"source": self.name, "content": content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        missing: Dict[str, int] = {}
        data = self._encoded(self._objects(piece, skip, piece.rows), piece.place[0], missing)
        return Frames(b"".join(data), len(data), missing, dict(self._encoder.columns))

    def _lines_at(self, number: int, offset: int) -> _Lines:
        if self._open is None or self._open.number != number or self._open.at > offset:
            if self._open is not None:
                self._open.close()
            self._open = _Lines(self._files[number], number)
        self._open.advance(offset)
        return self._open

    def _objects(self, piece: Piece, skip: int, end: int) -> List[Tuple[int, Dict[str, Any]]]:
        """Returns rows [skip, end) of a piece, at most to its end, with the numbers of their lines."""
        number, offset, line = piece.place
        path = self._files[number].path
        out: List[Tuple[int, Dict[str, Any]]] = []
        try:
            lines = self._lines_at(number, offset)
            for row in range(min(end, piece.rows)):
                while not (text := lines.next()).strip():
                    if not text:
                        raise DataError(f"{path} ends before row {piece.begin + row}, so it has changed: convert it again")
                    line += 1
                line += 1
                if row >= skip:
                    out.append((line, self._parsed(path, line, text)))
        except _ERRORS as error:
            _failed(path, error)
        return out

    @staticmethod
    def _parsed(path: str, line: int, text: bytes) -> Dict[str, Any]:
        try:
            parsed = json.loads(text.removeprefix(b"\xef\xbb\xbf") if line == 1 else text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {line}: the line is not valid JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise DataError(f"{path}, line {line}: the line is not a JSON object, and each row is one")
        return parsed

    def _encoded(self, rows: List[Tuple[int, Dict[str, Any]]], number: int, missing: Dict[str, int]) -> List[bytes]:
        out: List[bytes] = []
        for line, row in rows:
            try:
                out.append(frame(FEATURES, self._encoder.encoded(row, missing)))
            except ConfigurationError as error:
                place = f"{self._files[number].path}, line {line}"
                raise ConfigurationError(f"{place}: {error}; drop (--drop COLUMN) leaves a column out") from None
        return out
