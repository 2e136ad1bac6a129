"""Columns of Arrow arrays as features: which feature a type becomes, and the bytes of its values."""

from __future__ import annotations

import struct
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._column_options import ColumnOptions
from ._convert_source import BadValue, ConvertedColumn, bad_value, refusal
from ._errors import ConfigurationError
from ._frames import Fixed, Variable, frames, key_bytes, list_of_bytes
from ._packing import DATA_TYPES
from ._token_columns import no_text, token_column
from ._tokenizers import Tokenizer

_BYTES, _FLOAT, _INT64, _ARRAY = b"\x01", b"\x02", b"\x03", b"\x04"
_ONE = b"\x01\x01\x00\x00\x00"  # a single value: u8 1, u32 1
_NONE = "a record has no such type"

Encode = Callable[[Any], Union[Fixed, Variable]]


class ArrowColumn(NamedTuple):
    column: ConvertedColumn
    path: Tuple[str, ...]  # the field, and the fields inside of its structs
    encode: Optional[Encode]  # None: all values are null


class _No(Exception):
    """A type without a counterpart. The text is the reason."""


def arrow_columns(schema: Any, what: str, options: ColumnOptions) -> List[ArrowColumn]:
    """Returns the columns of a table; fields of structs are columns of their own. Raises ConfigurationError that names each
    column without a counterpart.
    """
    options.check(what, column_names(schema))
    out: List[ArrowColumn] = []
    refused: List[str] = []
    for field in schema:
        _add((field.name,), field.type, options, out, refused)
    if refused:
        raise refusal(what, refused)
    names = [column.column.name for column in out]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise ConfigurationError(f"{what} has two columns {double!r}; rename one of them, or leave both out with drop")
    if not any(column.encode for column in out):
        raise ConfigurationError(f"{what} has no column with values")
    return out


def column_names(schema: Any) -> List[str]:
    """Returns the names of columns, and of the fields in structs."""
    out: List[str] = []

    def walk(path: str, kind: Any) -> None:
        out.append(path)
        if pa.types.is_struct(kind):
            for field in kind:
                walk(f"{path}.{field.name}", field.type)

    for field in schema:
        walk(field.name, field.type)
    return out


def values_of(batch: Any, path: Tuple[str, ...]) -> Any:
    """Returns the array of a column. A null struct makes its fields null."""
    array = batch.column(batch.schema.get_field_index(path[0]))
    for name in path[1:]:
        array = array.flatten()[array.type.get_field_index(name)]
    return array


def encoded_batch(columns: List[ArrowColumn], batch: Any, place: str, row: int, missing: Dict[str, int]) -> bytes:
    """Returns the frames of a batch, and counts its missing values. `place` and `row` name the batch in errors."""
    fixed: List[Fixed] = []
    variable: List[Variable] = []
    for column in columns:
        if column.encode is None:
            continue
        name = column.column.name
        array = values_of(batch, column.path)
        if array.null_count:
            missing[name] = missing.get(name, 0) + array.null_count
        try:
            value = column.encode(array)
        except BadValue as bad:
            raise bad_value(f"{place}, row {row + bad.row}", name, bad) from None
        if isinstance(value, Fixed):
            fixed.append(value)
        else:
            variable.append(value)
    return frames(batch.num_rows, fixed, variable)


def _add(
    path: Tuple[str, ...], kind: Any, options: ColumnOptions, out: List[ArrowColumn], refused: List[str]
) -> None:
    name = ".".join(path)
    if name in options.drop:
        return
    if name in options.tokenizers:
        out.append(_token_column(name, path, kind, options.tokenizers[name]))
        return
    if pa.types.is_struct(kind):
        for field in kind:
            _add((*path, field.name), field.type, options, out, refused)
        return
    try:
        out.append(_column(name, path, kind))
    except _No as no:
        refused.append(f"{name}: {kind} ({no})")


