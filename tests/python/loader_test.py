"""What a loop gets, and where it begins and ends: against the fake feeder."""
# ruff: noqa: PT012

import contextlib
import gc
import logging
import pickle
import threading
import time

import numpy as np
import pytest

import penstock
from fixtures import Notices, eventually
from penstock import _stream


def labels(loop):
    return [int(batch["label"][0]) for batch in loop]


def test_a_loop_is_one_epoch_and_the_next_loop_is_the_next_epoch(fake):
    loader = fake("steps=3&rows=2")
    assert labels(loader) == [0, 2, 4]
    assert labels(loader) == [1000, 1002, 1004]
    assert len(loader) == 3


def test_a_batch_has_its_columns_as_views_that_may_be_written(fake):
    loader = fake("rows=4")
    batch = next(iter(loader))
    assert list(batch) == ["image", "label", "weights", "boxes", "text", "words"]
    assert batch["image"].shape == (4, 4, 4, 3)
    assert batch["image"].dtype == np.uint8
    assert (batch["image"][2] == 2).all()
    assert batch["label"].tolist() == [0, 1, 2, 3]
    assert batch["weights"].dtype == np.uint16
    assert batch["weights"].tolist() == [[0x3F80, 0x4000]] * 4
    assert batch.ids.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
    assert batch.sources.tolist() == batch.ids.tolist()
    assert batch.valid.dtype == np.bool_
    assert batch.valid.all()
    assert (batch.epoch, batch.step, batch.rows, batch.position) == (0, 0, 4, 0)
    assert batch["text"].tolist() == [b"row 0", b"row 1", b"row 2", b"row 3"]
    batch["image"][:] = 7
    assert (batch["image"] == 7).all()
    assert not batch["image"].flags.owndata
    assert "image" in batch
    assert "nothing" not in batch
    with pytest.raises(KeyError, match="no column 'nothing'; there are image, label"):
        batch["nothing"]


def test_ragged_columns_are_values_and_row_splits(fake):
    batch = next(iter(fake("rows=3")))
    boxes = batch["boxes"]
    assert isinstance(boxes, penstock.Ragged)
    assert boxes.row_splits.tolist() == [0, 0, 1, 3]
    assert boxes.values.shape == (3, 4)
    assert len(boxes) == 3
    assert boxes[2].tolist() == [[2.0] * 4] * 2
    assert boxes[-1].shape == (2, 4)
    padded = boxes.to_padded(value=-1)
    assert padded.shape == (3, 2, 4)
    assert padded[1].tolist() == [[1.0] * 4, [-1.0] * 4]
    assert boxes.to_padded(4).shape == (3, 4, 4)
    with pytest.raises(ValueError, match="a row has 2 elements, more than length=1"):
        boxes.to_padded(1)
    assert boxes.to_padded(1, truncate=True).tolist() == [[[0.0] * 4], [[1.0] * 4], [[2.0] * 4]]
    with pytest.raises(IndexError):
        boxes[3]


def test_strings_are_bytes_objects_or_offsets(fake):
    batch = next(iter(fake("rows=3")))
    assert [row.tolist() for row in batch["words"]] == [[], [b"1.0"], [b"2.0", b"2.1"]]
    assert batch["words"].to_padded().tolist() == [[b"", b""], [b"1.0", b""], [b"2.0", b"2.1"]]
    strings = batch.strings("text")
    assert strings.offsets.tolist() == [0, 5, 10, 15]
    assert strings.row_splits is None
    assert strings.text.tobytes() == b"row 0row 1row 2"
    assert batch.strings("words").row_splits.tolist() == [0, 0, 1, 3]
    with pytest.raises(KeyError, match="label is a column of int64"):
        batch.strings("label")


def test_the_schema_says_what_columns_are(fake):
    schema = fake().schema
    assert schema["weights"].type == "bfloat16"
    assert schema["weights"].dtype == np.uint16
    assert schema["image"].shape == (4, 4, 3)
    assert schema["boxes"].ragged
    assert schema["text"].string


