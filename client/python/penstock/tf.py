"""Batches as a tf.data.Dataset.

    train = penstock.tf.dataset("train.textproto", data_root="/data", columns=("image", "label"))
    model.fit(train, epochs=3)
"""

from __future__ import annotations

import atexit
import json
import os
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import tensorflow as tf

from . import _batch, _interrupts
from ._errors import ConfigurationError, PenstockError
from ._loader import Loader
from ._schema_types import Column
from ._tf_feed import Element, Feed, Process

__all__ = ["Dataset", "dataset"]

# What a dataset may have beside the job's columns; a column of that name goes first.
_ROWS = {"valid": ("bool", ()), "ids": ("int64", (2,)), "sources": ("int64", (2,))}

_ONLY_HERE = (
    "a penstock.tf.dataset gives batches in the process that made it, since they come through its Python, and this is another "
    "one (a worker of parameter servers, a host of TPUs, a tf.data service). Make a penstock.tf.dataset in the program of each "
    "worker (rank and world_size say which), or take batches where the dataset was made and give them to the steps as "
    "arguments: docs/python-tensorflow.md"
)


def dataset(
    job: Any,
    *,
    columns: Union[str, Sequence[str], None] = None,
    input_context: Any = None,
    **arguments: Any,
) -> Dataset:
    """A tf.data.Dataset of a job's batches. Beyond the arguments of penstock.Loader:

    columns        a tuple of these columns for each batch; one name: that column alone; else a dict of all. Names beside those
                   of the job: "valid" (bool, False for padding), "ids" and "sources" (int64, (rows, 2))
    input_context  what strategy.distribute_datasets_from_function gives: an element is one replica's part of a step

    The job is opened here. Elements look at the arena, without a copy, but strings, which are copied.
    """
    _check_place()
    parts = 1
    if input_context is not None:
        pipelines, replicas = input_context.num_input_pipelines, input_context.num_replicas_in_sync
        if replicas % pipelines:
            raise ConfigurationError(f"{replicas} replicas of {pipelines} input pipelines: each must have the same number")
        parts = replicas // pipelines
        arguments.setdefault("rank", input_context.input_pipeline_id)
        arguments.setdefault("world_size", pipelines)
    _interrupts.watch()
    return Dataset(Loader(job, **arguments), columns, parts)


class Dataset(tf.data.Dataset):  # type: ignore[misc, unused-ignore]
    """See `dataset`. One iteration is one epoch (or `epochs`), the next one the next, as a penstock.Loader's loops.

    Its cardinality, and that of what is built on it, is that of a whole iteration. Behind `load_state_dict` one is shorter.
    """

    def __init__(self, loader: Loader, columns: Union[str, Sequence[str], None], parts: int) -> None:
        self._loader = loader
        opened = loader._started().opened
        rows = _rows_of_a_part(opened.rank_rows, opened.last, parts)
        layout = _Layout(loader.schema, columns, rows)
        steps = opened.steps_per_epoch * loader._epochs if loader._epochs else None
        self._feed = Feed(loader, _Splitter(layout, opened.rank_rows, parts), steps)
        _live.add(self._feed)
        self._inner = _pipeline(self._feed, layout, steps * parts if steps is not None else None)
        super().__init__(self._inner._variant_tensor)

    def _inputs(self) -> List[Any]:
        return [self._inner]

    @property
    def element_spec(self) -> Any:
        return self._inner.element_spec

    @property
    def schema(self) -> Dict[str, Column]:
        """The job's columns, by name."""
        return self._loader.schema

    @property
    def epoch(self) -> int:
        """That of the iteration under way; else that which the next one begins with."""
        return self._feed.epoch

    @property
    def rank(self) -> int:
        return self._loader.rank

    @property
    def world_size(self) -> int:
        return self._loader.world_size

    def state_dict(self, steps: Optional[int] = None) -> Dict[str, Any]:
        """Where the loop is: behind the last batch that has left this dataset.

        What is built on it may be ahead of the loop's body (prefetch, a strategy's iterators, Keras's steps_per_execution):
        `steps` says how many steps of this iteration the body has had; the last 1024 are known.
        """
        return self._feed.state_dict(steps)

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next iteration goes on behind that state, to the end of its epoch. One under way is over."""
        self._feed.load_state_dict(state)

    @property
    def trackable(self) -> Any:
        """For tf.train.Checkpoint(model=model, data=dataset.trackable): its state, and it restores it."""
        return _Trackable(self)

    def stats(self) -> Dict[str, float]:
        """As Loader.stats: what was waited for batches, rates."""
        return self._loader.stats()

    def close(self) -> None:
        """Ends the loader. Tensors stay valid; an iteration gets an error. May be said again."""
        self._loader.close()


class _Trackable(tf.train.experimental.PythonState):  # type: ignore[misc, unused-ignore]
    def __init__(self, owner: Dataset) -> None:
        super().__init__()
        self._owner = owner

    def serialize(self) -> str:
        return json.dumps(self._owner.state_dict())

    def deserialize(self, text: Union[str, bytes]) -> None:
        self._owner.load_state_dict(json.loads(text))


# ---- What elements are


class _Part(NamedTuple):
    """One tensor of an element as Python gives it; a ragged column has two."""

    spec: Any
    dtype: Any  # of NumPy, that the bits are seen as; None: as they are


class _Layout:
    """From columns to an element, and its flat tensors."""

    def __init__(self, schema: Dict[str, Column], columns: Union[str, Sequence[str], None], rows: Optional[int]) -> None:
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
        """Whether an element is the tuple of its tensors."""
        return self._shaped is not None and not isinstance(self._shaped, str) and not any(c.ragged for c in self.columns)

    def assemble(self, *tensors: Any) -> Any:
        """The element of its tensors."""
        rest = iter(tensors)
        values = [
            tf.RaggedTensor.from_row_splits(next(rest), next(rest), validate=False) if column.ragged else next(rest)
            for column in self.columns
        ]
        if self._shaped is None:
            return dict(zip(self.names, values))
        return values[0] if isinstance(self._shaped, str) else tuple(values)


def _rows_of_a_part(rank_rows: int, last: str, parts: int) -> Optional[int]:
    if rank_rows % parts:
        raise ConfigurationError(
            f"{rank_rows} rows of a step for {parts} replicas of this process: give a batch_size that is a multiple of the "
            "number of all replicas"
        )
    return None if last == "PARTIAL" else rank_rows // parts


class _Splitter:
    """A batch's elements: one, or one for each replica."""

    def __init__(self, layout: _Layout, rank_rows: int, parts: int) -> None:
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


