"""Batches as JAX's arrays, placed by a sharding.

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
from ._deadline import Deadline
from ._errors import ConfigurationError, DataError
from ._jax_put import Put
from ._loader import Loader as _NumpyLoader
from ._map import AheadLoader, Work
from ._schema_types import Column
from ._stream import Offer, Stream

__all__ = ["Batch", "Loader"]

_BFLOAT16 = np.dtype(jax.numpy.bfloat16)
#: What `columns` may name beside the job's columns, which come first.
_OF_ROWS = ("ids", "sources", "valid")


class Batch(Dict[str, Any]):
    """A dict of arrays, with where its rows come from.

    To JAX a tree of its columns: `jit` and `tree.map` take it, and what they make of it has lost the rest.
    """

    ids: Any = None  # NumPy, (rows of this rank, 2)
    epoch: int = 0
    step: int = 0
    _make_valid: Optional[Callable[[], Any]] = None
    _valid: Any = None

    @property
    def valid(self) -> Any:
        """(rows,) of bool, placed as the columns are: False for padding. Made when it is asked for."""
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
    """As penstock.Loader, with jax.Arrays. Beyond its arguments:

    sharding    of all columns, over their rows, or {column: sharding}; else arrays are where JAX puts new ones. Rank and
                world size are the sharding's: processes whose devices hold the same rows are one rank
    columns     a tuple of these columns for each batch ("valid", "ids" and "sources" may be among them); else a dict of all
    ahead       batches whose transfer is begun before they are asked for

    On the CPU arrays look at the arena, without a copy, where a device's part of it begins at a multiple of 64 bytes; a
    batch's memory goes back when the last of them is gone. Ragged columns and strings are NumPy's, of this process's rows.
    Where `jax_enable_x64` is off, 64-bit columns become 32-bit ones; an integer that does not fit is an error.
    """

    def __init__(
        self,
        job: Any,
        *,
        sharding: Union[Sharding, Mapping[str, Sharding], None] = None,
        columns: Optional[Sequence[str]] = None,
        ahead: int = 1,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        group: str = "",
        **arguments: Any,
    ) -> None:
        if ahead < 0:
            raise ConfigurationError(f"ahead={ahead} is less than 0")
        self._columns = tuple(columns) if columns is not None else None
        self._sharding = sharding
        self._pieces = 1
        shardings = [*sharding.values()] if isinstance(sharding, Mapping) else [sharding] if sharding is not None else []
        parts = {_part_of(each) for each in shardings}
        if len(parts) > 1:
            raise ConfigurationError("sharding: the columns' rows are not split in the same way over the processes")
        for part in parts:
            self._pieces = part.pieces
            if rank is None and world_size is None:
                rank, world_size = part.rank, part.world_size
                if part.replica:
                    group += f"-replica{part.replica}"  # of one rank twice: each is a reader by itself
        super().__init__(_Rows(job, rank=rank, world_size=world_size, group=group, **arguments), ahead)

    def _work(self) -> Work[Any]:
        opened = self._loader._started().opened
        schema = self.schema
        for name in (*(self._columns or ()), *(self._sharding if isinstance(self._sharding, Mapping) else ())):
            if name not in schema and name not in _OF_ROWS:
                raise ConfigurationError(f"no column {name!r}; there are {', '.join(schema)}")
        last = opened.rows_per_epoch % opened.batch_size if opened.last == "PARTIAL" else 0
        for rows in (opened.rank_rows, last):
            if rows % self._pieces:
                raise ConfigurationError(
                    f"a batch of {rows} rows in this process cannot be split over {self._pieces} parts of the sharding: "
                    + ("the job's last batch is PARTIAL; DROP or PAD it" if rows == last else "give another batch_size=")
                )
        return _Placing(_Placer(self._sharding, self._loader.world_size), self._columns, schema)


class _Rows(_NumpyLoader):
    def _fetch_short_of_memory(self, stream: Stream, deadline: Deadline, until: Optional[int]) -> Offer:
        # Steps that are under way keep the batches that they read, though nothing in Python does.
        live: Any = jax.live_arrays
        for array in live():
            if not array.is_deleted():
                array.block_until_ready()
        jax.device_put(0).block_until_ready()  # jaxlib lets go of NumPy's arrays when it is called
        stream.feeder.releases.flush()
        return super()._fetch_short_of_memory(stream, deadline, until)


# ---- Which rows of a step are this process's


class _Part(NamedTuple):
    rank: int
    world_size: int
    replica: int  # number of this process among those of its rank
    pieces: int  # into which its devices split its rows


def _part_of(sharding: Sharding) -> _Part:
    devices = len(sharding.device_set)
    dimensions = max(1, len(sharding.spec)) if isinstance(sharding, NamedSharding) else 1
    # Every dimension is as long as there are devices, so that all of them can be split.
    indices: Mapping[Any, Any] = sharding.devices_indices_map((devices,) * dimensions)
    rows: Dict[int, set[Tuple[int, int]]] = {}
    for device, index in indices.items():
        rows.setdefault(device.process_index, set()).add(index[0].indices(devices)[:2])
    mine = rows.get(jax.process_index())
    if mine is None:
        raise ConfigurationError(f"sharding: none of its devices is of this process ({jax.process_index()})")
    distinct = sorted({frozenset(part) for part in rows.values()}, key=min)
    if sum(map(len, distinct)) != len(set().union(*distinct)) or len({len(part) for part in distinct}) > 1:
        raise ConfigurationError(
            "sharding: processes share some of their rows, or have unlike numbers of them: give each process a part of its "
            "own, or the same one; or give rank= and world_size="
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
            return self._rows(self._sharding) if name in _OF_ROWS else self._sharding
        if name in _OF_ROWS and name not in self._sharding:
            return self._rows(next(iter(self._sharding.values()), None))
        return self._sharding.get(name)

    def _rows(self, sharding: Optional[Sharding]) -> Optional[Sharding]:
        """The same split of rows, for one dimension."""
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
    """`device_put` comes back before what it does is done, and keeps the batch's memory until then."""

    def __init__(self, placer: _Placer, columns: Optional[Tuple[str, ...]], schema: Mapping[str, Column]) -> None:
        self._placer = placer
        self._columns = columns
        names = columns if columns is not None else tuple(schema)
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
            return tuple(placed)
        out = Batch(zip(self._placed, placed))
        for name, column in self._on_host:
            out[name] = _numpy(batch[name], column)
        if self._columns is not None:
            return tuple(out[name] for name in self._columns)
        # Copies: they keep nothing of the arena.
        valid, out.ids = batch.valid.copy(), batch.ids.copy()
        out.epoch, out.step = batch.epoch, batch.step
        out._make_valid = lambda: placer.place(("valid",), (valid,))[0]
        return out

    def finish(self, started: Any) -> Any:
        return started


def _stays(column: Column) -> bool:
    """Whether a column is NumPy's in a batch of JAX's too."""
    return column.string or column.ragged


def _numpy(value: Any, column: Column) -> Any:
    """bfloat16 is JAX's type, not its bits."""
    if column.type != "bfloat16":
        return value
    if isinstance(value, _batch.Ragged):
        return _batch.Ragged(value.values.view(_BFLOAT16), value.row_splits)
    return value.view(_BFLOAT16)


def narrow(name: str, array: Any) -> Any:
    """As JAX has it: without x64 of 32 bits, but never with another value of an integer."""
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
