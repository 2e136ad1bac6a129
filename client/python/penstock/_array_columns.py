"""Columns of NumPy arrays as features: the first axis counts the rows."""

from __future__ import annotations

import struct
from typing import Any, Callable, List, Sequence, Tuple, Union

import numpy as np

from ._column_options import ColumnOptions
from ._convert_source import ConvertedColumn
from ._frames import Fixed, Variable, key_bytes
from ._packing import DATA_TYPES
from ._token_columns import token_column

_BYTES, _FLOAT, _INT64, _ARRAY = b"\x01", b"\x02", b"\x03", b"\x04"
_ONE = struct.pack("<BI", 1, 1)

Encode = Callable[[Any], Union[Fixed, Variable]]


class NoCounterpart(Exception):
    """A type that a record cannot hold. The text is the reason."""


def number_column(name: str, dtype: Any, inner: Sequence[int]) -> Tuple[ConvertedColumn, Encode]:
    """Returns the column of an array [rows, *inner], and its encoder."""
    source = str(dtype)
    if dtype.kind in "mM":
        raise NoCounterpart("times; store them as integers")
    kind = dtype.name
    key = key_bytes(name)
    shape = f"[{', '.join(map(str, inner))}]"
    if 0 in inner:
        raise NoCounterpart("an inner axis of 0")
    if not inner and dtype.kind in "biu" and kind != "uint64":
        cast = 0 if kind == "int64" else DATA_TYPES.get(kind, 0)
        feature = f"INT64, cast to {kind.upper()}" if cast else "INT64"
        return ConvertedColumn(name, source, feature, shape, cast), _fixed(key + _INT64 + _ONE, "<i8")
    if len(inner) < 2 and kind in ("int64", "float32"):
        of, stored = (_FLOAT, "<f4") if kind == "float32" else (_INT64, "<i8")
        count = struct.pack("<BI", not inner, inner[0] if inner else 1)
        feature = "FLOAT" if kind == "float32" else "INT64"
        return ConvertedColumn(name, source, feature, shape), _fixed(key + of + count, stored)
    if kind not in DATA_TYPES:
        raise NoCounterpart(f"neither INT64 nor decode_raw holds {kind}")
    head = key + _ARRAY + struct.pack(f"<BB{len(inner)}Q", DATA_TYPES[kind], len(inner), *inner)
    stored = dtype.newbyteorder("<").str
    return ConvertedColumn(name, source, f"{kind.upper()} as raw bytes", shape), _fixed(head, stored)


def _fixed(head: bytes, stored: str) -> Encode:
    def encode(array: Any) -> Fixed:
        values = np.ascontiguousarray(array.astype(stored, copy=False)).reshape(len(array), -1)
        return Fixed(head, values.view(np.uint8).reshape(len(array), values.shape[1] * values.itemsize))

    return encode


def list_column(name: str, dtype: Any) -> Tuple[ConvertedColumn, Encode]:
    """Returns the column of an array of arrays with one axis, which has any length, and its encoder."""
    kind = dtype.name
    key = key_bytes(name)
    if kind in ("int64", "float32"):
        of, stored, counted = (_FLOAT, "<f4", "<u4") if kind == "float32" else (_INT64, "<i8", "<u4")
        head, feature = key + of + b"\x00", "FLOAT" if kind == "float32" else "INT64"
    elif kind in DATA_TYPES:
        head, stored, counted = key + _ARRAY + bytes([DATA_TYPES[kind], 1]), dtype.newbyteorder("<").str, "<u8"
        feature = f"{kind.upper()} as raw bytes"
    else:
        raise NoCounterpart(f"neither INT64 nor decode_raw holds {kind}")

    def encode(array: Any) -> Variable:
        values = [np.asarray(value, dtype).astype(stored, copy=False) for value in array]
        return _variable(head, [len(value) for value in values], counted, [value.tobytes() for value in values])

    return ConvertedColumn(name, f"lists of {dtype}", feature, "[*]"), encode


def text_column(name: str, source: str, options: ColumnOptions) -> Tuple[ConvertedColumn, Encode]:
    """Returns the column of an array of bytes or str, and its encoder."""
    if name in options.tokenizers:
        column, tokens = token_column(name, source, options.tokenizers[name])
        return column, lambda array: tokens(array.tolist(), None)
    head = key_bytes(name) + _BYTES + _ONE

    def encode(array: Any) -> Variable:
        values = [value.encode() if isinstance(value, str) else bytes(value) for value in array.tolist()]
        return _variable(head, [len(value) for value in values], "<u4", values)

    return ConvertedColumn(name, source, "BYTES", "[]"), encode


def _variable(head: bytes, counts: List[int], counted: str, values: List[bytes]) -> Variable:
    offsets = np.concatenate(([0], np.cumsum([len(value) for value in values], dtype=np.int64)))
    return Variable(head, np.array(counts, counted), b"", b"".join(values), offsets)
