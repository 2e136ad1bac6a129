"""Batches as JAX arrays, which a sharding places.

    sharding = NamedSharding(jax.make_mesh((jax.device_count(),), ("data",)), PartitionSpec("data"))
    loader = penstock.jax.Loader("train.textproto", data_root="/data", sharding=sharding, columns=("image", "label"))
    for images, labels in loader:
        ...
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from . import _batch
from ._ahead import Work
from ._arguments import check_number
from ._base import core_of
from ._columns import OF_ROWS, Columns, Selection, unknown_column
from ._core import Core
from ._errors import ConfigurationError, DataError
from ._jax_put import Put
from ._loader import Loader as _NumpyLoader
from ._map import AheadLoader
from ._schema_types import Column
from ._tracebacks import public

__all__ = ["Batch", "Loader"]

_BFLOAT16 = np.dtype(jax.numpy.bfloat16)


class Batch(Dict[str, Any]):
    """A dict of arrays, with the origin of its rows.

    To JAX it is a tree of its columns: `jit` and `tree.map` accept it. The result has only the columns.
    """

    ids: Any = None  # NumPy, (rows of this rank, 2)
    epoch: int = 0
    step: int = 0
    _make_valid: Optional[Callable[[], Any]] = None
    _valid: Any = None

    @property
    def valid(self) -> Any:
        """(rows,) of bool, placed like the columns: False for padding and masked rows. Created on first access."""
        if self._valid is None and self._make_valid is not None:
            self._valid, self._make_valid = self._make_valid(), None
        return self._valid


def _flatten(batch: Batch) -> Tuple[List[Tuple[Any, Any]], Tuple[str, ...]]:
    names = tuple(sorted(batch))
    return [(jax.tree_util.DictKey(name), batch[name]) for name in names], names


def _unflatten(names: Tuple[str, ...], values: Iterable[Any]) -> Batch:
    return Batch(zip(names, values))


jax.tree_util.register_pytree_with_keys(Batch, _flatten, _unflatten)


class Loader(AheadLoader[Any]):
    """Does what penstock.Loader does, with jax.Arrays. It has these arguments in addition to those of penstock.Loader:

    sharding    the sharding of all columns over their rows, or {column: sharding}. Default: JAX's default device. The sharding
                determines the default rank and world size: processes whose devices hold the same rows are one rank
    columns     columns by name ("valid", "ids", "sources", "datasets" too): a batch is a tuple of them. One name: each
                batch is that column. Default: each batch is a dict of all columns
    ahead       the number of batches whose transfer starts before they are due

    On the CPU, an array is a view of the arena if a device's part of it begins at a multiple of 64 bytes. The batch's memory
    returns to the feeder when the last view is destroyed. Ragged columns and strings are NumPy arrays with this process's rows.
    If `jax_enable_x64` is off, 64-bit columns become 32-bit ones. An integer that does not fit raises DataError.
    """

    @public
    def __init__(
        self,
        job: Any = None,
        *,
        sharding: Union[Sharding, Mapping[str, Sharding], None] = None,
        columns: Columns = None,
        ahead: int = 1,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        group: str = "",
        **arguments: Any,
    ) -> None:
        check_number("ahead", ahead)
        if ahead < 0:
            raise ConfigurationError(f"ahead={ahead} is less than 0")
        selection = Selection(columns)
        pieces = 1
        shardings = [*sharding.values()] if isinstance(sharding, Mapping) else [sharding] if sharding is not None else []
        parts = {_part_of(each) for each in shardings}
        if len(parts) > 1:
            raise ConfigurationError("sharding: the columns' rows are not split in the same way over the processes")
        for part in parts:
            pieces = part.pieces
            if rank is None and world_size is None:
                rank, world_size = part.rank, part.world_size
                if part.replica:
                    group += f"-replica{part.replica}"  # a rank's replicas are separate readers
        loader = _NumpyLoader(job, rank=rank, world_size=world_size, group=group, **arguments)
        core_of(loader).reclaim = _end_steps
        super().__init__(loader, ahead, _MakeWork(selection, sharding, pieces))


class _MakeWork:
    """Creates the work of one loop. Holds no reference to the loader, which closes when it is destroyed."""

    def __init__(
        self, selection: Selection, sharding: Union[Sharding, Mapping[str, Sharding], None], pieces: int
    ) -> None:
        self._selection = selection
        self._sharding = sharding
        self._pieces = pieces

    def __call__(self, core: Core) -> Work[Any]:
        stream = core.started()
        opened, schema = stream.opened, stream.layout.columns
        self._selection.check(schema)
        for name in self._sharding if isinstance(self._sharding, Mapping) else ():
            if name not in schema and name not in OF_ROWS:
                raise unknown_column(name, schema)
        later = [size // core.opening.place().world_size for _, size in opened.batch_changes]
        if later and opened.last == "PARTIAL" and self._pieces > 1:
            raise ConfigurationError(
                f"job {opened.job!r} changes its batch size (batch.change), so its last batches may have any size, which "
                f"cannot be split over {self._pieces} parts of the sharding; DROP or PAD them"
            )
        if opened.batch_multiple:
            rows = opened.batch_multiple // core.opening.place().world_size
            if rows % self._pieces or (opened.last == "PARTIAL" and self._pieces > 1):
                raise ConfigurationError(
                    f"the batches of job {opened.job!r} have multiples of {rows} rows in this process (select.bucket), which "
                    f"cannot be split over {self._pieces} parts of the sharding; give another bucket.multiple, and DROP or "
                    "PAD the last batch"
                )
            return _Placing(_Placer(self._sharding, core.opening.place().world_size), self._selection, schema)
        last = opened.rows_per_epoch % opened.batch_size if opened.last == "PARTIAL" and not later else 0
        for rows in (opened.rank_rows, *later, last):
            if rows % self._pieces:
                raise ConfigurationError(
                    f"a batch of {rows} rows in this process cannot be split over {self._pieces} parts of the sharding: "
                    + ("the job's last batch is PARTIAL; DROP or PAD it" if rows == last else "give another batch_size=")
                )
        return _Placing(_Placer(self._sharding, core.opening.place().world_size), self._selection, schema)


def _end_steps() -> None:
    """Waits for the running steps. They hold the batches that they read, although no Python object does."""
    live: Any = jax.live_arrays
    for array in live():
        if not array.is_deleted():
            array.block_until_ready()
    jax.device_put(0).block_until_ready()  # jaxlib releases NumPy arrays when it is called


# ---- The rows of a step that belong to this process


class _Part(NamedTuple):
    rank: int
    world_size: int
    replica: int  # this process's number among the processes of its rank
    pieces: int  # number of parts into which its devices split its rows


def _part_of(sharding: Sharding) -> _Part:
    devices = len(sharding.device_set)
    dimensions = max(1, len(sharding.spec)) if isinstance(sharding, NamedSharding) else 1
    # Each dimension has the size of the number of devices, so that the sharding can split every dimension.
    indices: Mapping[Any, Any] = sharding.devices_indices_map((devices,) * dimensions)
    rows: Dict[int, set[Tuple[int, int]]] = {}
    for device, index in indices.items():
        rows.setdefault(device.process_index, set()).add(index[0].indices(devices)[:2])
    mine = rows.get(jax.process_index())
    if mine is None:
        raise ConfigurationError(f"sharding: none of its devices belongs to this process ({jax.process_index()})")
    distinct = sorted({frozenset(part) for part in rows.values()}, key=min)
    if sum(map(len, distinct)) != len(set().union(*distinct)) or len({len(part) for part in distinct}) > 1:
        raise ConfigurationError(
            "sharding: processes share some of their rows, or have different numbers of rows: give each process its "
            "own part, or all processes the same part"
        )
    rank = distinct.index(frozenset(mine))
    same = [process for process in sorted(rows) if rows[process] == mine]
    return _Part(rank, len(distinct), same.index(jax.process_index()), len(mine))


# ---- Placing


class _Placer:
    """Puts this process's rows on its devices."""

    def __init__(self, sharding: Union[Sharding, Mapping[str, Sharding], None], world_size: int) -> None:
        self._sharding = sharding
        self._world_size = world_size
        self._one_process = jax.process_count() == 1
        self._shardings: Dict[str, Optional[Sharding]] = {}  # by name
        self._put = Put()

    def sharding_of(self, name: str) -> Optional[Sharding]:
        if name not in self._shardings:
            self._shardings[name] = self._find(name)
        return self._shardings[name]

    def _find(self, name: str) -> Optional[Sharding]:
        if not isinstance(self._sharding, Mapping):
            return self._rows(self._sharding) if name in OF_ROWS else self._sharding
        if name in OF_ROWS and name not in self._sharding:
            return self._rows(next(iter(self._sharding.values()), None))
        return self._sharding.get(name)

    def _rows(self, sharding: Optional[Sharding]) -> Optional[Sharding]:
        """Returns the same split of rows for arrays of one dimension."""
        if not isinstance(sharding, NamedSharding):
            return sharding
        spec = PartitionSpec(*sharding.spec[:1])  # type: ignore[no-untyped-call, unused-ignore]
        return NamedSharding(sharding.mesh, spec)

    def place(self, names: Sequence[str], arrays: Sequence[Any]) -> List[Any]:
        shardings = [self.sharding_of(name) for name in names]
        if self._one_process:
            return self._put(names, arrays, shardings)
        from_here: Any = jax.make_array_from_process_local_data
        return [
            jax.device_put(array)
            if sharding is None
            else from_here(sharding, array, (array.shape[0] * self._world_size, *array.shape[1:]))
            for array, sharding in zip(arrays, shardings)
        ]


