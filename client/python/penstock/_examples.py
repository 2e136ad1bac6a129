"""Looks into serialized tf.train.Examples, without a library (tensorflow/core/example/{example,feature}.proto)."""

from __future__ import annotations

from typing import Dict, Iterator, Optional, Tuple

_LENGTH_DELIMITED = 2
_KINDS = {1: "BYTES", 2: "FLOAT", 3: "INT64"}


class _Malformed(Exception):
    pass


def features_of(record: bytes) -> Optional[Dict[str, str]]:
    """Returns the kind of each feature by its key, or None if the record is no Example with features. A feature without
    values of a kind has "".
    """
    try:
        kinds: Dict[str, str] = {}
        for features in _messages(record, 1):
            for entry in _messages(features, 1):
                parts = dict(_fields(entry))
                kinds[parts.get(1, b"").decode()] = next((_KINDS.get(field, "") for field, _ in _fields(parts.get(2, b""))), "")
        return kinds or None
    except (_Malformed, UnicodeDecodeError):
        return None


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    """Yields the messages in a field that must be the only one."""
    for field, content in _fields(data):
        if field != number:
            raise _Malformed
        yield content


def _fields(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """Yields number and content of each field. All must be length-delimited."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        length, at = _varint(data, at)
        if tag & 7 != _LENGTH_DELIMITED or length > len(data) - at:
            raise _Malformed
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise _Malformed
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise _Malformed
