"""Makes the elements of a tf.data.Dataset: converts columns to tensors, and splits a batch over replicas."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import tensorflow as tf

from . import _batch
from ._columns import Columns
from ._errors import ConfigurationError
from ._schema_types import Column
from ._tf_feed import Element

# Names that a dataset can have in addition to the job's columns. A column of the job with that name has priority.
_ROWS = {"valid": ("bool", ()), "ids": ("int64", (2,)), "sources": ("int64", (2,)), "datasets": ("int32", ())}


class _Part(NamedTuple):
    """One tensor of an element. A ragged column has two."""

    spec: Any
    dtype: Any  # the NumPy type of the view of the array, or None


class Layout:
    """The columns of an element, and its flat tensors."""

    def __init__(self, schema: Dict[str, Column], columns: Columns, rows: Optional[int]) -> None:
        self.rows = rows
        if columns is None:
            self.names: Tuple[str, ...] = tuple(schema)
        else:
            self.names = (columns,) if isinstance(columns, str) else tuple(columns)
        self._shaped = columns
        self.columns: List[Column] = []
        self.from_job: List[bool] = []
        for name in self.names:
            if name in schema:
                self.columns.append(schema[name])
            elif name in _ROWS:
                kind, shape = _ROWS[name]
                self.columns.append(Column(name, kind, np.dtype(kind), shape, False))
            else:
                raise ConfigurationError(f"no column {name!r}; there are {', '.join(schema)}; and {', '.join(_ROWS)}")
            self.from_job.append(name in schema)
        self.parts: List[_Part] = [part for column in self.columns for part in self._parts(column)]

    def _parts(self, column: Column) -> List[_Part]:
        kind = tf.as_dtype(column.type)
        dtype = tf.bfloat16.as_numpy_dtype if column.type == "bfloat16" else None
        if not column.ragged:
            return [_Part(tf.TensorSpec((self.rows, *column.shape), kind), dtype)]
        splits = tf.TensorSpec((self.rows + 1 if self.rows is not None else None,), tf.int64)
        return [_Part(tf.TensorSpec((None, *column.shape), kind), dtype), _Part(splits, None)]

    @property
    def flat(self) -> bool:
        """Returns True if an element is the tuple of its tensors."""
        return self._shaped is not None and not isinstance(self._shaped, str) and not any(c.ragged for c in self.columns)

    def assemble(self, *tensors: Any) -> Any:
        """Returns the element of these tensors."""
        rest = iter(tensors)
        values = [
            tf.RaggedTensor.from_row_splits(next(rest), next(rest), validate=False) if column.ragged else next(rest)
            for column in self.columns
        ]
        if self._shaped is None:
            return dict(zip(self.names, values))
        return values[0] if isinstance(self._shaped, str) else tuple(values)


def rows_of_a_part(rank_rows: int, last: str, parts: int) -> Optional[int]:
    if rank_rows % parts:
        raise ConfigurationError(
            f"{rank_rows} rows of a step for {parts} replicas of this process: give a batch_size that is a multiple of the "
            "number of all replicas"
        )
    return None if last == "PARTIAL" else rank_rows // parts


class Splitter:
    """Splits a batch into one element for each replica."""

    def __init__(self, layout: Layout, rank_rows: int, parts: int) -> None:
        self._layout = layout
        self._size = rank_rows // parts
        self._count = parts

    def __call__(self, batch: _batch.Batch) -> List[Element]:
        layout = self._layout
        values = [batch[c.name] if job else getattr(batch, c.name) for c, job in zip(layout.columns, layout.from_job)]
        if self._count == 1:
            return [self._element(values)]
        return [
            self._element([_rows(value, n * self._size, (n + 1) * self._size) for value in values]) for n in range(self._count)
        ]

    def _element(self, values: Sequence[Any]) -> Element:
        flat: List[Any] = []
        for value in values:
            if isinstance(value, _batch.Ragged):
                flat += (value.values, value.row_splits)
            else:
                flat.append(value)
        return tuple(
            array if part.dtype is None else array.view(part.dtype) for array, part in zip(flat, self._layout.parts)
        )


def _rows(value: Any, begin: int, end: int) -> Any:
    if not isinstance(value, _batch.Ragged):
        return value[begin:end]
    splits = value.row_splits[begin : min(end, len(value)) + 1]
    if not len(splits):
        return _batch.Ragged(value.values[:0], np.zeros(1, np.int64))
    return _batch.Ragged(value.values[splits[0] : splits[-1]], splits - splits[0])
