"""Where a loop begins, continues and ends. These tests use the fake feeder."""
# ruff: noqa: PT012

import pytest

import penstock
from fixtures import labels


def test_a_loop_is_one_epoch_and_the_next_loop_is_the_next_epoch(fake):
    loader = fake("steps=3&rows=2")
    assert labels(loader) == [0, 2, 4]
    assert labels(loader) == [1000, 1002, 1004]
    assert len(loader) == 3


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


def test_the_loop_after_a_feeder_that_died_goes_on_at_the_same_place(fake):
    loader = fake("steps=5&rows=1&kill=3")
    got = []
    with pytest.raises(penstock.FeederDied):
        for batch in loader:
            got.append(int(batch["label"][0]))
    assert got == [0, 1, 2]
    assert loader.epoch == 0
    assert labels(loader) == [3, 4]
    assert labels(loader) == [1000, 1001, 1002, 1003, 1004]


def test_a_loop_that_is_left_behind_a_feeder_that_died_is_over(fake):
    loader = fake("steps=5&rows=1&kill=2")
    with pytest.raises(penstock.FeederDied):
        list(loader)
    for batch in loader:
        assert batch.step == 2
        break
    assert labels(loader) == [1000, 1001, 1002, 1003, 1004]


def through_timeouts(loader, value=lambda got: got):
    """Returns the values of loops over the loader, and how many of the loops a TimeoutError ended."""
    got, late = [], 0
    while True:
        try:
            for one in loader:
                got.append(value(one))
        except penstock.TimeoutError:
            late += 1
        else:
            return got, late


@pytest.mark.parametrize("threads", [0, 2])
def test_the_loop_after_a_timeout_goes_on_at_the_same_place(fake, threads):
    loader = fake("steps=4&rows=1&delay=0.4")
    assert loader.schema
    loader._core.timeout = 0.1  # less than a batch takes
    loops = loader.map(lambda batch: int(batch["label"][0]), threads) if threads else loader
    got, late = through_timeouts(loops, value=int if threads else lambda batch: int(batch["label"][0]))
    assert got == [0, 1, 2, 3]
    assert late > 0


def test_the_mapped_loop_after_a_feeder_that_died_goes_on_at_the_same_place(fake):
    loader = fake("steps=5&rows=1&kill=3").map(lambda batch: int(batch["label"][0]), threads=2)
    got = []
    with pytest.raises(penstock.FeederDied):
        for label in loader:
            got.append(label)
    assert got == list(range(len(got)))
    assert loader.epoch == 0
    assert got + list(loader) == [0, 1, 2, 3, 4]
    assert list(loader) == [1000, 1001, 1002, 1003, 1004]


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


def test_two_loaders_interleaved_are_independent(fake):
    train, validation = fake("steps=4&rows=1"), fake("steps=2&rows=1")
    got = []
    for batch in train:
        got.append((int(batch["label"][0]), labels(validation)))
    assert got == [(n, [1000 * n, 1000 * n + 1]) for n in range(4)]
