"""penstock.tf.dataset: elements, iterations, states, ends."""

import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from fixtures import eventually

import penstock
import penstock.tf


@pytest.fixture
def fake_tf(fake):
    def make(options="", **arguments):
        return penstock.tf.dataset(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


def first_labels(dataset):
    return [int(label[0]) for label in dataset]


# ---- Elements


def test_the_element_spec_is_exact(fake_tf):
    dataset = fake_tf("rows=4&steps=3")
    expected = {
        "image": tf.TensorSpec((4, 4, 4, 3), tf.uint8),
        "label": tf.TensorSpec((4,), tf.int64),
        "weights": tf.TensorSpec((4, 2), tf.bfloat16),
        "boxes": tf.RaggedTensorSpec((4, None, 4), tf.float32, ragged_rank=1, row_splits_dtype=tf.int64),
        "text": tf.TensorSpec((4,), tf.string),
        "words": tf.RaggedTensorSpec((4, None), tf.string, ragged_rank=1, row_splits_dtype=tf.int64),
    }
    assert dataset.element_spec == expected
    for batch in dataset:
        assert {name: spec.is_compatible_with(batch[name]) for name, spec in expected.items()} == dict.fromkeys(expected, True)
    pair = fake_tf("rows=4", columns=("image", "label", "valid", "ids"))
    assert pair.element_spec == (
        expected["image"], expected["label"], tf.TensorSpec((4,), tf.bool), tf.TensorSpec((4, 2), tf.int64)
    )
    assert fake_tf("rows=4", columns="label").element_spec == expected["label"]


def test_values_are_the_loaders(fake_tf, fake):
    for batch, want in zip(fake_tf("rows=4&steps=3"), fake("rows=4&steps=3")):
        assert np.array_equal(batch["image"].numpy(), want["image"])
        assert np.array_equal(batch["label"].numpy(), want["label"])
        assert np.array_equal(batch["weights"].numpy().view(np.uint16), want["weights"])
        assert batch["weights"].numpy().astype(np.float32).tolist() == [[1.0, 2.0]] * 4
        assert np.array_equal(batch["boxes"].values.numpy(), want["boxes"].values)
        assert np.array_equal(batch["boxes"].row_splits.numpy(), want["boxes"].row_splits)
        assert batch["text"].numpy().tolist() == want["text"].tolist()
        assert [row.tolist() for row in batch["words"].to_list() and want["words"]] == batch["words"].to_list()


def test_tensors_are_read_as_arrays(small_job):
    x, y = tf.random.uniform((20, 3)), tf.range(20)
    dataset = penstock.tf.dataset(arrays={"x": x, "y": y}, columns=("x", "y"), batch_size=5)
    seen = []
    for rows, numbers in dataset:
        assert np.array_equal(rows, tf.gather(x, numbers))
        seen += numbers.numpy().tolist()
    assert sorted(seen) == list(range(20))


def test_real_batches_are_the_loaders_bit_for_bit(small_job):
    dataset = penstock.tf.dataset(small_job.path, data_root=small_job.data, columns=("image", "label", "ids", "valid"))
    loader = penstock.Loader(small_job.path, data_root=small_job.data)
    assert len(dataset) == len(loader) == 5
    for _ in range(2):
        for (image, label, ids, valid), batch in zip(dataset, loader):
            assert np.array_equal(image.numpy(), batch["image"])
            assert np.array_equal(label.numpy(), batch["label"])
            assert np.array_equal(ids.numpy(), batch.ids)
            assert np.array_equal(valid.numpy(), batch.valid)


@pytest.mark.parametrize(("last", "rows"), [("DROP", 30), ("PAD", 30), ("PARTIAL", None)])
def test_the_batch_dimension_is_static_where_all_have_that_size(small_job, tmp_path, last, rows):
    job = tmp_path / "job.textproto"
    with open(small_job.path) as file:
        job.write_text(file.read().replace("last: DROP", f"last: {last}").replace("size: 20", "size: 30"))
    dataset = penstock.tf.dataset(str(job), data_root=small_job.data, columns=("image", "label", "valid"))
    assert dataset.element_spec[0] == tf.TensorSpec((rows, 32, 32, 3), tf.uint8)
    sizes = [int(tf.shape(label)[0]) for _, label, _ in dataset]
    valid = [int(tf.reduce_sum(tf.cast(valid, tf.int32))) for _, _, valid in dataset]
    assert sizes == {"DROP": [30] * 3, "PAD": [30] * 4, "PARTIAL": [30, 30, 30, 10]}[last]
    assert sum(valid) == {"DROP": 90, "PAD": 100, "PARTIAL": 100}[last]


def test_a_job_that_changes_its_batch_size_is_refused(small_job, tmp_path):
    job = tmp_path / "job.textproto"
    with open(small_job.path) as file:
        job.write_text(file.read().replace("size: 20", "size: 20 change { at_rows: 40 size: 10 }"))
    with pytest.raises(penstock.ConfigurationError, match="'small' changes its batch size .*; give batch_size=, or use"):
        penstock.tf.dataset(str(job), data_root=small_job.data)
    assert len(penstock.tf.dataset(str(job), data_root=small_job.data, batch_size=50)) == 2


def test_a_job_whose_batches_have_a_budget_is_refused(small_job, tmp_path):
    job = tmp_path / "job.textproto"
    with open(small_job.path) as file:
        select = """select { bucket { by: "bytes(col('image/encoded'))" budget: 9e6 } }"""
        job.write_text(re.sub('(files: "[^"]*")', rf"\1 {select}", file.read()))
    with pytest.raises(penstock.ConfigurationError, match="of job 'small' depend on the values of records .*; use penstock"):
        penstock.tf.dataset(str(job), data_root=small_job.data)


def test_a_column_that_is_not_there_is_named(fake_tf):
    with pytest.raises(penstock.ConfigurationError, match="no column 'lable'; there are image, label"):
        fake_tf(columns=("image", "lable"))


# ---- Features shared with other loaders


def test_map_is_tensorflows_and_takes_threads_too(fake_tf):
    def double(image, label):
        assert isinstance(image, tf.Tensor)
        return label * 2

    dataset = fake_tf("steps=6&rows=2", columns=("image", "label"))
    for mapped in (dataset.map(double, threads=2), dataset.map(double, threads=1), dataset.map(map_func=double)):
        assert len(mapped) == 6
        first = [int(labels[0]) % 2000 for labels in mapped]
        assert first == [4 * n for n in range(6)]
    with pytest.raises(penstock.ConfigurationError, match="threads=0"):
        dataset.map(double, threads=0)


def test_repr_shows_the_job_and_the_elements(fake_tf):
    dataset = fake_tf("steps=2&rows=2", columns="label")
    assert repr(dataset).startswith("<penstock.tf.Dataset of job 'fake': epoch 0, batch size 2, rank 0 of 1, element_spec=")
    assert "TensorSpec(shape=(2,), dtype=tf.int64" in repr(dataset)


def test_a_data_loaders_argument_is_rejected(fake_tf):
    with pytest.raises(penstock.ConfigurationError, match="a loader has no argument num_workers: .*threads="):
        fake_tf(num_workers=8)


# ---- Memory


def test_tensors_look_at_the_arena(fake_tf):
    dataset = fake_tf("steps=3&rows=4", columns=("image", "label", "weights"))
    arena = dataset._loader._core.stream.feeder.arena
    image, label, weights = next(iter(dataset))
    for tensor in (image, label, weights):
        assert arena.address <= tensor._numpy().ctypes.data < arena.address + arena.size


def test_a_tensor_keeps_its_memory_and_nothing_else_does(fake_tf):
    """The fake feeder has 4 slots, and overwrites released memory."""
    dataset = fake_tf("steps=60&rows=2", columns=("label", "text"), memory=4 * 65536)
    kept = None
    for step, (label, text) in enumerate(dataset):
        if step == 0:
            kept = label
        assert label.numpy().tolist() == [2 * step, 2 * step + 1]
        assert text.numpy().tolist() == [b"row %d" % (2 * step), b"row %d" % (2 * step + 1)]
    assert kept.numpy().tolist() == [0, 1]


def test_batches_that_are_kept_for_ever_end_in_an_error_that_says_so(fake_tf):
    dataset = fake_tf("steps=60&rows=2", columns=("label",), memory=4 * 65536)
    with pytest.raises(tf.errors.OpError, match="the trainer holds 4 batches"):
        list(dataset)


# ---- Iterations


def test_an_iteration_is_an_epoch_and_the_next_one_the_next(fake_tf):
    dataset = fake_tf("steps=3&rows=1", columns="label")
    assert len(dataset) == 3
    assert dataset.cardinality() == dataset.map(lambda x: x + 1).prefetch(2).cardinality() == 3
    assert first_labels(dataset) == [0, 1, 2]
    assert dataset.epoch == 1
    for label in dataset:
        assert int(label[0]) == 1000
        break
    assert first_labels(dataset) == [2000, 2001, 2002]
    assert first_labels(dataset.repeat(2)) == [3000, 3001, 3002, 4000, 4001, 4002]
    assert first_labels(dataset.prefetch(8)) == [5000, 5001, 5002]
    for label in dataset.prefetch(8):
        break
    assert first_labels(dataset.prefetch(8).map(tf.identity, num_parallel_calls=4)) == [7000, 7001, 7002]


def test_iterations_of_several_epochs_and_without_end(fake_tf):
    dataset = fake_tf("steps=2&rows=1", columns="label", epochs=2)
    assert len(dataset) == 4
    assert first_labels(dataset) == [0, 1, 1000, 1001]
    endless = fake_tf("steps=2&rows=1", columns="label", epochs=0)
    assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
    assert first_labels(endless.take(5)) == [0, 1, 1000, 1001, 2000]


def test_a_loop_inside_a_tf_function(fake_tf):
    dataset = fake_tf("steps=3&rows=2", columns="label")

    @tf.function
    def total(batches):
        sum_ = tf.constant(0, tf.int64)
        for label in batches:
            sum_ += tf.reduce_sum(label)
        return sum_

    assert int(total(dataset)) == 15
    assert int(total(dataset)) == 6015


# ---- States


def has_left(dataset):
    """Returns how many steps have left the dataset, prefetched ones included. An epoch has 20."""
    epoch, step = map(int, dataset.state_dict()["state"].split(":")[1:])
    return 20 * epoch + step


@pytest.mark.parametrize("seen", range(5))
def test_a_state_goes_on_exactly_where_the_loop_was(fake_tf, seen):
    first = fake_tf("steps=4&rows=1", columns="label")
    loop = iter(first)
    got = [int(next(loop)[0]) for _ in range(seen)]
    state = first.state_dict()
    second = fake_tf("steps=4&rows=1", columns="label")
    second.load_state_dict(state)
    derived = second.map(lambda x: x).prefetch(1)
    whole = [0, 1, 2, 3] if seen < 4 else [0, 1, 2, 3, 1000, 1001, 1002, 1003]
    assert got + first_labels(derived) == whole
    after = 1000 if seen < 4 else 2000
    assert first_labels(derived) == list(range(after, after + 4))
    assert first_labels(second) == list(range(after + 1000, after + 1004))


def test_states_behind_what_is_prefetched_are_asked_for_by_steps(fake_tf):
    dataset = fake_tf("steps=20&rows=1", columns="label")
    states = []
    for step, label in enumerate(dataset.prefetch(6)):
        assert eventually(lambda: has_left(dataset) == min(20, step + 1 + 6))  # noqa: B023
        states.append(dataset.state_dict(steps=step + 1))
        if step == 9:
            break
    for seen, state in enumerate(states, 1):
        fresh = fake_tf("steps=20&rows=1", columns="label")
        fresh.load_state_dict(state)
        assert first_labels(fresh) == list(range(seen, 20))
    with pytest.raises(penstock.ConfigurationError, match="steps=99: this iteration has states after these steps only: "):
        dataset.state_dict(steps=99)


def test_what_tensorflow_adds_by_itself_is_not_ahead_of_the_loop(fake_tf, monkeypatch):
    dataset = fake_tf("steps=20&rows=1", columns="label")
    ahead = threading.Event()
    body = threading.Lock()  # held while the loop's body runs
    split = dataset._feed.split

    def look(batch):
        if body.locked():
            ahead.set()
        return split(batch)

    monkeypatch.setattr(dataset._feed, "split", look)
    for step, label in enumerate(dataset.map(lambda x: x * 2)):
        with body:
            assert not ahead.wait(0.01)
            assert has_left(dataset) == step + 1


def test_a_state_in_a_checkpoint(fake_tf, tmp_path):
    weight = tf.Variable(0.0)
    dataset = fake_tf("steps=6&rows=1", columns="label")
    for step, label in enumerate(dataset):
        weight.assign_add(tf.cast(label[0], tf.float32))
        if step == 2:
            path = tf.train.Checkpoint(weight=weight, data=dataset.trackable).save(str(tmp_path / "ckpt"))
    weight = tf.Variable(9.0)
    again = fake_tf("steps=6&rows=1", columns="label")
    tf.train.Checkpoint(weight=weight, data=again.trackable).restore(path).assert_consumed()
    assert float(weight) == 3.0
    assert first_labels(again) == [3, 4, 5]


# ---- Errors, and ends


def test_an_error_has_the_loaders_message_and_the_loop_may_go_on(fake_tf):
    dataset = fake_tf("steps=4&rows=1&fail=2:DATA_LOSS", columns="label")
    loop = iter(dataset)
    assert [int(next(loop)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.OpError, match="DataError: train-3 record 7: crc"):
        next(loop)
    assert first_labels(loop) == [2, 3]


def test_a_job_that_does_not_open_is_said_at_once(fake_tf):
    with pytest.raises(penstock.ConfigurationError, match="no job fake; there are others"):
        fake_tf("open=NOT_FOUND")


def test_a_feeder_that_dies_is_said_and_the_loop_may_go_on(fake_tf):
    dataset = fake_tf("steps=4&rows=1&exit=2", columns="label")
    loop = iter(dataset)
    assert [int(next(loop)[0]) for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.OpError, match=r"(?s)FeederDied.*the disk is gone"):
        next(loop)
    assert first_labels(loop) == [2, 3]


def test_a_closed_dataset_says_so(fake_tf):
    dataset = fake_tf("steps=4&rows=1", columns="label")
    dataset.close()
    with pytest.raises(tf.errors.OpError, match="this loader was closed"):
        next(iter(dataset))


def held_batches(feeder_loader):
    feeder_loader._core.stream.feeder.releases.flush()
    return feeder_loader.stats()["feeder_held_batches"]


def test_a_dataset_dropped_half_way_leaves_nothing(fake_tf, fake):
    other = fake("steps=3")
    next(iter(other))
    gc.collect()
    threads = threading.active_count()
    for _ in range(3):
        loop = iter(fake_tf("steps=100&rows=1", columns="label").prefetch(4))
        next(loop)
        del loop
    gc.collect()
    assert eventually(lambda: held_batches(other) <= 1, 10)  # the batch that `other` prefetched
    assert threading.active_count() <= threads
    assert sum(1 for feed in penstock.tf._live) == 0


SCRIPT = """
import sys, penstock, penstock.tf, tensorflow as tf
dataset = penstock.tf.dataset("fake?" + sys.argv[1], coordinator="nowhere:1", columns="label")
pipeline = dataset.prefetch(4) if "prefetch" in sys.argv else dataset
{body}
"""


def script(body, *arguments):
    return [sys.executable, "-c", SCRIPT.format(body=body), *arguments]


@pytest.mark.parametrize("how", ["plain", "prefetch"])
def test_ctrl_c_interrupts_a_wait(fake, how):
    """TensorFlow's thread waits for a batch that never arrives, and the main thread waits for TensorFlow's."""
    # Python raises KeyboardInterrupt while pybind11 makes TensorFlow's exception. pybind11 makes a RuntimeError of it
    # that names it.
    body = (
        # Programs in a shell's background ignore SIGINT.
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n  for label in pipeline: print(int(label[0]), flush=True)\n"
        "except (KeyboardInterrupt, RuntimeError) as error: print('KeyboardInterrupt' in repr(error))"
    )
    process = subprocess.Popen(
        script(body, "steps=9&rows=1&silent=2&notice=2", how), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert [process.stdout.readline() for _ in range(2)] == ["0\n", "1\n"]
    assert any("rows of worker w1" in line for line in process.stderr)  # the waiting thread reports it
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "True\n", err
    assert process.returncode == 0
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("how", ["plain", "prefetch"])
def test_a_program_that_ends_in_the_middle_ends(fake, how):
    body = "loop = iter(pipeline)\nprint(int(next(loop)[0]), dataset._loader._core.stream.feeder.process_id)"
    done = subprocess.run(script(body, "steps=1000&rows=1", how), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    feeder = int(done.stdout.split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(feeder, 0)
