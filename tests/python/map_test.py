"""Loader.map: order, states and errors. These tests use the fake feeder."""

import threading

import pytest


class OutOfOrder:
    """A function for map over epochs of 7 steps: it finishes every third batch after the following one."""

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
        function.let_go()  # releases threads that wait for batches that this loop never reaches
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
