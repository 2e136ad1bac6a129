"""The columns of a job, as NumPy types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Tuple

import numpy as np

from ._protocol import ColumnInfo, wrong

if TYPE_CHECKING:
    _DType = np.dtype[Any]
else:
    _DType = np.dtype

# NumPy lacks bfloat16: its bits become uint16, and Column.type names the type.
_DTYPES = {
    name: np.dtype(name)
    for kind, sizes in (("uint", (8, 16, 32, 64)), ("int", (8, 16, 32, 64)), ("float", (16, 32, 64)))
    for name in (f"{kind}{size}" for size in sizes)
}
_DTYPES["bool"] = np.dtype("bool")
_DTYPES["bfloat16"] = np.dtype("uint16")
_DTYPES["string"] = np.dtype(object)


class Column(NamedTuple):
    """One column of a batch."""

    name: str
    #: "uint8" ... "float64", "bool", "bfloat16" or "string".
    type: str
    #: The NumPy type of its arrays: uint16, holding the bits, for bfloat16; object (of bytes) for strings.
    dtype: _DType
    #: Shape of one row, or of one element if the column is ragged.
    shape: Tuple[int, ...]
    #: True if rows have different numbers of elements.
    ragged: bool

    @property
    def string(self) -> bool:
        return self.type == "string"


def column_of(info: ColumnInfo) -> Column:
    dtype = _DTYPES.get(info.type)
    if dtype is None:
        raise wrong(f"a column {info.name} of type {info.type!r}")
    return Column(info.name, info.type, dtype, info.shape, info.ragged)
