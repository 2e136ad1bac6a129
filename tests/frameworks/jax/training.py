"""A small training over a sharding, as one process or as one of several.

training.py JOB DATA SHARDING EPOCHS [STOP_AT [STATE]]   With several, PROCESS PROCESSES PORT is in the environment.

Prints one JSON object: rank, world size, losses, ids and the global rows of this process's devices.
"""

import json
import os
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import penstock.jax


def sharding_of(kind):
    devices = np.array(jax.devices())
    if kind == "data":
        return NamedSharding(Mesh(devices, ("data",)), PartitionSpec("data"))
    if kind == "reversed":
        return NamedSharding(Mesh(devices[::-1], ("data",)), PartitionSpec("data"))
    if kind == "model":  # both processes have parts of each row
        return NamedSharding(Mesh(devices.reshape(2, -1).T, ("data", "model")), PartitionSpec("data"))
    if kind == "uneven":
        order = devices.reshape(2, -1)
        mesh = Mesh(np.stack([[order[0, 0], order[1, 0]], [order[0, 1], order[0, 2]]]), ("data", "model"))
        return NamedSharding(mesh, PartitionSpec("data"))
    raise ValueError(kind)


@jax.jit
def step(weights, images, labels):
    def loss_of(w):
        x = images.reshape(images.shape[0], -1).astype(jnp.float32) / 255
        scores = jax.nn.log_softmax(x @ w)
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    loss, gradient = jax.value_and_grad(loss_of)(weights)
    return weights - 0.001 * gradient, loss


def main(job, data, kind, epochs, stop_at="-1", state=""):
    if "PROCESS" in os.environ:
        jax.distributed.initialize(f"127.0.0.1:{os.environ['PORT']}", int(os.environ["PROCESSES"]), int(os.environ["PROCESS"]))
    sharding = sharding_of(kind)
    loader = penstock.jax.Loader(job, data_root=data, batch_size=16, sharding=sharding)
    everywhere = NamedSharding(sharding.mesh, PartitionSpec())
    weights = jax.jit(lambda: jnp.zeros((32 * 32 * 3, 1000)), out_shardings=everywhere)()
    losses, ids, rows = [], [], []
    if state and os.path.exists(state):
        with open(state, "rb") as file:
            saved = pickle.load(file)
        loader.load_state_dict(saved["loader"])
        weights = jax.device_put(saved["weights"], everywhere)
    for _ in range(loader.epoch, int(epochs)):
        for batch in loader:
            weights, loss = step(weights, batch["image"], batch["label"])
            losses.append(float(loss))
            ids.append(batch.ids.tolist())
            shards = sorted(batch["label"].addressable_shards, key=lambda shard: shard.index[0].start or 0)
            rows.append([[shard.index[0].start or 0, np.asarray(shard.data).tolist()] for shard in shards])
            if len(losses) == int(stop_at):
                with open(state, "wb") as file:
                    pickle.dump({"weights": np.asarray(weights), "loader": loader.state_dict()}, file)
                break
        if len(losses) == int(stop_at):
            break
    print(json.dumps({
        "rank": loader.rank, "world_size": loader.world_size, "losses": losses, "ids": ids, "rows": rows,
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