class _Placing(Work[Any]):
    """Starts transfers. `device_put` returns before a transfer ends, and holds the batch's memory until its end."""

    def __init__(self, placer: _Placer, selection: Selection, schema: Mapping[str, Column]) -> None:
        self._placer = placer
        self._selection = selection
        self._columns = selection.names
        names = selection.names if selection.names is not None else tuple(schema)
        self._on_host = [(name, schema[name]) for name in names if name in schema and _stays(schema[name])]
        stay = {name for name, _ in self._on_host}
        self._placed = tuple(name for name in names if name not in stay)
        self._sources = [(name, schema.get(name)) for name in self._placed]

    def start(self, batch: _batch.Batch) -> Any:
        placer = self._placer
        arrays = [
            narrow(name, getattr(batch, name) if column is None else _numpy(batch[name], column))
            for name, column in self._sources
        ]
        placed = placer.place(self._placed, arrays)
        if self._placed == self._columns:
            return placed[0] if self._selection.alone else tuple(placed)
        out = Batch(zip(self._placed, placed))
        for name, column in self._on_host:
            out[name] = _numpy(batch[name], column)
        if self._columns is not None:
            return self._selection.of(out.__getitem__)
        # Copy these arrays, so that they do not hold the batch's part of the arena.
        valid, out.ids = batch.valid.copy(), batch.ids.copy()
        out.epoch, out.step = batch.epoch, batch.step
        out._make_valid = lambda: placer.place(("valid",), (valid,))[0]
        return out

    def finish(self, started: Any) -> Any:
        return started


def _stays(column: Column) -> bool:
    """Returns True if a column stays a NumPy array."""
    return column.string or column.ragged


def _numpy(value: Any, column: Column) -> Any:
    """Returns the column. bfloat16 has JAX's type instead of its bits."""
    if column.type != "bfloat16":
        return value
    if isinstance(value, _batch.Ragged):
        return _batch.Ragged(value.values.view(_BFLOAT16), value.row_splits)
    return value.view(_BFLOAT16)


def narrow(name: str, array: Any) -> Any:
    """Returns the array with 32 bits if JAX runs without x64. Raises DataError if that would change an integer."""
    kind = jax.dtypes.canonicalize_dtype(array.dtype)
    if kind == array.dtype:
        return array
    narrowed = array.astype(kind)
    if array.dtype.kind in "iu" and (narrowed != array).any():
        raise DataError(
            f"the column {name} has a value beyond {kind}, which JAX would change: "
            'jax.config.update("jax_enable_x64", True) keeps 64 bits'
        )
    return narrowed
