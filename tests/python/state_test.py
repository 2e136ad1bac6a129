"""A saved state continues exactly after the last batch that the loop received. These tests use the fake feeder."""

import pickle

import pytest

import penstock
from fixtures import eventually, labels


@pytest.mark.parametrize("seen", range(8))
def test_a_restored_loader_gives_exactly_what_the_loop_had_not_received(fake, seen):
    whole = fake("steps=3&rows=1", epochs=3)
    want = labels(whole)
    first = fake("steps=3&rows=1", epochs=3)
    loop = iter(first)
    got = [int(next(loop)["label"][0]) for _ in range(seen)]
    if seen > 0:
        assert eventually(lambda: first.stats()["feeder_held_batches"] == 1)  # the state excludes prefetched batches
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = fake("steps=3&rows=1", epochs=3)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert got + labels(second) == want
    # A loader that has already begun also continues there.
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
        with pytest.raises(penstock.ConfigurationError, match="not a state of a penstock.Loader"):
            fake().load_state_dict(wrong)
