"""A small convolutional network by model.fit: keras_fit.py JOB.textproto DATA_ROOT [--epochs N] [--checkpoint FOLDER]

Shows Keras's recipes: mixed precision, gradient clipping, a schedule, a checkpoint of the whole state, including the data's,
after each epoch, and an exact accuracy. JOB has the columns image (uint8) and label, as in a job of `penstock init`.
"""

import argparse

import keras
import penstock.tf
import tensorflow as tf
from penstock import ops


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


class Rows(keras.metrics.Sum):
    """Counts the rows with a nonzero weight."""

    def update_state(self, labels, _predictions, sample_weight=None):
        super().update_state(tf.ones_like(labels) if sample_weight is None else sample_weight)


class EachEpoch(keras.callbacks.Callback):
    """Prints the progress, and writes a checkpoint."""

    def __init__(self, manager):
        super().__init__()
        self.manager = manager

    def on_epoch_end(self, epoch, logs=None):
        rows, accuracy = round(logs["val_rows"]), logs["val_accuracy"]
        print(f"epoch {epoch}: loss {logs['loss']:.3f}, accuracy {accuracy:.3f} ({round(accuracy * rows)} of {rows})")
        if self.manager:
            self.manager.save()


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
    # The third element of a tuple is Keras's sample_weight. It is 0 for padding, which then has no effect.
    evaluation = penstock.tf.dataset(
        evaluation_of(job, height, width), data_root=given.data_root, columns=("image", "label", "valid")
    )

    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    model = network(height, width, given.classes)
    rate = keras.optimizers.schedules.CosineDecay(5e-3, given.epochs * len(train))
    optimizer = keras.optimizers.AdamW(rate, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    model.compile(
        optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=["accuracy", Rows(name="rows")]
    )
    manager = None
    if given.checkpoint:
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, data=train.trackable)
        manager = tf.train.CheckpointManager(checkpoint, given.checkpoint, max_to_keep=2)
        manager.restore_or_initialize()

    model.fit(
        train,
        epochs=given.epochs,
        initial_epoch=train.epoch,
        validation_data=evaluation,
        callbacks=[EachEpoch(manager)],
        verbose=0,
        shuffle=False,  # the job has shuffled
    )
    stats = train.stats()
    print(f"{stats['rows_per_second']:.0f} rows/s, waited {100 * stats['waited_share']:.0f} % of the time")


if __name__ == "__main__":
    main()