def test_nothing_starts_before_the_first_use_and_a_loader_is_pickled_until_then(fake):
    import penstock._feeder as feeder

    loader = fake("steps=2&rows=1")
    assert feeder.current_feeder() is None
    copy = pickle.loads(pickle.dumps(loader))
    assert labels(copy) == [0, 1]
    with pytest.raises(TypeError, match="Pickle it before its first use"):
        pickle.dumps(copy)
    assert labels(loader) == [0, 1]


def test_a_loop_left_with_break_is_over_and_the_next_one_is_the_next_epoch(fake):
    loader = fake("steps=4&rows=1")
    for batch in loader:
        if batch.step == 1:
            break
    assert loader.epoch == 1
    assert labels(loader) == [1000, 1001, 1002, 1003]


def test_an_exception_in_the_loop_body_is_as_break(fake):
    loader = fake("steps=4&rows=1")
    with pytest.raises(ZeroDivisionError):
        for _ in loader:
            raise ZeroDivisionError
    assert labels(loader) == [1000, 1001, 1002, 1003]


def test_a_loop_that_got_nothing_has_used_up_nothing(fake):
    loader = fake("steps=2&rows=1")
    iter(loader)
    iter(loader)
    assert labels(loader) == [0, 1]


def test_an_older_loop_over_the_same_loader_is_over(fake):
    loader = fake()
    old = iter(loader)
    next(old)
    new = iter(loader)
    next(new)
    with pytest.raises(penstock.PenstockError, match="another one over the same loader was begun"):
        next(old)


def test_epochs_says_how_many_a_loop_goes_through(fake):
    loader = fake("steps=2&rows=1", epochs=2, start_epoch=3)
    assert labels(loader) == [3000, 3001, 4000, 4001]
    assert labels(loader) == [5000, 5001, 6000, 6001]
    assert len(loader) == 4
    endless = fake("steps=2&rows=1", epochs=0)
    loop = iter(endless)
    assert [int(next(loop)["label"][0]) for _ in range(5)] == [0, 1, 1000, 1001, 2000]
    with pytest.raises(TypeError):
        len(endless)


@pytest.mark.parametrize("seen", range(8))
def test_a_restored_loader_gives_exactly_what_the_loop_had_not_received(fake, seen):
    whole = fake("steps=3&rows=1", epochs=3)
    want = labels(whole)
    first = fake("steps=3&rows=1", epochs=3)
    loop = iter(first)
    got = [int(next(loop)["label"][0]) for _ in range(seen)]
    if seen > 0:
        assert eventually(lambda: first.stats()["feeder_held_batches"] == 1)  # what is prefetched is not in the state
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = fake("steps=3&rows=1", epochs=3)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert got + labels(second) == want
    # And into one that has begun.
    next(iter(whole))
    whole.load_state_dict(state)
    assert got + labels(whole) == want


def test_a_state_of_an_epochs_end_neither_loses_nor_repeats_an_epoch(fake):
    loader = fake("steps=3&rows=1")
    states = []
    for batch in loader:
        states.append(loader.state_dict())
    assert loader.state_dict() == states[-1]
    assert loader.epoch == 1
    fresh = fake("steps=3&rows=1")
    fresh.load_state_dict(states[-1])
    assert fresh.epoch == 1
    assert labels(fresh) == labels(loader) == [1000, 1001, 1002]


def test_a_state_that_is_none_is_refused(fake):
    for wrong in ({}, {"state": 5}, {"version": 9, "state": "x"}, None):
        with pytest.raises(penstock.ConfigurationError, match="no state of a penstock.Loader"):
            fake().load_state_dict(wrong)


def test_two_loaders_interleaved_are_independent(fake):
    train, validation = fake("steps=4&rows=1"), fake("steps=2&rows=1")
    got = []
    for batch in train:
        got.append((int(batch["label"][0]), labels(validation)))
    assert got == [(n, [1000 * n, 1000 * n + 1]) for n in range(4)]


def test_loaders_run_in_several_threads(fake):
    results = {}

    def read(name):
        loader = fake("steps=50&rows=2")
        results[name] = labels(loader) + labels(loader)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    want = [2 * n for n in range(50)]
    assert all(results[n] == want + [1000 + w for w in want] for n in range(4))


