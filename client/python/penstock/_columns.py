"""The argument `columns`: the columns that a loop receives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Tuple, Union

from ._errors import ConfigurationError

if TYPE_CHECKING:
    from ._batch import Batch

Columns = Union[str, Sequence[str], None]

#: Names in addition to the job's columns. A column of the job with that name has priority.
OF_ROWS = ("ids", "sources", "valid", "datasets")


def unknown_column(name: str, schema: Iterable[str]) -> ConfigurationError:
    return ConfigurationError(f"no column {name!r}; there are {', '.join(schema)}; and {', '.join(OF_ROWS)}")


class Selection:
    """All columns, a tuple of columns, or a single one."""

    __slots__ = ("alone", "names")

    def __init__(self, columns: Columns) -> None:
        self.alone = isinstance(columns, str)
        self.names: Optional[Tuple[str, ...]] = None
        if columns is None:
            return
        names = (columns,) if isinstance(columns, str) else columns
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f'columns={columns!r}: give a column\'s name, or several: columns=("image", "label")')
        self.names = tuple(names)

    def check(self, schema: Mapping[str, Any]) -> None:
        """Raises ConfigurationError if a name is neither a column nor one of OF_ROWS."""
        for name in self.names or ():
            if name not in schema and name not in OF_ROWS:
                raise unknown_column(name, schema)

    def pick(self, batch: Batch) -> Any:
        """Returns the loop's value for a batch of NumPy arrays: the batch, a tuple of columns, or one column."""
        if self.names is None:
            return batch
        self.check(batch)
        return self.of(lambda name: batch[name] if name in batch else getattr(batch, name))

    def of(self, value_of: Callable[[str], Any]) -> Any:
        """Returns the tuple of values, or the single value. Requires names."""
        assert self.names is not None
        return value_of(self.names[0]) if self.alone else tuple([value_of(name) for name in self.names])
