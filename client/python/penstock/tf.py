"""Batches as a tf.data.Dataset.

    train = penstock.tf.dataset("train.textproto", data_root="/data", columns=("image", "label"))
    model.fit(train, epochs=3)
"""

from __future__ import annotations

import atexit
import json
import weakref
from typing import Any, Callable, Dict, List, Optional, Union

import tensorflow as tf

from . import _interrupts
from ._arguments import check_number
from ._base import core_of
from ._columns import Columns, Selection
from ._description import describe
from ._errors import ConfigurationError, PenstockError
from ._loader import Loader
from ._schema_types import Column
from ._tf_elements import Layout, Splitter, rows_of_a_part
from ._tf_feed import Feed
from ._tf_process import check_place, check_process
from ._tracebacks import public

__all__ = ["Dataset", "dataset"]


@public
def dataset(
    job: Any = None,
    *,
    columns: Columns = None,
    input_context: Any = None,
    **arguments: Any,
) -> Dataset:
    """Returns a tf.data.Dataset of a job's batches. It has these arguments in addition to those of penstock.Loader:

    columns        names of columns: each element is a tuple of them. One name: each element is that column. Default: each
                   element is a dict of all columns. Additional names: "valid" (bool, False for padding and masked rows), "ids"
                   and "sources" (int64, (rows, 2))
    input_context  the argument that strategy.distribute_datasets_from_function passes: an element is one replica's part of a
                   step

    The call opens the job. Elements are views of the arena, except strings, which are copied.
    """
    check_place()
    Selection(columns)
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
    """See `dataset`. An iteration covers `epochs` epochs, and the next iteration continues, as in penstock.Loader.

    The cardinality of this dataset, and of datasets built on it, is the length of a whole iteration. An iteration after
    `load_state_dict` may be shorter.
    """

    def __init__(self, loader: Loader, columns: Columns, parts: int) -> None:
        self._loader = loader
        core = core_of(loader)
        opened = core.started().opened
        if opened.batch_changes:
            raise ConfigurationError(
                f"job {opened.job!r} changes its batch size (batch.change), and all iterations of a tf.data.Dataset have one "
                "length; give batch_size=, or use penstock.Loader"
            )
        if opened.batch_multiple:
            raise ConfigurationError(
                f"the sizes of the batches of job {opened.job!r} depend on the values of records (select.bucket), and all "
                "elements of a tf.data.Dataset have one size; use penstock.Loader"
            )
        rows = rows_of_a_part(opened.rank_rows, opened.last, parts)
        layout = Layout(loader.schema, columns, rows)
        epochs = core.settings.epochs
        steps = opened.steps_per_epoch * epochs if epochs else None
        self._feed = Feed(loader, Splitter(layout, opened.rank_rows, parts), steps)
        _live.add(self._feed)
        self._inner = _pipeline(self._feed, layout, steps * parts if steps is not None else None)
        super().__init__(tf.data.experimental.to_variant(self._inner))

    def __repr__(self) -> str:
        return f"{describe(self, core_of(self._loader).facts())[:-1]}, element_spec={self.element_spec}>"

    @public
    def map(self, map_func: Callable[..., Any], *arguments: Any, threads: Optional[int] = None, **named: Any) -> Any:
        """Returns a tf.data.Dataset of the results of `map_func` for each element, as tf.data's `map` does.

        TensorFlow traces the function. `threads` sets `num_parallel_calls`. With more than one thread the new dataset
        runs ahead of the loop: see `state_dict`.
        """
        if threads is not None:
            check_number("threads", threads)
        if threads is not None and threads < 1:
            raise ConfigurationError(f"threads={threads}: at least 1")
        if threads is not None and threads > 1:
            named["num_parallel_calls"] = threads
        return super().map(map_func, *arguments, **named)

    def _inputs(self) -> List[Any]:
        return [self._inner]

    @property
    def element_spec(self) -> Any:
        return self._inner.element_spec

    @property
    @public
    def schema(self) -> Dict[str, Column]:
        """The job's columns, by name."""
        return self._loader.schema

    @property
    @public
    def epoch(self) -> int:
        """The epoch of the current iteration, otherwise the epoch in which the next iteration starts."""
        return self._feed.epoch

    @property
    @public
    def rank(self) -> int:
        return self._loader.rank

    @property
    @public
    def world_size(self) -> int:
        return self._loader.world_size

    @public
    def state_dict(self, steps: Optional[int] = None) -> Dict[str, Any]:
        """Returns the state after the last batch that has left this dataset, or after `steps` steps of this iteration.

        Datasets built on it can be ahead of the loop's body (prefetch, a strategy's iterators, Keras's
        steps_per_execution). `steps` must then be the number of steps that the body has received. The dataset stores
        the last 1024 states.
        """
        return self._feed.state_dict(steps)

    @public
    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next iteration continue after that state. Ends the current iteration."""
        self._feed.load_state_dict(state)

    @property
    def trackable(self) -> Any:
        """An object with the state for a tf.train.Checkpoint(model=model, data=dataset.trackable)."""
        return _Trackable(self)

    def stats(self) -> Dict[str, float]:
        """Returns the same statistics as Loader.stats: waits for batches, rates."""
        return self._loader.stats()

    def close(self) -> None:
        """Closes the loader. Tensors stay valid. A running iteration raises an error. May be called more than once."""
        self._loader.close()


class _Trackable(tf.train.experimental.PythonState):  # type: ignore[misc, unused-ignore]
    def __init__(self, owner: Dataset) -> None:
        super().__init__()
        self._owner = owner

    def serialize(self) -> str:
        return json.dumps(self._owner.state_dict())

    def deserialize(self, text: Union[str, bytes]) -> None:
        self._owner.load_state_dict(json.loads(text))


# ---- The pipeline


def _pipeline(feed: Feed, layout: Layout, elements: Optional[int]) -> Any:
    signature = tuple(part.spec for part in layout.parts)
    begin = _call(feed, Feed.begin)
    # TensorFlow wraps NumPy arrays without a copy if they begin at multiples of 64 bytes, as the arena's arrays do.
    batches = tf.data.Dataset.range(1).flat_map(
        lambda _: tf.data.Dataset.from_generator(begin, output_signature=signature)
    )
    if not layout.flat:
        batches = batches.map(layout.assemble)
    batches = batches.repeat()
    if elements is not None:
        batches = batches.take(elements)
    pipeline = tf.data.Dataset.zip((_start(feed), batches)).map(lambda _, batch: batch)
    options = tf.data.Options()
    # The feeder prepares batches ahead. A prefetch of TensorFlow would take batches that the loop's body has not
    # received.
    options.experimental_optimization.inject_prefetch = False
    options.experimental_optimization.map_parallelization = False
    if feed.loader.world_size > 1:
        # The loader already reads only this worker's rows.
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return pipeline.with_options(options)


def _start(feed: Feed) -> Any:
    """Returns an endless dataset. Its first element notifies the feed of a new pipeline."""
    started = _call(feed, Feed.pipeline_started)

    def first(number: Any) -> Any:
        with tf.control_dependencies([tf.numpy_function(started, [], [])]):
            return tf.identity(number)

    return tf.data.Dataset.range(1).map(check_process).map(first).concatenate(tf.data.Dataset.range(1).repeat())


def _call(feed: Feed, method: Callable[[Feed], Any]) -> Callable[[], Any]:
    """Returns a function for TensorFlow. It holds no reference to the loader, because TensorFlow never releases it."""
    reference = weakref.ref(feed)

    def call() -> Any:
        alive = reference()
        if alive is None:
            raise PenstockError("the penstock.tf.Dataset was destroyed; keep a reference to it, or to a dataset built on it")
        return method(alive)

    return call


_live: weakref.WeakSet[Feed] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Closes all loaders at exit. Otherwise TensorFlow's threads could request batches and thus start another feeder."""
    for feed in list(_live):
        feed.loader.close()