def _token_column(name: str, path: Tuple[str, ...], kind: Any, tokenizer: Tokenizer) -> ArrowColumn:
    try:
        plain, simplify = _plain(kind)
    except _No:
        raise no_text(name, str(kind)) from None
    if pa.types.is_null(plain):
        return _column(name, path, kind)
    if not _is_text(plain):
        raise no_text(name, str(kind))
    column, encode = token_column(name, str(kind), tokenizer)

    def tokens(array: Any) -> Variable:
        # As bytes, because a conversion of a whole array to str does not name the text that is not UTF-8.
        texts = (simplify(array) if simplify else array).cast(pa.large_binary())
        return encode(texts.to_pylist(), _valid(texts))

    return ArrowColumn(column, path, tokens)


def _column(name: str, path: Tuple[str, ...], kind: Any) -> ArrowColumn:
    if pa.types.is_null(kind):
        return ArrowColumn(ConvertedColumn(name, str(kind), "", "[]"), path, None)
    key = key_bytes(name)
    plain, simplify = _plain(kind)
    feature, shape, cast, encode = _encoder(key, plain)
    column = ConvertedColumn(name, str(kind), feature, shape, cast)
    if simplify is None:
        return ArrowColumn(column, path, encode)
    return ArrowColumn(column, path, lambda array: encode(simplify(array)))


def _plain(kind: Any) -> Tuple[Any, Optional[Callable[[Any], Any]]]:
    """Returns a type that has the same values, and how to convert an array to it; None: it is the same."""
    if pa.types.is_dictionary(kind):
        return kind.value_type, lambda array: array.dictionary_decode()
    if pa.types.is_run_end_encoded(kind):
        return kind.value_type, pc.run_end_decode
    if isinstance(kind, pa.FixedShapeTensorType):
        if kind.permutation not in (None, list(range(len(kind.shape)))):
            raise _No("its axes are permuted")
        tensor = kind.value_type
        for extent in reversed(kind.shape):
            tensor = pa.list_(tensor, extent)
        return tensor, lambda array: _nested(array.storage, kind.shape)
    if isinstance(kind, pa.ExtensionType) and hasattr(kind, "shape") and hasattr(kind, "value_type"):
        return _array_of_datasets(kind)
    if isinstance(kind, pa.BaseExtensionType):
        storage, simplify = _plain(kind.storage_type)
        return storage, lambda array: simplify(array.storage) if simplify else array.storage
    if pa.types.is_string_view(kind):
        return pa.large_string(), lambda array: array.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return pa.large_binary(), lambda array: array.cast(pa.large_binary())
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        flat = pa.large_list(kind.value_field)
        return flat, lambda array: array.cast(flat)
    if pa.types.is_struct(kind):
        raise _No("a struct inside of another type")
    return kind, None


def _array_of_datasets(kind: Any) -> Tuple[Any, Callable[[Any], Any]]:
    """Returns the same as _plain for Array2D and similar types of Hugging Face's datasets, which are lists of lists."""
    if None in kind.shape[1:]:
        raise _No("an array whose axes after the first one vary")
    inner = kind.storage_type
    for _ in kind.shape:
        inner = inner.value_type
    for extent in reversed(kind.shape):
        inner = pa.list_(inner) if extent is None else pa.list_(inner, extent)
    return inner, lambda array: array.storage.cast(inner)


def _nested(storage: Any, shape: List[int]) -> Any:
    """Returns a flat list of fixed size as nested lists."""
    array = storage.values.slice(storage.offset * storage.type.list_size, len(storage) * storage.type.list_size)
    for extent in reversed(shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, extent)
    return pa.FixedSizeListArray.from_arrays(array, shape[0], mask=storage.is_null() if storage.null_count else None)


