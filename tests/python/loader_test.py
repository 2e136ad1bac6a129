"""The life of a loader: its first use, pickling, its end, and its numbers. These tests use the fake feeder."""

import logging
import pickle

import pytest

import penstock
from fixtures import labels


def test_nothing_starts_before_the_first_use_and_a_loader_is_pickled_until_then(fake):
    import penstock._feeder as feeder

    loader = fake("steps=2&rows=1")
    assert feeder.current_feeder() is None
    copy = pickle.loads(pickle.dumps(loader))
    assert labels(copy) == [0, 1]
    with pytest.raises(TypeError, match="Pickle it before its first use"):
        pickle.dumps(copy)
    assert labels(loader) == [0, 1]


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


def test_a_notice_is_a_warning_of_the_logger_penstock(fake, caplog):
    with caplog.at_level(logging.WARNING, "penstock"):
        assert labels(fake("steps=2&rows=1&notice=1")) == [0, 1]
    assert [r.getMessage() for r in caplog.records] == ["waiting 3 s: rows of worker w1"]