# ---- The pipeline


def _pipeline(feed: Feed, layout: _Layout, elements: Optional[int]) -> Any:
    signature = tuple(part.spec for part in layout.parts)
    begin = _beginning(feed)
    # TensorFlow wraps NumPy's arrays, without a copy, where they begin at multiples of 64 bytes, as the arena's do.
    pipeline = tf.data.Dataset.range(1).map(_check_process).flat_map(
        lambda _: tf.data.Dataset.from_generator(begin, output_signature=signature)
    )
    if not layout.flat:
        pipeline = pipeline.map(layout.assemble)
    pipeline = pipeline.repeat()
    if elements is not None:
        pipeline = pipeline.take(elements)
    options = tf.data.Options()
    # The feeder prepares ahead. What TensorFlow adds by itself would take batches that the loop's body has not had.
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    if feed.loader.world_size > 1:
        # The rows are this worker's part already.
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return pipeline.with_options(options)


def _beginning(feed: Feed) -> Callable[[], Iterator[Element]]:
    """What from_generator calls. TensorFlow keeps it for ever, so it must not keep the loader."""
    reference = weakref.ref(feed)

    def begin() -> Iterator[Element]:
        alive = reference()
        if alive is None:
            raise PenstockError("the penstock.tf.Dataset is gone; keep it, or what was built on it")
        return alive.begin()

    return begin


class _Here:
    process: Optional[Process] = None


def _check_process(number: Any) -> Any:
    """In the graph: an error where it runs in another process than this one, whose Python is not there."""
    if _Here.process is None or _Here.process.pid != os.getpid():
        _Here.process = Process()
    here = _Here.process
    same_pid = tf.size(tf.io.matching_files(here.pid_path)) > 0
    mark = tf.cond(same_pid, lambda: tf.io.read_file(here.mark_path), lambda: tf.constant(b""))
    with tf.control_dependencies([tf.debugging.Assert(tf.equal(mark, here.mark), [_ONLY_HERE])]):
        return tf.identity(number)


def _check_place() -> None:
    """Refuses where what is made would belong to another process."""
    if tf.inside_function():
        raise ConfigurationError(
            "penstock.tf.dataset was called while TensorFlow traces a function (tf.function, or the dataset_fn of "
            "ClusterCoordinator.create_per_worker_dataset), which may run on another server: " + _ONLY_HERE
        )
    there = tf.DeviceSpec.from_string(tf.zeros([]).device)
    with tf.device(None):
        here = tf.DeviceSpec.from_string(tf.zeros([]).device)
    if (there.job, there.replica, there.task) != (here.job, here.replica, here.task):
        raise ConfigurationError(f"penstock.tf.dataset was called for {there.to_string()}: " + _ONLY_HERE)


_live: weakref.WeakSet[Feed] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Threads of TensorFlow may ask for batches until the process ends: no feeder is to be started for them then."""
    for feed in list(_live):
        feed.loader.close()
