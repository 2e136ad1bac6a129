"""The public methods that every loader has."""

from __future__ import annotations

from typing import Dict, NoReturn, Tuple, TypeVar

from ._batch_sizes import steps_of_epochs
from ._core import Core
from ._request import refuse_index
from ._schema_types import Column
from ._tracebacks import meant, public

Self = TypeVar("Self", bound="LoaderBase")


class LoaderBase:
    """The public view of a loader's core."""

    _core: Core

    @public
    def __getitem__(self, index: object) -> NoReturn:
        refuse_index()

    @public
    def __len__(self) -> int:
        """Returns the number of batches of `epochs` whole epochs. A loop that starts later has fewer. Opens the job.

        If the job changes its batch size, these are the epochs of the current loop, or else of the next one.
        """
        if self._core.settings.epochs == 0:
            raise meant(TypeError("epochs=0: a loop without end has no length"))
        opened, epochs = self._core.started().opened, self._core.settings.epochs
        if not opened.batch_changes:
            return opened.steps_per_epoch * epochs
        last = self._core.last_epoch(self._present_epoch())
        assert last is not None
        return steps_of_epochs(opened, max(0, last - epochs + 1), epochs)

    def _present_epoch(self) -> int:
        """Returns the epoch of the current loop, or else of the next one. Only a loaded state makes the stream move."""
        known = self._core.facts().epoch
        return self._core.epoch() if known is None else known

    @property
    @public
    def schema(self) -> Dict[str, Column]:
        """The columns that every batch has, by name. Opens the job."""
        return dict(self._core.started().layout.columns)

    @property
    @public
    def datasets(self) -> Tuple[str, ...]:
        """The names of the job's data sets, which `Batch.datasets` numbers. Empty if they have none. Opens the job."""
        return self._core.started().opened.datasets

    @property
    @public
    def batch_size(self) -> int:
        """The number of rows of a global step. If the job changes it (batch.change), that of its first step. If it depends on
        the values of records (select.bucket), its limit. Opens the job.
        """
        return self._core.started().opened.batch_size

    @property
    @public
    def rank(self) -> int:
        """This trainer's number among those that read the job."""
        return self._core.opening.place().rank

    @property
    @public
    def world_size(self) -> int:
        """The number of trainers that read the job."""
        return self._core.opening.place().world_size

    def stats(self) -> Dict[str, float]:
        """Returns waits and counts of this loader's loops by name. The names of the feeder's numbers begin with "feeder_"."""
        return self._core.numbers()

    def close(self) -> None:
        """Closes the loader. A blocked loop gets an error. Batches stay valid. Any thread may call it, more than once."""
        self._core.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def core_of(loader: LoaderBase) -> Core:
    """Returns the core of a loader, for a loader over it."""
    return loader._core