def _encoder(key: bytes, kind: Any) -> Tuple[str, str, int, Encode]:
    """Returns feature, shape, cast and encoder of a type."""
    types = pa.types
    if _is_text(kind):
        return "BYTES", "[]", 0, lambda array: _texts(key, array)
    if types.is_list(kind) or types.is_large_list(kind):
        return _list_encoder(key, kind)
    if types.is_fixed_size_list(kind):
        return _fixed_list_encoder(key, kind)
    dtype, as_numbers = _numbers(kind)
    if dtype == "float32":
        return "FLOAT", "[]", 0, lambda array: Fixed(key + _FLOAT + _ONE, _octets(as_numbers(array), 4), _valid(array))
    if dtype in ("float16", "float64", "uint64"):
        raw, width = key + _ARRAY + bytes([DATA_TYPES[dtype], 0]), np.dtype(dtype).itemsize
        feature = f"{dtype.upper()} as raw bytes"
        return feature, "[]", 0, lambda array: Fixed(raw, _octets(as_numbers(array), width), _valid(array))
    cast = 0 if dtype == "int64" else DATA_TYPES.get(dtype, 0)
    words = "INT64" + (f", cast to {dtype.upper()}" if cast else _unit(kind))
    head = key + _INT64 + _ONE
    return words, "[]", cast, lambda array: Fixed(head, _octets(as_numbers(array).astype("<i8"), 8), _valid(array))


def _unit(kind: Any) -> str:
    """Returns the words for the integers of a time."""
    types = pa.types
    if types.is_date32(kind):
        return ", days since 1970"
    if types.is_date64(kind):
        return ", ms since 1970"
    if types.is_timestamp(kind):
        return f", {kind.unit} since 1970"
    if types.is_time(kind):
        return f", {kind.unit} of the day"
    return f", {kind.unit}" if types.is_duration(kind) else ""


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or (types.is_fixed_size_binary(kind) and not types.is_decimal(kind))
    )


def _numbers(kind: Any) -> Tuple[str, Callable[[Any], Any]]:
    """Returns the NumPy type of an array's numbers, and a function that returns them. Values of nulls are arbitrary."""
    types = pa.types
    if types.is_boolean(kind):
        return "bool", lambda array: _buffer(array.cast(pa.uint8()), "u1")
    if types.is_temporal(kind) and not types.is_interval(kind):
        wide = types.is_date64(kind) or types.is_time64(kind) or types.is_timestamp(kind) or types.is_duration(kind)
        return "int64", lambda array: _buffer(array, "<i8" if wide else "<i4")
    if types.is_integer(kind) or types.is_floating(kind):
        dtype = str(np.dtype(kind.to_pandas_dtype()))
        return dtype, lambda array: _buffer(array, np.dtype(dtype).newbyteorder("<").str)
    raise _No(_NONE)


def _buffer(array: Any, dtype: str) -> Any:
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * np.dtype(dtype).itemsize)


def _octets(numbers: Any, width: int) -> Any:
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, width)


def _valid(array: Any) -> Optional[Any]:
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _text_parts(array: Any) -> Tuple[Any, Any]:
    """Returns the bytes of all texts, and the offset of each text and of the end."""
    if pa.types.is_fixed_size_binary(array.type):
        width = array.type.byte_width
        buffer = array.buffers()[1] or b""
        return buffer, (np.arange(len(array) + 1) + array.offset) * width
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return b"", np.zeros(len(array) + 1, np.int64)
    dtype = np.dtype("<i8" if wide else "<i4")
    ends = np.frombuffer(offsets, dtype, len(array) + 1, array.offset * dtype.itemsize).astype(np.int64)
    return data if data is not None else b"", ends


def _texts(key: bytes, array: Any) -> Variable:
    data, offsets = _text_parts(array)
    return Variable(key + _BYTES + _ONE, np.diff(offsets).astype("<u4"), b"", data, offsets, _valid(array))


