"""Loops and calls in several threads. These tests use the fake feeder."""

import contextlib
import sys
import threading
import time

import pytest

import penstock
from fixtures import Notices, eventually, labels
from penstock import _ask


@pytest.mark.parametrize("threads", [0, 2])
def test_a_second_thread_in_a_loop_gets_an_error_at_once(fake, threads):
    inner = fake("steps=3&rows=1&silent=1")
    loader = inner.map(lambda batch: batch, threads) if threads else inner
    loop = iter(loader)
    ended = []

    def first():
        try:
            for _ in loop:
                pass
        except penstock.PenstockError as error:
            ended.append(str(error))

    thread = threading.Thread(target=first)
    thread.start()
    try:
        assert eventually(lambda: (stream := inner._core.stream) is not None and stream.offer.sequence == 0 and stream._busy)
        for other in (loop, iter(loader)):
            with pytest.raises(penstock.PenstockError, match="another thread is in a loop over this loader"):
                next(other)
        assert thread.is_alive()
    finally:
        loader.close()
        thread.join()
    assert ended == ["this loader was closed"]


def test_threads_that_use_one_loop_get_each_batch_once(fake):
    loop = iter(fake("steps=200&rows=1"))
    got = []

    def read():
        while True:
            try:
                got.append(int(next(loop)["label"][0]))
            except StopIteration:
                return
            except penstock.PenstockError:
                pass  # another thread is in the loop

    threads = [threading.Thread(target=read) for _ in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(got) == list(range(200))


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
    """With 0.0, the time for threads that may have been interrupted is already over while others are suspended."""
    if request.param is not None:
        monkeypatch.setattr(_ask, "_INTERRUPTED_AFTER", request.param)


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
