"""One batch: columns of rows, with the origin of each row. Arrays are views of the arena, created on first use."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _protocol as protocol
from ._arena import Arena, Owner
from ._schema_types import Column

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    _Mapping = Mapping[str, Any]
else:
    Array = Any
    _Mapping = Mapping

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)
_UINT8 = np.dtype(np.uint8)


class Layout:
    """A job's columns, with values that are equal for all batches."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns: Dict[str, Column] = {column.name: column for column in columns}
        self.numbers: Dict[str, int] = {column.name: number for number, column in enumerate(columns)}
        # Bytes of a row, or of an element of a ragged column.
        self.bytes: List[int] = [prod(c.shape) * (0 if c.string else c.dtype.itemsize) for c in columns]


class Ragged:
    """A column whose rows may have different numbers of elements: `values` has the elements of all rows in sequence.

    Row i is `ragged[i]`, which is `values[row_splits[i]:row_splits[i + 1]]`.
    """

    __slots__ = ("row_splits", "values")

    def __init__(self, values: Array, row_splits: npt.NDArray[np.int64]) -> None:
        self.values = values
        self.row_splits = row_splits

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int) -> Array:
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"row {row} of {rows}")
        row %= rows
        return self.values[self.row_splits[row] : self.row_splits[row + 1]]

    def __iter__(self) -> Iterator[Array]:
        return (self[row] for row in range(len(self)))

    def lengths(self) -> npt.NDArray[np.int64]:
        """Returns the number of elements of each row."""
        lengths: npt.NDArray[np.int64] = np.diff(self.row_splits)
        return lengths

    def to_padded(self, length: Optional[int] = None, value: Any = 0, truncate: bool = False) -> Array:
        """Returns a dense copy (rows, length, ...), padded with `value` (strings: with b"" by default). The default of
        `length` is the length of the longest row.

        Raises ValueError for a row that is longer than `length`. If `truncate` is true, drops the row's end instead.
        """
        lengths = self.lengths()
        longest = int(lengths.max()) if len(lengths) else 0
        if length is None:
            length = longest
        if longest > length and not truncate:
            raise ValueError(
                f"a row has {longest} elements, more than length={length}: give a greater one, or truncate=True"
            )
        if self.values.dtype == object and value == 0:
            value = b""
        padded = np.full((len(self), length, *self.values.shape[1:]), value, self.values.dtype)
        place = np.arange(length) < lengths[:, None]
        if longest <= length:
            padded[place] = self.values[self.row_splits[0] : self.row_splits[-1]]
        else:
            for row in range(len(self)):
                count = min(int(lengths[row]), length)
                padded[row, :count] = self[row][:count]
        return padded

    def __repr__(self) -> str:
        return f"Ragged(rows={len(self)}, values={self.values.dtype}{list(self.values.shape)})"


class Strings:
    """A column of strings in the arena, without a copy.

    Element i is `text[offsets[i]:offsets[i + 1]]`. `row_splits` is None if each row has the same number of elements.
    """

    __slots__ = ("offsets", "row_splits", "text")

    def __init__(
        self, text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], row_splits: Optional[npt.NDArray[np.int64]]
    ) -> None:
        self.text = text
        self.offsets = offsets
        self.row_splits = row_splits

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_objects(self) -> Array:
        """Returns a copy with one bytes object for each element."""
        text = self.text.tobytes()
        at = self.offsets.tolist()
        out = np.empty(len(at) - 1, object)
        for i in range(len(at) - 1):
            out[i] = text[at[i] : at[i + 1]]
        return out


Value = Union["Array", Ragged]


