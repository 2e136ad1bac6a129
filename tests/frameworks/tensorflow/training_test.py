"""Small real trainings in each style that TensorFlow supports."""

import os

import keras
import numpy as np
import pytest
import tensorflow as tf

import penstock
import penstock.tf
from penstock._tf_feed import Feed

PAIR = ("image", "label")
CLASSES = 1000


@pytest.fixture
def train(small_job):
    def make(**arguments):
        arguments.setdefault("columns", PAIR)
        return penstock.tf.dataset(small_job.path, data_root=small_job.data, **arguments)

    return make


@pytest.fixture
def validation(small_job, tmp_path):
    """Has all 100 rows in the data's order, with the last batch padded."""
    with open(small_job.path) as file:
        text = file.read().replace("last: DROP", "last: PAD").replace("size: 20", "size: 30")
    text = text.replace("ops { random_horizontal_flip { probability: 0.5 } }\n", "").replace(
        "random_resized_crop { height: 32 width: 32 }", "resize { height: 32 width: 32 }"
    ).replace("order { seed: 17 }", "order { shuffle: NONE }")
    job = tmp_path / "validation.textproto"
    job.write_text(text)

    def make(**arguments):
        return penstock.tf.dataset(str(job), data_root=small_job.data, **arguments)

    return make


def small_model(dtype=None):
    keras.utils.set_random_seed(3)
    return keras.Sequential([
        keras.Input((32, 32, 3)),
        keras.layers.Rescaling(1 / 255, dtype=dtype),
        keras.layers.AveragePooling2D(4, dtype=dtype),
        keras.layers.Flatten(),
        keras.layers.Dense(CLASSES, dtype="float32"),
    ])


def compiled(model=None, **arguments):
    model = model or small_model()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss, **arguments)
    return model


