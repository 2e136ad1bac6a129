"""Checks that a tf.data.Dataset runs in the process that created it."""

from __future__ import annotations

import os
from typing import Any, Optional

import tensorflow as tf

from ._errors import ConfigurationError
from ._tf_feed import Process

_ONLY_HERE = (
    "a penstock.tf.dataset gives batches in the process that made it, since they come through its Python, and this is another "
    "one (a worker of parameter servers, a host of TPUs, a tf.data service). Make a penstock.tf.dataset in the program of each "
    "worker (with rank and world_size), or take batches where the dataset was made and give them to the steps as "
    "arguments: docs/python-tensorflow.md"
)


class _Here:
    process: Optional[Process] = None


def check_process(number: Any) -> Any:
    """Adds a check to the graph, which fails in another process. That process lacks the Python objects of this one."""
    if _Here.process is None or _Here.process.pid != os.getpid():
        _Here.process = Process()
    here = _Here.process
    same_pid = tf.size(tf.io.matching_files(here.pid_path)) > 0
    mark = tf.cond(same_pid, lambda: tf.io.read_file(here.mark_path), lambda: tf.constant(b""))
    with tf.control_dependencies([tf.debugging.Assert(tf.equal(mark, here.mark), [_ONLY_HERE])]):
        return tf.identity(number)


def check_place() -> None:
    """Raises ConfigurationError if the dataset would belong to another process."""
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
