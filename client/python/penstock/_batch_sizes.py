"""The steps of epochs, if the job changes its batch size."""

from __future__ import annotations

from ._protocol import Opened


def size_at(opened: Opened, epoch: int, position: int) -> int:
    """Returns the rows of a global step that begins there."""
    rows = epoch * opened.rows_per_epoch + position
    size = opened.batch_size
    for at_rows, later in opened.batch_changes:
        if at_rows <= rows:
            size = later
    return size


def steps_of(opened: Opened, epoch: int) -> int:
    """Returns the number of steps of an epoch. The rule is that of pipeline/plan/steps.h."""
    position = steps = 0
    while position < opened.rows_per_epoch:
        size = size_at(opened, epoch, position)
        left = opened.rows_per_epoch - position
        rows = epoch * opened.rows_per_epoch + position
        until = min((at_rows - rows for at_rows, _ in opened.batch_changes if at_rows > rows), default=left)
        count = left // size if opened.last == "DROP" else -(-left // size)
        count = min(count, -(-until // size))
        if count == 0:
            break
        steps += count
        position += count * size
    return steps


def steps_of_epochs(opened: Opened, first: int, epochs: int) -> int:
    """Returns the number of steps of `epochs` whole epochs."""
    steps, epoch, end = 0, first, first + epochs
    while epoch < end:
        change = min((at for at, _ in opened.batch_changes if at > epoch * opened.rows_per_epoch), default=None)
        same = end if change is None else min(end, change // opened.rows_per_epoch)
        count = max(1, same - epoch)
        steps += count * steps_of(opened, epoch)
        epoch += count
    return steps