class Steps(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses, self.epochs = [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        self.epochs[-1] += 1


def test_model_fit_for_several_epochs_with_validation(train, validation):
    dataset = train()
    model = compiled(weighted_metrics=["accuracy"])
    steps = Steps()
    held_out = validation(columns=("image", "label", "valid"))
    history = model.fit(dataset, epochs=4, validation_data=held_out, callbacks=[steps], verbose=0).history
    assert steps.epochs == [5, 5, 5, 5]
    assert history["loss"][-1] < history["loss"][0]
    assert dataset.epoch == 4
    # Padding does not count: the accuracy is that of the 100 rows.
    right = total = 0
    for batch in penstock.Loader(validation_path(held_out), data_root=data_root(held_out)):
        guess = np.argmax(model.predict_on_batch(batch["image"]), 1)
        right += int((guess == batch["label"])[batch.valid].sum())
        total += int(batch.valid.sum())
    assert total == 100
    assert history["val_accuracy"][-1] == pytest.approx(right / 100, abs=1e-6)


def validation_path(dataset):
    return dataset._loader._core.settings.job["job_file"]


def data_root(dataset):
    return dataset._loader._core.settings.request["data_roots"][0]


def test_keras_sees_the_rows_of_the_loader_in_their_order(train, small_job):
    seen = []

    class Watching(keras.Model):
        def __init__(self):
            super().__init__()
            self.bias = self.add_weight(shape=(CLASSES,))

        def train_step(self, data):
            seen.append(data[1].numpy().tolist())
            return {"loss": tf.reduce_sum(self.bias)}

    model = Watching()
    model.compile(run_eagerly=True)
    dataset = train()
    model.fit(dataset, epochs=2, verbose=0)
    model.fit(dataset.map(lambda image, label: (image, label)), epochs=1, verbose=0)
    loader = penstock.Loader(small_job.path, data_root=small_job.data)
    assert seen == [batch["label"].tolist() for _ in range(3) for batch in loader]


def test_a_gradient_tape_loop_in_a_tf_function_with_clipping(train):
    model, optimizer = small_model(), keras.optimizers.SGD(0.1)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 0.1)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, tf.linalg.global_norm(gradients)

    losses, norms = [], []
    dataset = train()
    for _ in range(6):
        for images, labels in dataset:
            loss, norm = step(images, labels)
            losses.append(float(loss))
            norms.append(float(norm))
    assert len(losses) == 30
    assert step.experimental_get_tracing_count() == 1  # shapes are static
    assert max(norms) <= 0.1 + 1e-6
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_mixed_precision(train):
    model = compiled(small_model(keras.DTypePolicy("mixed_bfloat16")))
    history = model.fit(train(), epochs=4, verbose=0).history
    assert model.layers[1].compute_dtype == "bfloat16"
    assert history["loss"][-1] < history["loss"][0]


def test_bfloat16_batches(small_job, tmp_path):
    job = tmp_path / "bfloat16.textproto"
    with open(small_job.path) as file:
        text = file.read().replace("order {", 'ops { normalize { preset: "imagenet" to: BFLOAT16 } }\norder {')
    job.write_text(text)
    dataset = penstock.tf.dataset(str(job), data_root=small_job.data, columns=PAIR)
    assert dataset.element_spec[0] == tf.TensorSpec((20, 32, 32, 3), tf.bfloat16)
    for (images, _), batch in zip(dataset, penstock.Loader(str(job), data_root=small_job.data)):
        assert np.array_equal(images.numpy().view(np.uint16), batch["image"])
    model = compiled(keras.Sequential([keras.Input((32, 32, 3), dtype="bfloat16"), *small_model().layers[1:]]))
    history = model.fit(dataset, epochs=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


# ---- Resume


def test_a_tape_loop_resumed_in_mid_epoch_gives_the_losses_of_the_whole_run(train, tmp_path):
    def run(stop=None, restore=None):
        model, optimizer = small_model(), keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build(model.trainable_variables)
        dataset = train()
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, data=dataset.trackable)
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        if restore:
            checkpoint.restore(restore).assert_consumed()

        @tf.function
        def step(images, labels):
            with tf.GradientTape() as tape:
                loss = loss_of(labels, model(images, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss

        losses = []
        for _ in range(dataset.epoch, 3):
            for images, labels in dataset:
                losses.append(float(step(images, labels)))
                if len(losses) == stop:
                    return losses, checkpoint.save(str(tmp_path / "ckpt"))
        return losses, None

    whole, _ = run()
    first, path = run(stop=7)
    rest, _ = run(restore=path)
    assert len(whole) == 15
    assert first + rest == whole


def test_model_fit_resumed_in_mid_epoch_goes_on_with_the_rows_that_were_not_seen(train):
    class Stop(keras.callbacks.Callback):
        def __init__(self, dataset, at):
            super().__init__()
            self.dataset, self.at, self.seen = dataset, at, 0

        def on_train_batch_end(self, batch, logs=None):
            self.seen += 1
            if self.seen == self.at:
                self.state = self.dataset.state_dict(steps=batch + 1)
                self.model.stop_training = True

    first, model = train(), compiled()
    stop = Stop(first, 8)
    model.fit(first.prefetch(3), epochs=3, callbacks=[stop], verbose=0)  # the pipeline runs ahead of the model
    again, steps = train(), Steps()
    again.load_state_dict(stop.state)
    assert again.epoch == 1
    with pytest.warns(UserWarning, match="ran out of data"):  # Keras warns about the epoch's rest
        model.fit(again.prefetch(3), epochs=3, initial_epoch=again.epoch, callbacks=[steps], verbose=0)
    assert steps.epochs == [2, 5]


def test_a_pipeline_that_ends_between_its_last_batch_and_its_end_leaves_the_next_epoch_whole(train, monkeypatch):
    """TensorFlow destroys a pipeline that runs ahead (a prefetch, a strategy's iterator) at any point."""
    first = train()
    for _ in first:
        break
    dataset = train()
    dataset.load_state_dict(first.state_dict())
    end = Feed.ended_early

    def interrupted(feed):
        end(feed)
        raise ValueError("destroyed")

    with monkeypatch.context() as patch:
        patch.setattr(Feed, "ended_early", interrupted)
        loop = iter(dataset)
        for _ in range(4):
            next(loop)
        with pytest.raises(tf.errors.OpError, match="destroyed"):
            next(loop)
    assert [len(list(dataset)) for _ in range(2)] == [5, 5]


# ---- Strategies in one process


@pytest.fixture
def mirrored():
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_model_fit_on_a_mirrored_strategy(train, mirrored):
    dataset, steps = train(), Steps()
    with mirrored.scope():
        model = compiled()
    history = model.fit(dataset, epochs=3, callbacks=[steps], verbose=0).history
    assert steps.epochs == [5, 5, 5]
    assert history["loss"][-1] < history["loss"][0]
    # Keras took a batch to build the model. That used up no epoch, so the losses are those without a strategy.
    alone = compiled().fit(train(), epochs=3, verbose=0).history
    np.testing.assert_allclose(history["loss"], alone["loss"], rtol=1e-4)
    assert dataset.epoch == 3


def test_fit_on_a_mirrored_strategy_behind_a_restored_state(train, mirrored):
    first = train()
    for step, _ in enumerate(first):
        if step == 1:
            break
    dataset, steps = train(), Steps()
    dataset.load_state_dict(first.state_dict())
    with mirrored.scope():
        model = compiled()
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(dataset, epochs=2, callbacks=[steps], verbose=0)
    assert steps.epochs == [3, 5]


def test_each_replica_is_fed_its_part(train, mirrored):
    """distribute_datasets_from_function: in each step both replicas together have the rows of one rank."""
    distributed = mirrored.distribute_datasets_from_function(
        lambda context: train(columns=("image", "label", "ids"), input_context=context)
    )
    assert distributed.element_spec[0]._value_specs[0] == tf.TensorSpec((10, 32, 32, 3), tf.uint8)
    whole = train(columns="ids")
    for _ in range(2):
        steps = 0
        for (_, _, ids), expected in zip(distributed, whole):
            parts = mirrored.experimental_local_results(ids)
            assert [part.shape[0] for part in parts] == [10, 10]
            assert np.concatenate([part.numpy() for part in parts]).tolist() == expected.numpy().tolist()
            steps += 1
        assert steps == 5


def test_a_batch_that_cannot_be_parted_is_refused(train):
    context = tf.distribute.InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=3)
    with pytest.raises(penstock.ConfigurationError, match="20 rows of a step for 3 replicas"):
        train(input_context=context)


def test_parts_of_ragged_columns_and_strings(fake):
    context = tf.distribute.InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=2)
    parts = penstock.tf.dataset("fake?rows=4&steps=2", coordinator="nowhere:1", input_context=context)
    assert len(parts) == 4
    whole = penstock.tf.dataset("fake?rows=4&steps=2", coordinator="nowhere:1")
    got = list(parts)
    for step, batch in enumerate(whole):
        for name, value in batch.items():
            both = tf.concat([got[2 * step][name], got[2 * step + 1][name]], 0)
            if isinstance(value, tf.RaggedTensor):
                assert both.to_list() == value.to_list()
            else:
                assert both.numpy().tolist() == value.numpy().tolist()


def test_a_custom_loop_on_a_mirrored_strategy(train, mirrored):
    with mirrored.scope():
        model, optimizer = small_model(), keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @tf.function
    def step(batch):
        def replica(images, labels):
            with tf.GradientTape() as tape:
                loss = tf.nn.compute_average_loss(loss_of(labels, model(images, training=True)), global_batch_size=20)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss

        return mirrored.reduce("SUM", mirrored.run(replica, args=batch), axis=None)

    distributed = mirrored.experimental_distribute_dataset(train())
    losses = [[float(step(batch)) for batch in distributed] for _ in range(4)]
    assert [len(epoch) for epoch in losses] == [5, 5, 5, 5]
    assert np.mean(losses[-1]) < np.mean(losses[0])
    assert os.environ.get("TF_CONFIG") is None
