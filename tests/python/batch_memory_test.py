"""The life of a batch's memory, and its release to the feeder. These tests use the fake feeder."""
# ruff: noqa: PT012

import gc

import pytest

import penstock
from fixtures import held, labels


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
    """The fake feeder overwrites released memory."""
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
