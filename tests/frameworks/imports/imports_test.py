"""penstock and the frameworks in one process, imported in each order, also with another allocator."""

import ctypes.util
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import penstock

# Imports in the order of the command line. Then a loop of each installed framework, with one of its own ops on each
# batch.
PROGRAM = """
import hashlib, importlib, json, sys

job, data, *order = sys.argv[1:]
for name in order:
    importlib.import_module(name)

def digest(images, labels):
    return hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()

given = dict(data_root=data, columns=("image", "label"))
found = {}
if "torch" in order:
    import torch, penstock.torch
    model = torch.nn.Linear(32 * 32 * 3, 1)
    found["torch"] = []
    for images, labels in penstock.torch.Loader(job, **given):
        (model(images.flatten(1) / 255)[:, 0] - labels).square().mean().backward()
        assert model.weight.grad.isfinite().all()
        found["torch"].append(digest(images.numpy(), labels.numpy()))
if "tensorflow" in order:
    import tensorflow as tf, penstock.tf
    weight = tf.Variable(tf.zeros((32 * 32 * 3, 1)))
    found["tensorflow"] = []
    for images, labels in penstock.tf.dataset(job, **given):
        with tf.GradientTape() as tape:
            logits = tf.reshape(tf.cast(images, tf.float32) / 255, (20, -1)) @ weight
            loss = tf.reduce_mean((logits[:, 0] - tf.cast(labels, tf.float32)) ** 2)
        assert bool(tf.reduce_all(tf.math.is_finite(tape.gradient(loss, weight))))
        found["tensorflow"].append(digest(images.numpy(), labels.numpy()))
if "jax" in order:
    import jax, numpy, penstock.jax
    def loss(weight, images, labels):
        return (((images.reshape(20, -1) / 255.0) @ weight - labels) ** 2).mean()
    step = jax.jit(jax.grad(loss))
    found["jax"] = []
    for images, labels in penstock.jax.Loader(job, **given):
        assert bool(jax.numpy.isfinite(step(jax.numpy.zeros(32 * 32 * 3), images, labels)).all())
        found["jax"].append(digest(numpy.asarray(images), numpy.asarray(labels).astype("int64")))
import penstock
found["penstock"] = [digest(batch["image"], batch["label"]) for batch in penstock.Loader(job, data_root=data)]
# Also uses the messages of a job, which protocol buffers of another library in the process could break.
assert penstock.Job(files="x", features=[penstock.Feature(key="a", column="a", type="INT64")]).to_text()
print("FOUND", json.dumps(found))
"""

ORDERS = [
    *[order for name in ("tensorflow", "torch", "jax") for order in (["penstock", name], [name, "penstock"])],
    ["penstock", "tensorflow", "torch", "jax"],
    ["torch", "tensorflow", "jax", "penstock"],
    ["jax", "penstock", "torch", "tensorflow"],
]
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}


@pytest.fixture
def expected(small_job):
    """Returns the hashes of the batches that each loop must see."""
    batches = penstock.Loader(small_job.path, data_root=small_job.data)
    return [hashlib.sha256(b["image"].tobytes() + b["label"].tobytes()).hexdigest() for b in batches]


def found_by(order, job, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, job.path, job.data, *order],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.split("FOUND", 1)[1])


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_batches_are_right_in_each_order_of_import(order, small_job, expected):
    found = found_by(order, small_job)
    assert len(expected) == 5
    assert found == dict.fromkeys(order, expected)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_batches_are_right_with_another_allocator_preloaded(allocator, small_job, expected):
    library = ALLOCATORS[allocator]
    assert ctypes.util.find_library(library.split(".")[0][3:]), f"{library} is not installed: ./run test-frameworks does that"
    found = found_by(["tensorflow", "penstock", "torch", "jax"], small_job, LD_PRELOAD=library)
    assert found == dict.fromkeys(("tensorflow", "penstock", "torch", "jax"), expected)
    assert np.all([len(digests) == 5 for digests in found.values()])
