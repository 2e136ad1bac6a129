"""Encodes many records at once, column by column, as frames for `penstock pack` (docs/import.md, "pack")."""

from __future__ import annotations

import struct
from typing import Any, List, NamedTuple, Optional, Sequence

import numpy as np

from ._errors import ConfigurationError
from ._packing import FEATURES

_FRAME_HEAD = 8
_MOST_BYTES = 1 << 30


class Fixed(NamedTuple):
    """A column whose values all have the same number of bytes."""

    head: bytes  # key and kind
    data: Any  # uint8 [rows, bytes of a value]
    valid: Optional[Any] = None  # bool [rows]; a record lacks the feature where it is False


class Variable(NamedTuple):
    """A column whose values have any number of bytes. A value is head, count, tail, and its bytes."""

    head: bytes
    counts: Any  # uint32 or uint64 [rows]
    tail: bytes
    data: Any  # the bytes of all values
    offsets: Any  # int64 [rows + 1], into data
    valid: Optional[Any] = None


def key_bytes(name: str) -> bytes:
    """Returns the start of a feature. Raises ConfigurationError for a name that no feature can have."""
    key = name.encode()
    if not 0 < len(key) < 1 << 16:
        raise ConfigurationError(f"the name of a column has 1 to 65535 bytes, not {len(key)}")
    return struct.pack("<H", len(key)) + key


def frames(rows: int, fixed: Sequence[Fixed], variable: Sequence[Variable]) -> bytes:
    """Returns the frames of `rows` records, which have the fixed columns first. The bytes of a record depend on its own
    values alone.
    """
    width = _FRAME_HEAD + sum(len(column.head) + column.data.shape[1] for column in fixed)
    block = np.empty((rows, width), np.uint8)
    block[:, 4:_FRAME_HEAD] = np.frombuffer(struct.pack("<I", FEATURES), np.uint8)
    fixed_sizes = np.full(rows, width, np.int64)
    keep = None
    at = _FRAME_HEAD
    for column in fixed:
        begin = at + len(column.head)
        end = begin + column.data.shape[1]
        block[:, at:begin] = np.frombuffer(column.head, np.uint8)
        block[:, begin:end] = column.data
        if column.valid is not None:
            if keep is None:
                keep = np.ones((rows, width), bool)
            keep[~column.valid, at:end] = False
            fixed_sizes -= np.where(column.valid, 0, end - at)
        at = end
    sizes = fixed_sizes - _FRAME_HEAD
    for value in variable:
        lengths = np.diff(value.offsets) + (len(value.head) + value.counts.itemsize + len(value.tail))
        sizes = sizes + (lengths if value.valid is None else np.where(value.valid, lengths, 0))
    if rows and int(sizes.max()) > _MOST_BYTES:
        raise ConfigurationError(f"a record has {int(sizes.max())} bytes; a record has at most 1 GiB")
    block[:, 0:4] = sizes.astype("<u4").view(np.uint8).reshape(rows, 4)
    flat = _view(block if keep is None else block[keep])
    if not variable:
        return bytes(flat)
    step = 1 + 2 * len(variable)
    parts: List[Any] = [b""] * (rows * step)
    parts[0::step] = _slices(flat, np.concatenate(([0], np.cumsum(fixed_sizes))))
    for number, value in enumerate(variable):
        heads, values = _heads(rows, value), _slices(memoryview(value.data), value.offsets)
        if value.valid is not None:
            for row in np.flatnonzero(~value.valid).tolist():
                heads[row] = values[row] = b""
        parts[1 + 2 * number :: step] = heads
        parts[2 + 2 * number :: step] = values
    return b"".join(parts)


def _view(array: Any) -> Any:
    return memoryview(array.reshape(-1))


def _slices(data: Any, offsets: Any) -> List[Any]:
    ends = offsets.tolist()
    return [data[begin:end] for begin, end in zip(ends, ends[1:])]


def _heads(rows: int, value: Variable) -> List[Any]:
    count = value.counts.itemsize
    width = len(value.head) + count + len(value.tail)
    block = np.empty((rows, width), np.uint8)
    block[:, : len(value.head)] = np.frombuffer(value.head, np.uint8)
    block[:, len(value.head) : len(value.head) + count] = np.ascontiguousarray(value.counts).view(np.uint8).reshape(rows, count)
    block[:, len(value.head) + count :] = np.frombuffer(value.tail, np.uint8)
    return _slices(_view(block), np.arange(rows + 1) * width)


def list_of_bytes(lengths: Any, data: Any, offsets: Any) -> Any:
    """Returns the bytes of a list's elements, each with its length in front, and the offset of each element."""
    parts: List[Any] = [b""] * (2 * len(lengths))
    parts[0::2] = _slices(memoryview(lengths.astype("<u4").view(np.uint8)), np.arange(len(lengths) + 1) * 4)
    parts[1::2] = _slices(memoryview(data), offsets)
    return b"".join(parts), np.concatenate(([0], np.cumsum(lengths.astype(np.int64) + 4)))
