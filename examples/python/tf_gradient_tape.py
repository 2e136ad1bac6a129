"""A custom loop in TensorFlow: tf_gradient_tape.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FOLDER]

Shows a tf.function with a GradientTape, mixed precision, clipping by the global norm, a schedule, checkpoints of the whole
state from which it resumes in mid-epoch, and an exact accuracy. JOB has the columns image (uint8) and label, as in a job of
`penstock init`.
"""

import argparse

import keras
import penstock.tf
import tensorflow as tf
from penstock import ops

SAVE_EVERY = 100  # steps


def network(height, width, classes):
    return keras.Sequential([
        keras.Input((height, width, 3), dtype="uint8"),
        keras.layers.Rescaling(1 / 127.5, -1),
        keras.layers.Conv2D(32, 8, strides=8, activation="relu"),
        keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(classes, dtype="float32"),
    ])  # fmt: skip


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

    job = penstock.Job.load(given.job)
    train = penstock.tf.dataset(job, data_root=given.data_root, batch_size=50, columns=("image", "label"))
    height, width, _ = train.schema["image"].shape
    evaluation = penstock.tf.dataset(
        evaluation_of(job, height, width), data_root=given.data_root, columns=("image", "label", "valid")
    )

    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    model = network(height, width, given.classes)
    optimizer = keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(5e-3, given.epochs * len(train)))
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    loss_sum, steps = tf.Variable(0.0), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        loss_sum.assign_add(loss)
        steps.assign_add(1)

    @tf.function
    def count_right(images, labels, valid):
        right = tf.argmax(model(images, training=False), 1) == labels
        return tf.math.count_nonzero(right & valid), tf.math.count_nonzero(valid)  # padding does not count

    manager = None
    if given.checkpoint:
        checkpoint = tf.train.Checkpoint(
            model=model, optimizer=optimizer, loss_sum=loss_sum, steps=steps, data=train.trackable
        )
        manager = tf.train.CheckpointManager(checkpoint, given.checkpoint, max_to_keep=2)
        manager.restore_or_initialize()

    for epoch in range(train.epoch, given.epochs):
        for images, labels in train:
            train_step(images, labels)
            if manager and steps % SAVE_EVERY == 0:
                manager.save()
        counts = [count_right(*batch) for batch in evaluation]
        right, rows = (int(sum(count)) for count in zip(*counts))
        loss = float(loss_sum) / len(train)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {right / rows:.3f} ({right} of {rows})")
        loss_sum.assign(0)
        if manager:
            manager.save()

    stats = train.stats()
    print(f"{stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
