"""JAX over a mesh of devices: jax_sharded.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FILE]

A sharding places the batches, and the transfer of the next batch runs during a step. Shows bfloat16 for the convolutions, a
cosine schedule, clipping by the global norm, a checkpoint and an exact accuracy. On a CPU it uses 4 devices. JOB is a job of
`penstock init`.
"""

import argparse
import os
import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import penstock.jax
from jax.sharding import NamedSharding, PartitionSpec
from penstock import ops


def initial(key, classes):
    keys = jax.random.split(key, 3)
    return {
        "conv1": jax.random.normal(keys[0], (3, 3, 3, 16)) * 0.2,
        "conv2": jax.random.normal(keys[1], (3, 3, 16, 32)) * 0.1,
        "dense": jax.random.normal(keys[2], (8 * 8 * 32, classes)) * 0.01,
    }


def scores_of(weights, images):
    rows, height, width, _ = images.shape
    x = images[:, : height // 32 * 32, : width // 32 * 32].astype(jnp.float32)
    x = x.reshape(rows, 32, height // 32, 32, width // 32, 3).mean(axis=(2, 4)) / 127.5 - 1
    for name in ("conv1", "conv2"):
        kernel = weights[name].astype(jnp.bfloat16)
        x = jax.lax.conv_general_dilated(
            x.astype(jnp.bfloat16), kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x)
    return x.reshape(rows, -1).astype(jnp.float32) @ weights["dense"]


@partial(jax.jit, donate_argnums=(0, 1), static_argnums=5)
def train_step(weights, momentum, step, images, labels, steps):
    def loss_of(weights):
        chances = jax.nn.log_softmax(scores_of(weights, images))
        return -jnp.take_along_axis(chances, labels[:, None], axis=1).mean()

    loss, gradient = jax.value_and_grad(loss_of)(weights)
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in jax.tree.leaves(gradient)))
    rate = 0.05 * 0.5 * (1 + jnp.cos(jnp.pi * step / steps))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g * jnp.minimum(1.0, 1.0 / norm), momentum, gradient)
    return jax.tree.map(lambda w, m: w - rate * m, weights, momentum), momentum, loss


@jax.jit
def correct_rows(weights, images, labels, valid):
    return ((scores_of(weights, images).argmax(axis=1) == labels) & valid).sum(), valid.sum()  # padding does not count


def evaluation_of(job, height, width):
    """Returns a job that reads every record once, without randomness, and pads the last batch."""
    return penstock.Job(
        name=f"{job.name}-eval",
        dataset=job.dataset,
        features=job.features,
        ops=[ops.decode_image(), ops.resize(shorter_side=height * 8 // 7), ops.center_crop(height=height, width=width)],
        order={"shuffle": "NONE"},
        batch={"size": 64, "last": "PAD"},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("data_root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--checkpoint")
    given = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 4)  # has no effect on other devices

    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    rows, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    job = penstock.Job.load(given.job)
    arguments = {"data_root": given.data_root, "sharding": rows}
    loader = penstock.jax.Loader(job, batch_size=48, columns=("image", "label"), **arguments)
    height, width, _ = loader.schema["image"].shape
    evaluation = penstock.jax.Loader(evaluation_of(job, height, width), columns=("image", "label", "valid"), **arguments)

    weights = initial(jax.random.key(1), given.classes)
    state = {"weights": weights, "momentum": jax.tree.map(jnp.zeros_like, weights), "step": 0}
    if given.checkpoint and os.path.exists(given.checkpoint):
        with open(given.checkpoint, "rb") as file:
            state = pickle.load(file)
        loader.load_state_dict(state["loader"])
    weights, momentum = jax.device_put((state["weights"], state["momentum"]), everywhere)
    step, steps = state["step"], given.epochs * len(loader)

    for epoch in range(loader.epoch, given.epochs):
        losses = []
        for images, labels in loader:
            weights, momentum, loss = train_step(weights, momentum, step, images, labels, steps)
            losses.append(loss)
            step += 1
        if given.checkpoint and jax.process_index() == 0:
            state = {**jax.device_get({"weights": weights, "momentum": momentum}), "step": step, "loader": loader.state_dict()}
            with open(given.checkpoint + ".new", "wb") as file:
                pickle.dump(state, file)
            os.replace(given.checkpoint + ".new", given.checkpoint)
        counts = np.sum([jax.device_get(correct_rows(weights, *batch)) for batch in evaluation], axis=0)
        print(
            f"epoch {epoch}: loss {np.mean(jax.device_get(losses)):.3f}, "
            f"accuracy {counts[0] / counts[1]:.3f} ({counts[0]} of {counts[1]})"
        )

    stats = loader.stats()
    print(f"{stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