def _no_inner_nulls(array: Any) -> None:
    inner = array.flatten()  # without the lists that are null
    while inner.null_count == 0:
        if not isinstance(inner, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
            return
        inner = inner.flatten()
    row = next(row for row, value in enumerate(array) if value.is_valid and _has_null(value.as_py()))
    raise BadValue(row, "has a list with a null in it, which a record's list cannot have")


def _has_null(value: Any) -> bool:
    return value is None or (isinstance(value, list) and any(map(_has_null, value)))


def _list_encoder(key: bytes, kind: Any) -> Tuple[str, str, int, Encode]:
    inner = kind.value_type
    if _is_text(inner):
        head = key + _BYTES + b"\x00"

        def texts(array: Any) -> Variable:
            _no_inner_nulls(array)
            offsets = array.offsets.to_numpy().astype(np.int64)
            data, ends = _text_parts(array.values)
            packed, places = list_of_bytes(np.diff(ends), data, ends)
            return Variable(head, np.diff(offsets).astype("<u4"), b"", packed, places[offsets], _valid(array))

        return "BYTES", "[*]", 0, texts
    extents: List[int] = []
    while pa.types.is_fixed_size_list(inner):
        extents.append(inner.list_size)
        inner = inner.value_type
    if pa.types.is_list(inner) or pa.types.is_large_list(inner):
        raise _No("lists of lists of any length")
    dtype, as_numbers = _numbers(inner)
    feature, head, tail, counted, stored = _list_form(key, dtype, extents)
    per_row = int(np.prod(extents, dtype=np.int64))

    def numbers(array: Any) -> Variable:
        _no_inner_nulls(array)
        offsets = array.offsets.to_numpy().astype(np.int64)
        values = array.values
        for extent in extents:
            values = values.values.slice(values.offset * extent, len(values) * extent)
        data = np.ascontiguousarray(as_numbers(values).astype(stored, copy=False))
        size = data.itemsize * per_row
        counts = np.diff(offsets).astype(counted)
        return Variable(head, counts, tail, data.view(np.uint8), offsets * size, _valid(array))

    shape = ", ".join(["*", *map(str, extents)])
    return feature, f"[{shape}]", 0, numbers


def _list_form(key: bytes, dtype: str, inner: List[int]) -> Tuple[str, bytes, bytes, str, str]:
    """Returns feature, head, tail, type of the count and stored type of lists of numbers: an INT64 or FLOAT list if it has
    one axis and the type is that of the feature, an array otherwise. `inner` are the axes after the first one.
    """
    if 0 in inner:
        raise _No("an inner axis of 0")
    if not inner and dtype in ("int64", "float32"):
        kind = _FLOAT if dtype == "float32" else _INT64
        name = "FLOAT" if dtype == "float32" else "INT64"
        return name, key + kind + b"\x00", b"", "<u4", "<f4" if dtype == "float32" else "<i8"
    if dtype not in DATA_TYPES:
        raise _No(f"decode_raw does not read {dtype}")
    head = key + _ARRAY + bytes([DATA_TYPES[dtype], 1 + len(inner)])
    stored = "u1" if dtype == "bool" else np.dtype(dtype).newbyteorder("<").str
    return f"{dtype.upper()} as raw bytes", head, struct.pack(f"<{len(inner)}Q", *inner), "<u8", stored


def _fixed_list_encoder(key: bytes, kind: Any) -> Tuple[str, str, int, Encode]:
    extents: List[int] = []
    inner = kind
    while pa.types.is_fixed_size_list(inner):
        extents.append(inner.list_size)
        inner = inner.value_type
    if _is_text(inner) and len(extents) == 1:
        large = pa.large_list(kind.value_type)
        feature, _, cast, encode = _list_encoder(key, large)
        return feature, f"[{extents[0]}]", cast, lambda array: encode(array.cast(large))
    dtype, as_numbers = _numbers(inner)
    feature, head, tail, counted, stored = _list_form(key, dtype, extents[1:])
    front = head + np.array([extents[0]], counted).tobytes() + tail
    total = int(np.prod(extents, dtype=np.int64))

    def numbers(array: Any) -> Fixed:
        _no_inner_nulls(array)
        values = array
        for extent in extents:
            values = values.values.slice(values.offset * extent, len(values) * extent)
        data = np.ascontiguousarray(as_numbers(values).astype(stored, copy=False))
        return Fixed(front, data.view(np.uint8).reshape(len(array), total * data.itemsize), _valid(array))

    return feature, f"[{', '.join(map(str, extents))}]", 0, numbers