def held(loader, expected):
    """Batches that the feeder thinks the trainer has, or is being sent: once the releases have reached it."""
    eventually(lambda: loader.stats()["feeder_held_batches"] == expected)
    return loader.stats()["feeder_held_batches"]


def test_a_batch_lives_as_long_as_its_last_array(fake):
    loader = fake("steps=1&rows=2")
    batches = list(loader)
    image = batches[0]["image"]
    row = image[1]
    del batches, image
    gc.collect()
    assert held(loader, 1) == 1
    assert (row == 1).all()
    del row
    assert held(loader, 0) == 0


def test_all_batches_may_be_kept(fake):
    loader = fake("steps=40&rows=2")
    batches = list(loader)
    assert [int(b["label"][0]) for b in batches] == [2 * n for n in range(40)]
    assert held(loader, 40) == 40
    batches.clear()
    assert held(loader, 0) == 0


def test_held_memory_is_an_error_that_says_so_and_a_release_cures_it(fake):
    loader = fake("steps=10&rows=2", memory=4 * 65536)
    kept = []
    loop = iter(loader)
    with pytest.raises(penstock.MachineError, match="the trainer holds 4 batches") as caught:
        while True:
            kept.append(next(loop))
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    assert len(kept) == 4
    kept.clear()
    assert labels(loop) == [8, 10, 12, 14, 16, 18]


def test_batches_in_reference_cycles_are_collected_before_memory_is_said_to_be_full(fake):
    loader = fake("steps=10&rows=2", memory=4 * 65536)
    gc.disable()
    try:
        count = 0
        for batch in loader:
            cycle = {"batch": batch}
            cycle["self"] = cycle
            count += 1
    finally:
        gc.enable()
    assert count == 10


def test_a_released_batch_is_not_read_again(fake):
    """The fake feeder overwrites what is given back."""
    loader = fake("steps=200&rows=2", memory=4 * 65536)
    for batch in loader:
        assert batch["label"].tolist() == [2 * batch.step, 2 * batch.step + 1]


def test_a_batch_outlives_its_loader_and_the_feeder(fake):
    loader = fake("steps=2&rows=2")
    batches = list(loader)
    loader.close()
    del loader
    assert batches[1]["label"].tolist() == [2, 3]
    penstock.shutdown()
    assert batches[1]["label"].tolist() == [2, 3]


def test_a_loader_that_is_dropped_keeps_what_it_delivered_and_gives_back_the_rest(fake):
    other = fake("steps=1&rows=1")
    len(other)
    loader = fake("steps=5&rows=2")
    loop = iter(loader)
    batch = next(loop)
    del loader, loop
    assert held(other, 1) == 1
    assert batch["label"].tolist() == [0, 1]
    del batch
    assert held(other, 0) == 0


def test_a_dict_of_copies_is_free_of_the_batch(fake):
    loader = fake("steps=1&rows=3")
    copies = next(iter(loader)).copy()
    assert held(loader, 0) == 0
    assert copies["label"].tolist() == [0, 1, 2]
    assert copies["boxes"].row_splits.tolist() == [0, 0, 1, 3]
    with pytest.raises(TypeError, match="send batch.copy"):
        pickle.dumps(next(iter(fake())))


def test_closing_ends_a_wait_of_another_thread(fake):
    loader = fake("silent=0&notice=0")
    caught = []

    def read():
        try:
            next(iter(loader))
        except penstock.PenstockError as error:
            caught.append(str(error))

    thread = threading.Thread(target=read)
    with Notices() as notices:
        thread.start()
        assert notices.wait()
    begin = time.monotonic()
    loader.close()
    loader.close()
    thread.join(5)
    assert time.monotonic() - begin < 5
    assert caught == ["this loader was closed"]
    with pytest.raises(penstock.PenstockError, match="was closed"):
        next(iter(loader))


def test_with_closes(fake):
    with fake("steps=1&rows=1") as loader:
        assert labels(loader) == [0]
    with pytest.raises(penstock.PenstockError, match="was closed"):
        len(loader)


