"""The bounds of packed records, for attention over sequences of several lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._tracebacks import public

if TYPE_CHECKING:
    import numpy.typing as npt


@public
def cu_seqlens(lengths: Any, row_length: int, align: int = 1) -> npt.NDArray[np.int32]:
    """Returns where each sequence of a packed batch begins in its flat columns, and the end: int32 [sequences + 1].

    `lengths` is the batch's column of `outputs: LENGTHS`, such as `batch["tokens_lengths"]`, of this module's loaders or
    those of penstock.torch, in the memory of the CPU. `row_length` is the `length` of the pack, so position p of row r is
    r * row_length + p. `align` is that of the pack: a sequence then includes the padding up to the next one. The padding at
    the end of a row is a sequence of its own. Attention kernels for sequences of several lengths take this as `cu_seqlens`.
    Raises ValueError if a row has more values than `row_length`, or if `row_length` is no multiple of `align`.
    """
    if align < 1 or row_length % align:
        raise ValueError(f"row_length={row_length} is no multiple of align={align}: give the pack's length and align")
    values = -(-np.asarray(lengths.values, dtype=np.int64) // align) * align
    splits = np.asarray(lengths.row_splits, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(values)])
    filled = np.diff(ends[splits])
    if filled.size and filled.max() > row_length:
        raise ValueError(f"a row has {filled.max()} values, more than row_length={row_length}: give the pack's length")
    sequences = np.insert(values, splits[1:], row_length - filled)
    bounds = np.concatenate([[0], np.cumsum(sequences[sequences > 0])])
    if bounds[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"the batch has {bounds[-1]} positions, and int32 counts up to 2^31 - 1: use a smaller batch")
    return bounds.astype(np.int32)
