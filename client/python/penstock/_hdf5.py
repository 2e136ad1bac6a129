"""An HDF5 file as a source of `convert`: each data set is a column."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, NamedTuple, Tuple

import h5py

from ._array_columns import Encode, NoCounterpart, list_column, number_column, text_column
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, BadValue, ConvertedColumn, Frames, Piece, Source, bad_value, refusal
from ._errors import ConfigurationError, DataError
from ._frames import Fixed, Variable, frames
from ._remote_files import facts_of, is_remote, open_file
from ._token_columns import no_text


class _Column(NamedTuple):
    column: ConvertedColumn
    encode: Encode
    path: str
    field: Tuple[str, ...]  # inside of a compound type


class Hdf5(Source):
    """The data sets of a file. Their first axis counts the rows."""

    def __init__(self, path: str, options: ColumnOptions) -> None:
        self.name = path
        self._options = options
        self._facts = facts = facts_of(path)
        self._open()
        rows = {data.shape[0] for data in self._datasets.values()}
        if len(rows) != 1:
            lengths = ", ".join(f"{name} has {data.shape[0]}" for name, data in self._datasets.items())
            raise ConfigurationError(f"{path}: data sets differ in their rows: {lengths}; leave some out with drop (--drop)")
        count = rows.pop()
        size = sum(data.nbytes for data in self._datasets.values()) // max(1, count)
        chunk = max((data.chunks[0] for data in self._datasets.values() if data.chunks), default=1)
        part = max(1, min(1 << 16, PIECE_BYTES // max(1, size)) // chunk) * chunk
        self.pieces = [Piece(begin, min(part, count - begin), ()) for begin in range(0, count, part)]
        digest = hashlib.sha256(f"{facts.size} {facts.state} {self.columns}".encode())
        self._content = f"{count} rows, {digest.hexdigest()[:16]}"

    def _open(self) -> None:
        try:
            self._file = h5py.File(open_file(self.name, self._facts) if is_remote(self.name) else self.name, "r")
        except OSError as error:
            raise DataError(f"{self.name}: {error}") from None
        found: Dict[str, Any] = {}

        def add(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item

        self._file.visititems(add)
        names = [*found, *(f"{name}.{field}" for name, data in found.items() for field in data.dtype.names or ())]
        self._options.check(self.name, names)
        self._datasets = {name: data for name, data in found.items() if name not in self._options.drop}
        self._columns: List[_Column] = []
        refused: List[str] = []
        for name, data in self._datasets.items():
            if not data.shape:
                refused.append(f"{name}: {data.dtype} (it has no axis that counts rows)")
                continue
            self._add(name, name, (), data.dtype, data.shape[1:], refused)
        if refused:
            raise refusal(self.name, refused)
        if not self._columns:
            raise ConfigurationError(f"{self.name} has no data set")
        self.columns = [column.column for column in self._columns]

    def _add(
        self, name: str, path: str, field: Tuple[str, ...], dtype: Any, inner: Tuple[int, ...], refused: List[str]
    ) -> None:
        if name in self._options.drop:
            return
        if dtype.names:
            if name in self._options.tokenizers:
                raise no_text(name, "a compound type")
            for part in dtype.names:
                sub, axes = (dtype[part].base, dtype[part].shape)
                self._add(f"{name}.{part}", path, (*field, part), sub, (*inner, *axes), refused)
            return
        try:
            column, encode = self._column(name, dtype, inner)
        except NoCounterpart as no:
            refused.append(f"{name}: {dtype} ({no})")
            return
        self._columns.append(_Column(column, encode, path, field))

    def _column(self, name: str, dtype: Any, inner: Tuple[int, ...]) -> Tuple[ConvertedColumn, Encode]:
        text = h5py.check_string_dtype(dtype)
        vlen = None if text else h5py.check_vlen_dtype(dtype)
        if (text or vlen is not None) and inner:
            raise NoCounterpart("texts or lists with several axes")
        if text:
            return text_column(name, f"string ({text.encoding})", self._options)
        if name in self._options.tokenizers:
            raise no_text(name, str(dtype))
        if vlen is not None:
            return list_column(name, vlen)
        if dtype.kind not in "biuf":
            raise NoCounterpart("a record has no such type")
        return number_column(name, dtype, inner)

    def __getstate__(self) -> Dict[str, Any]:
        hidden = ("_file", "_datasets", "_columns")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def arguments(self) -> Dict[str, str]:
        return {"source": self.name, "content": self._content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        begin, end = piece.begin + skip, piece.begin + piece.rows
        read: Dict[str, Any] = {}
        fixed: List[Fixed] = []
        variable: List[Variable] = []
        for column in self._columns:
            if column.path not in read:
                try:
                    read[column.path] = self._datasets[column.path][begin:end]
                except OSError as error:
                    raise DataError(f"{self.name}, {column.path}, rows {begin} to {end}: {error}") from None
            values = read[column.path]
            for part in column.field:
                values = values[part]
            try:
                encoded = column.encode(values)
            except BadValue as bad:
                raise bad_value(f"{self.name}, row {begin + bad.row}", column.column.name, bad) from None
            if isinstance(encoded, Fixed):
                fixed.append(encoded)
            else:
                variable.append(encoded)
        return Frames(frames(end - begin, fixed, variable), end - begin, {}, {})