def test_stats_are_flat_numbers(fake):
    loader = fake("steps=5&rows=2&delay=0.01")
    labels(loader)
    stats = loader.stats()
    assert all(isinstance(value, float) for value in stats.values())
    assert stats["batches"] == 5
    assert stats["rows"] == 10
    assert stats["first_batch_seconds"] >= 0.01
    assert 0 < stats["waited_share"] <= 1.01
    assert stats["rows_per_second"] > 0
    assert stats["feeder_arena_bytes"] > 0


@contextlib.contextmanager
def asked_all_the_time(loader):
    stop = threading.Event()
    failed = []

    def ask():
        while not stop.is_set():
            try:
                loader.stats()
            except Exception as error:
                failed.append(error)

    len(loader)
    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert failed == []


@pytest.fixture(params=[None, 0.0], ids=["", "machine-stands-still"])
def stalls(request, monkeypatch):
    """Whatever time is given to threads that may have been interrupted, it is over while others are suspended."""
    if request.param is not None:
        monkeypatch.setattr(_stream, "_INTERRUPTED_AFTER", request.param)


def test_stats_of_another_thread_do_not_disturb_a_loop_that_waits(fake, stalls):
    loader = fake("steps=100&rows=1&think=0.01")
    with asked_all_the_time(loader):
        assert labels(loader) == list(range(100))


def test_stats_of_another_thread_do_not_disturb_a_loop_that_goes_elsewhere(fake, stalls):
    loader = fake("steps=5&rows=1&think=0.01")
    begin = loader.state_dict()
    with asked_all_the_time(loader):
        for _ in range(50):
            assert int(next(iter(loader))["label"][0]) == 0
            loader.load_state_dict(begin)


def test_a_notice_is_a_warning_of_the_logger_penstock(fake, caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        assert labels(fake("steps=2&rows=1&notice=1")) == [0, 1]
    assert [r.getMessage() for r in caplog.records] == ["waiting 3 s: rows of worker w1"]


class OutOfOrder:
    """For map over epochs of 7 steps: every third batch is done behind the one after it."""

    def __init__(self):
        self.done = [threading.Event() for _ in range(7)]

    def __call__(self, batch):
        label = int(batch["label"][0])
        step = label % 1000
        if step % 3 == 0 and step < 6:
            assert self.done[step + 1].wait(20)
        self.done[step].set()
        return label

    def let_go(self):
        for event in self.done:
            event.set()


def test_map_runs_python_ahead_in_order_and_its_states_count_what_its_loop_received(fake):
    whole = list(fake("steps=7&rows=1").map(OutOfOrder(), threads=3))
    assert whole == list(range(7))
    for seen in range(8):
        function = OutOfOrder()
        mapped = fake("steps=7&rows=1").map(function, threads=3)
        loop = iter(mapped)
        got = [next(loop) for _ in range(seen)]
        function.let_go()  # those who wait for batches that this loop never comes to
        fresh = fake("steps=7&rows=1").map(OutOfOrder(), threads=2)
        fresh.load_state_dict(mapped.state_dict())
        rest = list(fresh)
        assert got + (rest if seen < 7 else []) == whole
        if seen == 7:
            assert rest == [1000 + n for n in range(7)]


def test_a_mapped_loop_that_is_left_goes_on_with_the_next_epoch(fake):
    mapped = fake("steps=3&rows=1", epochs=2).map(lambda batch: int(batch["label"][0]), threads=4)
    loop = iter(mapped)
    assert next(loop) == 0
    del loop
    assert mapped.epoch == 1
    assert list(mapped) == [1000, 1001, 1002]
    iter(mapped)
    assert list(mapped) == [2000, 2001, 2002, 3000, 3001, 3002]


def test_what_a_mapped_function_raises_comes_in_its_place(fake):
    def fail(batch):
        return 1 // (2 - batch.step)

    loop = iter(fake("steps=4&rows=1").map(fail))
    assert [next(loop), next(loop)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(loop)


def test_a_mapped_function_that_raises_stop_iteration_does_not_end_the_loop_in_silence(fake):
    def stop(batch):
        raise StopIteration

    with pytest.raises(RuntimeError, match="the function given to map.. raised StopIteration"):
        next(iter(fake("steps=4&rows=1").map(stop)))
