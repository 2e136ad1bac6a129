"""MultiWorkerMirroredStrategy: tf_multi_worker.py JOB.textproto DATA_ROOT [--epochs N] [--local N]

Start it on each worker with its TF_CONFIG, which gives rank and world size, or with --local 2, which starts two workers on this
machine. Each worker's dataset has that worker's rows of each step. All workers together read the rows of one rank. JOB is a
job of `penstock init`.
"""

import argparse
import json
import os
import socket
import subprocess
import sys

STEP_ROWS = 40  # rows of all workers together, so the training is the same on 1, 2 or 4 workers


def start_here(count):
    """Starts this program `count` times, as the workers of one cluster."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    cluster = {"worker": [f"localhost:{each.getsockname()[1]}" for each in sockets]}
    for each in sockets:
        each.close()
    tasks = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": n}}) for n in range(count)]
    workers = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "TF_CONFIG": task}) for task in tasks]
    return max(worker.wait() for worker in workers)


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


def train(given):
    # Must precede all other uses of TensorFlow, because it connects the workers.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    job = penstock.Job.load(given.job)

    made = []

    def rows_of(job, columns, **arguments):
        def of_this_worker(context):
            made.append(
                penstock.tf.dataset(job, data_root=given.data_root, columns=columns, input_context=context, **arguments)
            )
            return made[-1]

        return strategy.distribute_datasets_from_function(of_this_worker)

    batches = rows_of(job, ("image", "label"), batch_size=STEP_ROWS)
    mine = made[0]
    height, width, _ = mine.schema["image"].shape
    evaluation = rows_of(evaluation_of(job, height, width), ("image", "label", "valid"))

    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((height, width, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 127.5, -1),
            keras.layers.Conv2D(32, 8, strides=8, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(given.classes),
        ])  # fmt: skip
        optimizer = keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(5e-3, given.epochs * len(mine)))
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(batch):
        def replica(images, labels):
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images, training=True))
                loss = tf.nn.compute_average_loss(losses, global_batch_size=STEP_ROWS)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss

        return strategy.reduce("SUM", strategy.run(replica, args=batch), axis=None)

    @tf.function
    def count_right(batch):
        def replica(images, labels, valid):
            right = tf.argmax(model(images, training=False), 1) == labels
            return tf.math.count_nonzero(right & valid), tf.math.count_nonzero(valid)  # padding does not count

        return [strategy.reduce("SUM", count, axis=None) for count in strategy.run(replica, args=batch)]

    for epoch in range(given.epochs):
        losses = [train_step(batch) for batch in batches]
        counts = [count_right(batch) for batch in evaluation]
        right, rows = (int(sum(count)) for count in zip(*counts))
        if mine.rank == 0:
            loss = float(sum(losses)) / len(losses)
            print(f"epoch {epoch}: loss {loss:.3f}, accuracy {right / rows:.3f} ({right} of {rows})", flush=True)

    stats = mine.stats()
    waited = 100 * stats["waited_share"]
    print(f"rank {mine.rank}: {stats['rows_per_second']:.0f} rows/s, waited {waited:.0f} % of the time", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("data_root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--local", type=int, default=1)
    given = parser.parse_args()
    if given.local > 1 and "TF_CONFIG" not in os.environ:
        sys.exit(start_here(given.local))

    import keras
    import penstock.tf
    import tensorflow as tf
    from penstock import ops

    train(given)
