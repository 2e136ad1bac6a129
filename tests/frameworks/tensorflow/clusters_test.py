"""Several processes: workers of one strategy, and processes in which a dataset cannot run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from free_port import free_port

import penstock
import penstock.tf

WORKER = """
import json, sys
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before all else: it connects the workers
import keras
import penstock.tf

job, data = sys.argv[1:]
keras.utils.set_random_seed(3)
with strategy.scope():
    model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Rescaling(1 / 255), keras.layers.AveragePooling2D(4),
                              keras.layers.Flatten(), keras.layers.Dense(1000)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

@tf.function
def step(batch):
    def replica(images, labels, ids):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=20)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss
    return strategy.reduce("SUM", strategy.run(replica, args=batch), axis=None)

distributed = strategy.distribute_datasets_from_function(
    lambda context: penstock.tf.dataset(job, data_root=data, columns=("image", "label", "ids"), input_context=context)
)
ids, losses = [], []
for epoch in range(2):
    for batch in distributed:
        losses.append(float(step(batch)))
        ids.append(strategy.experimental_local_results(batch[2])[0].numpy().tolist())
alone = penstock.tf.dataset(job, data_root=data, columns="ids")  # the rank is TF_CONFIG's
alone_ids = [batch.numpy().tolist() for batch in alone]
print("RESULT", json.dumps({"replicas": strategy.num_replicas_in_sync, "ids": ids, "losses": losses, "alone": alone_ids}))
"""


def run_workers(program, count, *arguments):
    """Returns the RESULT of each of the `count` processes of one cluster."""
    workers = [f"localhost:{free_port()}" for _ in range(count)]
    processes = []
    for index in range(count):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", program, *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    results = []
    for process in processes:
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err[:6000]
        results.append(json.loads(out.split("RESULT", 1)[1]))
    return results


def test_two_workers_are_together_one_rank(small_job):
    results = run_workers(WORKER, 2, small_job.path, small_job.data)
    whole = penstock.tf.dataset(small_job.path, data_root=small_job.data, columns="ids")
    expected = [batch.numpy().tolist() for _ in range(2) for batch in whole]
    assert len(expected) == 10
    for key, want in (("ids", expected), ("alone", expected[:5])):
        assert [one + other for one, other in zip(results[0][key], results[1][key])] == want
    assert results[0]["replicas"] == 2
    assert results[0]["losses"] == results[1]["losses"]
    assert np.mean(results[0]["losses"][-5:]) < np.mean(results[0]["losses"][:5])


# ---- A coordinator with parameter servers


SERVER = """
import sys, tensorflow as tf
server = tf.distribute.Server(tf.train.ClusterSpec({"worker": [sys.argv[2]], "ps": [sys.argv[3]]}), job_name=sys.argv[1],
                              task_index=0, protocol="grpc")
print("ready", flush=True)
server.join()
"""

COORDINATOR = """
import json, sys
import tensorflow as tf
import penstock, penstock.tf

worker, ps, job, data = sys.argv[1:]
cluster = tf.train.ClusterSpec({"worker": [worker], "ps": [ps]})
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    kernel = tf.Variable(tf.zeros((192, 1000)))
    bias = tf.Variable(tf.zeros(1000))

@tf.function
def step(images, labels):
    def replica(images, labels):
        with tf.GradientTape() as tape:
            pooled = tf.nn.avg_pool2d(tf.cast(images, tf.float32) / 255, 4, 4, "VALID")
            logits = tf.reshape(pooled, (20, 192)) @ kernel + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for variable, gradient in zip((kernel, bias), tape.gradient(loss, (kernel, bias))):
            variable.assign_sub(0.1 * gradient)
        return loss
    return strategy.run(replica, args=(images, labels))

def make():
    return penstock.tf.dataset(job, data_root=data, columns=("image", "label"))

dataset = make()
losses, rows = [], 0
for epoch in range(4):
    values = [coordinator.schedule(step, args=batch) for batch in dataset]
    coordinator.join()
    losses.append(sum(value.fetch() for value in values) / len(values))
    rows += 20 * len(values)

errors = []
try:
    coordinator.create_per_worker_dataset(make)
except Exception as error:
    errors.append(str(error))

@tf.function
def take(iterator):
    return next(iterator)

try:
    iterator = iter(coordinator.create_per_worker_dataset(make().map(lambda image, label: label)))
    coordinator.schedule(take, args=(iterator,)).fetch()
except Exception as error:
    errors.append(str(error))
try:
    with tf.device("/job:worker/task:0"):
        make()
except penstock.ConfigurationError as error:
    errors.append(str(error))
print("RESULT", json.dumps({"losses": [float(loss) for loss in losses], "rows": rows, "errors": errors}), flush=True)
import os
os._exit(0)  # a normal exit would retry the work that failed on a worker
"""


def test_a_coordinator_of_parameter_servers_feeds_its_steps_and_refuses_what_would_run_elsewhere(small_job):
    addresses = [f"localhost:{free_port()}" for _ in range(2)]
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    servers = [
        subprocess.Popen([sys.executable, "-c", SERVER, kind, *addresses], stdout=subprocess.PIPE, text=True, env=environment)
        for kind in ("worker", "ps")
    ]
    try:
        assert [server.stdout.readline() for server in servers] == ["ready\n", "ready\n"]
        done = subprocess.run(
            [sys.executable, "-c", COORDINATOR, *addresses, small_job.path, small_job.data],
            capture_output=True, text=True, timeout=200, env=environment,
        )
        assert done.returncode == 0, done.stderr[:6000]
    finally:
        for server in servers:
            server.kill()
            server.wait()
            server.stdout.close()
    result = json.loads(done.stdout.split("RESULT", 1)[1])
    assert result["rows"] == 400
    assert result["losses"][-1] < result["losses"][0]
    assert len(result["errors"]) == 3
    for error in result["errors"]:
        assert "in the program of each worker" in error
        assert "come through its Python" in error


# ---- tf.data service

SERVICE = """
import tensorflow as tf
dispatcher = tf.data.experimental.service.DispatchServer()
worker = tf.data.experimental.service.WorkerServer(
    tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher.target.split("://")[1], heartbeat_interval_ms=100))
print(dispatcher.target, flush=True)
worker.join()
"""


def test_tf_data_service_cannot_run_it_and_says_why(small_job):
    with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE, text=True) as service:
        try:
            target = service.stdout.readline().strip()
            dataset = penstock.tf.dataset(small_job.path, data_root=small_job.data, columns="label")
            served = dataset.apply(tf.data.experimental.service.distribute("parallel_epochs", target))
            with pytest.raises(tf.errors.OpError, match="gives batches in the process that made it"):
                next(iter(served))
        finally:
            service.kill()


def test_a_trace_is_no_place_for_a_dataset(small_job):
    @tf.function
    def traced():
        return penstock.tf.dataset(small_job.path, data_root=small_job.data)

    with pytest.raises(Exception, match="ConfigurationError.* while TensorFlow traces a function"):
        traced()