class Batch(_Mapping):
    """Columns by name, as writable NumPy arrays in the arena, without a copy.

    A batch's memory is released when the last array in it is destroyed, so a loop may keep arrays and whole batches.
    `batch["image"]` is an array (rows, ...). A ragged column is a `Ragged`. Strings are an array of bytes objects, which
    are copies. `strings(name)` returns them without a copy.
    """

    __slots__ = ("_arrays", "_fields", "_layout", "_packet", "_whole", "state")

    def __init__(self, packet: bytes, fields: protocol.BatchFields, layout: Layout, arena: Arena, owner: Owner) -> None:
        if fields.columns != len(layout.columns):
            raise protocol.wrong(f"a BATCH of {fields.columns} columns, not {len(layout.columns)}")
        if fields.rows > arena.size:
            raise protocol.wrong(f"a BATCH of {fields.rows} rows")
        self._packet = packet
        self._fields = fields
        self._layout = layout
        self._arrays: Dict[str, Value] = {}
        self._whole: Array = np.asarray(owner)
        #: The loader's state after this batch, as text (see Loader.state_dict).
        self.state: str = protocol.batch_state(packet, fields.columns)

    @property
    def rows(self) -> int:
        """The number of rows of this rank. Under PARTIAL, the last step of an epoch may have fewer rows."""
        return self._fields.rows

    @property
    def epoch(self) -> int:
        return self._fields.epoch

    @property
    def step(self) -> int:
        """Number of the step in its epoch: how many steps the epoch has before `position`, rounded up."""
        return self._fields.step

    @property
    def position(self) -> int:
        """Position in the epoch of the first row of the global step."""
        return self._fields.position

    @property
    def last_of_epoch(self) -> bool:
        return bool(self._fields.flags & protocol.LAST_OF_EPOCH)

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """(rows, 2): the shard's number in the sorted order of its data set and the record's number in its shard,
        according to the plan."""
        return self._view(self._fields.ids, _INT64, (self._fields.rows, 2))

    @property
    def datasets(self) -> npt.NDArray[np.int32]:
        """(rows,): the number of each row's data set in `Loader.datasets`. 0 if the data sets have no names."""
        rows = self._fields.rows
        if not self._fields.flags & protocol.SETS_FOLLOW_IDS:
            return np.zeros(rows, _INT32)
        return self._view(self._fields.ids + 16 * rows, _INT32, (rows,))

    @property
    def sources(self) -> npt.NDArray[np.int64]:
        """(rows, 2): the origin of each row's content. Equals `ids`, except where another record replaces a bad one."""
        return self._view(self._fields.sources, _INT64, (self._fields.rows, 2))

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """(rows,): False for padding, and for a row that the job's error policy masked; otherwise True."""
        return self._view(self._fields.valid, np.dtype(np.bool_), (self._fields.rows,))

    def strings(self, name: str) -> Strings:
        """Returns a column of strings without a copy."""
        if name not in self._layout.columns:
            raise KeyError(self._no_column(name))
        column, fields = self._column(name)
        if not column.string:
            raise KeyError(f"{name} is a column of {column.type}, not of strings")
        rows = self._fields.rows
        offsets = self._view(fields.offsets, _INT64, (fields.elements + 1,))
        splits = self._view(fields.row_splits, _INT64, (rows + 1,)) if fields.row_splits else None
        text = self._view(fields.values, _UINT8, (fields.bytes,))
        last = int(offsets[-1])
        if last > fields.bytes or (splits is not None and int(splits[-1]) != fields.elements):
            raise protocol.wrong(f"strings of {name} that do not fit their text")
        return Strings(text, offsets, splits)

    def copy(self) -> Dict[str, Value]:
        """Returns copies of all columns, which are independent of the batch."""
        return {
            name: Ragged(value.values.copy(), value.row_splits.copy()) if isinstance(value, Ragged) else value.copy()
            for name, value in self.items()
        }

    # ---- as a mapping

    def __getitem__(self, name: str) -> Any:
        value = self._arrays.get(name)
        if value is None:
            if name not in self._layout.columns:
                raise KeyError(self._no_column(name))
            value = self._arrays[name] = self._build(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.columns)

    def __len__(self) -> int:
        """Returns the number of columns. `rows` is the number of rows."""
        return len(self._layout.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._layout.columns

    def __repr__(self) -> str:
        columns = ", ".join(f"{c.name}: {c.type}{list(c.shape)}" for c in self._layout.columns.values())
        return f"Batch(epoch={self.epoch}, step={self.step}, rows={self.rows}, {{{columns}}})"

    def __reduce__(self) -> Any:
        raise TypeError("a batch is memory of this process: send batch.copy(), a dict of arrays, to another one")

    # ---- the arrays

    def _column(self, name: str) -> Tuple[Column, protocol.ColumnFields]:
        column = self._layout.columns[name]
        return column, protocol.column_fields(self._packet, self._layout.numbers[name])

    def _no_column(self, name: str) -> str:
        return f"no column {name!r}; there are {', '.join(self._layout.columns)}"

    def _build(self, name: str) -> Value:
        column, fields = self._column(name)
        if column.string:
            return self._strings(column)
        rows = self._fields.rows
        size = self._layout.bytes[self._layout.numbers[name]]
        count = fields.elements if column.ragged else rows
        if fields.bytes != count * size:
            raise protocol.wrong(f"{fields.bytes} bytes for the column {name}, not {count} times {size}")
        values = self._view(fields.values, column.dtype, (count, *column.shape))
        if not column.ragged:
            return values
        return Ragged(values, self._splits(column, fields, rows))

    def _strings(self, column: Column) -> Value:
        strings = self.strings(column.name)
        objects = strings.to_objects()
        if not column.ragged:
            return objects.reshape((self._fields.rows, *column.shape))
        splits = strings.row_splits
        if splits is None:
            splits = np.arange(self._fields.rows + 1, dtype=np.int64)
        return Ragged(objects.reshape((-1, *column.shape)), splits // max(1, prod(column.shape)))

    def _splits(self, column: Column, fields: protocol.ColumnFields, rows: int) -> npt.NDArray[np.int64]:
        splits = self._view(fields.row_splits, _INT64, (rows + 1,))
        if int(splits[-1]) != fields.elements:
            raise protocol.wrong(f"row splits of {column.name} that end at {int(splits[-1])}, not {fields.elements}")
        return splits

    def _view(self, offset: int, dtype: np.dtype[Any], shape: Tuple[int, ...]) -> Array:
        try:
            # The view keeps self._whole alive, which keeps the owner. NumPy rejects offsets outside of the arena.
            view: Array = np.ndarray(shape, dtype, self._whole, offset)
        except (TypeError, ValueError) as error:
            raise protocol.wrong(f"{list(shape)} elements at {offset} of the arena: {error}") from None
        return view


def columns_of(batch: Batch) -> Dict[str, Column]:
    """Returns the columns of a batch, by name. They are the same for all batches of a stream."""
    return batch._layout.columns
