"""A record's features, as `penstock pack` reads them (docs/import.md, "pack")."""

from __future__ import annotations

import struct
from typing import Any, Iterable, List, Mapping, Optional, Tuple, Union

import numpy as np

from ._errors import ConfigurationError

RECORD, FEATURES, END, GIVE_UP = 1, 2, 3, 4
_BYTES, _FLOAT, _INT64, _ARRAY = 1, 2, 3, 4
#: penstock.v1.DataType of the types that decode_raw reads.
DATA_TYPES = {
    "uint8": 1,
    "int8": 2,
    "uint16": 3,
    "int16": 4,
    "int32": 5,
    "int64": 6,
    "float16": 7,
    "bfloat16": 8,
    "float32": 9,
    "float64": 10,
    "bool": 11,
    "uint32": 13,
    "uint64": 14,
}
_Scalar = Union[bytes, str, int, float]


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", len(body), kind) + body


def features_body(features: Mapping[str, Any]) -> bytes:
    """Returns the encoded features. Raises ConfigurationError that names the feature if a record cannot hold its value."""
    out: List[bytes] = []
    for key, value in features.items():
        if not isinstance(key, str):
            raise ConfigurationError(f"names of features are str, not {type(key).__name__}: {key!r}")
        encoded = _value(key, value)
        if encoded is None:
            continue
        name = key.encode()
        if not 0 < len(name) < 1 << 16:
            raise ConfigurationError(f"the name of a feature has 1 to 65535 bytes, not {len(name)}")
        out += (struct.pack("<H", len(name)), name, *encoded)
    return b"".join(out)


def _value(key: str, value: Any) -> Optional[Iterable[bytes]]:
    """Returns the bytes after the key, or None if there is nothing to store."""
    if value is None:
        return None
    if isinstance(value, (bytes, str, bool, int, float)):
        return _values(key, [value], single=True)
    if isinstance(value, (bytearray, memoryview)):
        return _values(key, [bytes(value)], single=True)
    if isinstance(value, (list, tuple)):
        return _list(key, value)
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.dtype.kind in "OSU":
        if array.ndim == 0 and not isinstance(value, (np.ndarray, np.generic)):
            raise ConfigurationError(
                f"'{key}' is of type {type(value).__name__}: a feature is bytes, str, a number, a list of those, or an array"
            )
        return _value(key, array.item() if array.ndim == 0 else array.tolist())
    if array.ndim == 0:
        return _value(key, array.item()) if array.dtype.kind in "biuf" else _array(key, array)
    return _array(key, array)


def _list(key: str, values: Union[List[Any], Tuple[Any, ...]]) -> Optional[Iterable[bytes]]:
    if not values:
        return None  # an empty list is stored as if the key were missing
    plain: List[_Scalar] = []
    for value in values:
        item = value.item() if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 else value
        if not isinstance(item, (bytes, str, bool, int, float)):
            raise ConfigurationError(
                f"'{key}' is a list with a {type(value).__name__} in it: lists hold bytes, str or numbers; "
                "for more than one axis give a NumPy array"
            )
        plain.append(item)
    return _values(key, plain, single=False)


def _values(key: str, values: List[_Scalar], single: bool) -> Iterable[bytes]:
    text = sum(isinstance(value, (bytes, str)) for value in values)
    if text not in (0, len(values)):
        raise ConfigurationError(f"'{key}' is a list of numbers and texts; a feature is one of the two")
    if text:
        out = [struct.pack("<BBI", _BYTES, single, len(values))]
        for value in values:
            data = value.encode() if isinstance(value, str) else value
            assert isinstance(data, bytes)
            out += (struct.pack("<I", len(data)), data)
        return out
    if all(isinstance(value, int) for value in values):  # bool is a subclass of int
        try:
            return [struct.pack(f"<BBI{len(values)}q", _INT64, single, len(values), *values)]
        except struct.error:
            raise ConfigurationError(f"'{key}' holds an integer that does not fit int64") from None
    try:
        return [struct.pack(f"<BBI{len(values)}f", _FLOAT, single, len(values), *values)]
    except OverflowError:
        raise ConfigurationError(
            f"'{key}' holds a number that does not fit float32; a NumPy array of float64 is kept as it is"
        ) from None


def _array(key: str, array: Any) -> Iterable[bytes]:
    kind = DATA_TYPES.get(array.dtype.name)
    if kind is None:
        raise ConfigurationError(
            f"'{key}' is an array of {array.dtype}; shards hold {', '.join(DATA_TYPES)}: convert it with astype()"
        )
    if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and not np.little_endian):
        array = array.astype(array.dtype.newbyteorder("<"))
    head = struct.pack(f"<BBB{array.ndim}Q", _ARRAY, kind, array.ndim, *array.shape)
    return [head, array.tobytes()]  # in C order
