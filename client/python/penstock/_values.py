"""Values of Python as features, with their types: the rows of a data set that `convert` reads."""

from __future__ import annotations

import struct
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from ._column_options import ColumnOptions
from ._convert_source import BadValue, ConvertedColumn
from ._errors import ConfigurationError
from ._frames import key_bytes
from ._packing import DATA_TYPES
from ._token_columns import decoded_texts
from ._tokenizers import Tokenizer

_BYTES, _FLOAT, _INT64, _ARRAY = 1, 2, 3, 4
_TEXT = (str, bytes, bytearray, memoryview)


class _Form(NamedTuple):
    """What all values of a column have in common."""

    source: str
    feature: str
    shape: str
    cast: int = 0


class RowEncoder:
    """Encodes rows, and learns the columns from them. Each column has values of one form."""

    def __init__(self, options: ColumnOptions) -> None:
        self._drop = set(options.drop)
        self._tokenizers = options.tokenizers
        self.columns: Dict[str, ConvertedColumn] = {}

    def encoded(self, row: object, missing: Dict[str, int]) -> bytes:
        """Returns a row as features of `penstock pack`, and counts its missing values. Raises ConfigurationError that names
        the column.
        """
        if not isinstance(row, Mapping):
            raise ConfigurationError(f"a row is a dict of values, not {type(row).__name__}; give names to its values")
        out: List[bytes] = []
        self._add("", row, out, missing)
        return b"".join(out)

    def _add(self, path: str, row: Mapping[Any, Any], out: List[bytes], missing: Dict[str, int]) -> None:
        for key, value in row.items():
            if not isinstance(key, str):
                raise ConfigurationError(f"names of columns are str, not {type(key).__name__}: {key!r}")
            name = path + key
            if name in self._drop:
                continue
            tokenizer = self._tokenizers.get(name)
            if isinstance(value, Mapping) and tokenizer is None:
                self._add(f"{name}.", value, out, missing)
                continue
            try:
                made = _encoded(value) if tokenizer is None else _tokens(value, tokenizer)
            except ConfigurationError as error:
                raise ConfigurationError(f"column {name!r}: {error}") from None
            if made is None:
                missing[name] = missing.get(name, 0) + 1
                continue
            form, data = made
            column = ConvertedColumn(name, *form)
            known = self.columns.setdefault(name, column)
            if known != column:
                raise ConfigurationError(f"column {name!r} is {_words(column)} in this row, and {_words(known)} in others")
            out += (key_bytes(name), data)


def names_of(row: Any, path: str = "") -> List[str]:
    """Returns the names of a row's values, and of the dicts in it."""
    out: List[str] = []
    for key, value in row.items():
        out.append(f"{path}{key}")
        if isinstance(value, Mapping):
            out += names_of(value, f"{path}{key}.")
    return out


def _words(column: ConvertedColumn) -> str:
    return f"{column.source} {column.shape}".strip()


def _encoded(value: Any) -> Optional[Tuple[_Form, bytes]]:
    """Returns form and bytes of a value, or None if there is nothing to store."""
    if value is None:
        return None
    if isinstance(value, _TEXT):
        return _Form("text" if isinstance(value, str) else "bytes", "BYTES", "[]"), _texts([value], single=True)
    if isinstance(value, (list, tuple)):
        if len(value) == 0:
            return None
        texts = sum(isinstance(item, _TEXT) for item in value)
        if texts == len(value):
            return _Form("list of texts", "BYTES", "[*]"), _texts(list(value), single=False)
        if texts:
            raise ConfigurationError("a list of numbers and texts")
        return _array(_as_array(value))
    array = _as_array(value)
    if array.ndim == 0:
        return _scalar(array, type(value).__name__)
    return _array(array)


def _tokens(value: Any, tokenizer: Tokenizer) -> Optional[Tuple[_Form, bytes]]:
    """Returns form and bytes of a text's tokens, or None if there is no text."""
    if value is None:
        return None
    if not isinstance(value, _TEXT):
        raise ConfigurationError(f"tokenize takes a str or bytes, not {type(value).__name__}")
    try:
        form, data = _array(tokenizer.ids(decoded_texts([value]))[0])
    except BadValue as bad:
        raise ConfigurationError(str(bad)) from None
    return form._replace(source=f"text, by {tokenizer.name}"), data


def _as_array(value: Any) -> Any:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{type(value).__name__} is not an array of numbers: {error}") from None
    if array.dtype.kind == "O" and not (isinstance(value, np.ndarray) and array.ndim == 1):
        raise ConfigurationError(f"a record cannot hold {type(value).__name__}; it holds numbers, str, bytes and arrays")
    if array.dtype.kind in "mM":
        array = array.astype("int64")
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array


def _texts(values: List[Any], single: bool) -> bytes:
    out = [struct.pack("<BBI", _BYTES, single, len(values))]
    for value in values:
        data = value.encode() if isinstance(value, str) else bytes(value)
        out += (struct.pack("<I", len(data)), data)
    return b"".join(out)


def _scalar(array: Any, source: str) -> Tuple[_Form, bytes]:
    dtype = array.dtype.name
    if array.dtype.kind in "SU":
        value = array.item()
        return _Form("text" if isinstance(value, str) else "bytes", "BYTES", "[]"), _texts([value], single=True)
    if array.dtype.kind == "b" or (array.dtype.kind in "iu" and dtype != "uint64"):
        cast = 0 if dtype == "int64" else DATA_TYPES.get(dtype, 0)
        feature = f"INT64, cast to {dtype.upper()}" if cast else "INT64"
        return _Form(dtype, feature, "[]", cast), struct.pack("<BBIq", _INT64, 1, 1, int(array))
    if dtype == "float32":
        return _Form(dtype, "FLOAT", "[]"), struct.pack("<BBI", _FLOAT, 1, 1) + array.tobytes()
    if dtype not in DATA_TYPES:
        raise ConfigurationError(f"a record cannot hold {source} ({dtype}); convert it to another type")
    head = struct.pack("<BBB", _ARRAY, DATA_TYPES[dtype], 0)
    return _Form(dtype, f"{dtype.upper()} as raw bytes", "[]"), head + array.tobytes()


def _array(array: Any) -> Tuple[_Form, bytes]:
    dtype = array.dtype.name
    if array.dtype.kind in "SUO":
        values = array.tolist()
        if array.ndim != 1 or not all(isinstance(value, _TEXT) for value in values):
            raise ConfigurationError(f"an array of {dtype} with {array.ndim} axes; a record holds lists of texts")
        return _Form("list of texts", "BYTES", "[*]"), _texts(values, single=False)
    shape = f"[{', '.join(['*', *map(str, array.shape[1:])])}]"
    source = f"{dtype} array"
    if array.ndim == 1 and dtype == "int64":
        return _Form(source, "INT64", shape), struct.pack("<BBI", _INT64, 0, len(array)) + array.astype("<i8").tobytes()
    if array.ndim == 1 and dtype == "float32":
        return _Form(source, "FLOAT", shape), struct.pack("<BBI", _FLOAT, 0, len(array)) + array.tobytes()
    if dtype not in DATA_TYPES:
        raise ConfigurationError(f"a record cannot hold an array of {dtype}; convert it with astype()")
    if 0 in array.shape[1:]:
        raise ConfigurationError(f"an array of shape {array.shape}; only the first axis may be 0")
    head = struct.pack(f"<BBB{array.ndim}Q", _ARRAY, DATA_TYPES[dtype], array.ndim, *array.shape)
    return _Form(source, f"{dtype.upper()} as raw bytes", shape), head + array.tobytes()
