"""Ctrl-C at any moment neither loses nor repeats a batch, nor leaks a slot or a feeder. These tests use the fake feeder."""

import collections
import gc
import json
import operator
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import penstock
from fixtures import children as all_children
from fixtures import eventually
from interrupting import Interrupt
from penstock._ahead import Work
from penstock._feeder import current_feeder
from penstock._map import AheadLoader

fields = operator.attrgetter("_fields")
before = set()  # children that earlier tests left


@pytest.fixture(autouse=True)
def children_of_earlier_tests():
    before.clear()
    before.update(all_children())


def children():
    return [child for child in all_children() if child not in before]


def lose(_):
    """Drops an interrupt that Python loses while it calls a finalizer. pytest would keep it, with all its frames."""


class Reading:
    """The batches of a loop. Only C code takes them, so the record is exact."""

    def __init__(self, keep=False):
        self.ended = False
        self._keep = keep  # batches live until they are counted; otherwise C code drops them
        self._seen = collections.deque()
        self._counted = []

    def go_on(self, loop):
        """Reads to the loop's end, or to an interrupt."""
        collections.deque(map(self._seen.append, loop if self._keep else map(fields, loop)), maxlen=0)
        self.ended = True

    @property
    def got(self):
        """Epoch and step of each batch. Must not be interrupted."""
        while self._seen:
            one = self._seen.popleft()
            self._counted.append((one.epoch, one.step))
        return self._counted


def nothing_is_held(loader):
    """Reads enough batches that the loader looks for missed releases. Expects that no batch is held."""
    for _ in range(30):
        collections.deque(loader, maxlen=0)
    gc.collect()
    assert eventually(lambda: loader.stats()["feeder_held_batches"] == 0), loader.stats()["feeder_held_batches"]
    assert current_feeder().releases.held == 0


class AsItIs(Work):
    def start(self, batch):
        return batch

    def finish(self, started):
        return started


@pytest.mark.parametrize("how", ["plain", "mapped", "on its turn"])
def test_an_interrupt_in_any_place_of_a_loop_neither_loses_a_batch_nor_leaks_a_slot(fake, how, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lose)
    base = fake("steps=3&rows=1")
    loader = {
        "plain": base,
        "mapped": base.map(lambda batch: batch, threads=2),
        "on its turn": AheadLoader(base, 0, lambda core: AsItIs()),  # begins no batch before its turn
    }[how]
    assert len(list(loader)) == 3
    threads = threading.active_count()
    number, epoch, over = 0, 0, False
    while not over:
        number, epoch, over = number + 1, epoch + 1, True
        reading, loop, place = Reading(), None, Interrupt(number)
        try:
            with place:
                loop = iter(loader)
                reading.go_on(loop)
        except KeyboardInterrupt:
            over = False
        while not reading.ended:
            try:
                loop = loop or iter(loader)
                reading.go_on(loop)
            except KeyboardInterrupt:  # the next batch raises an interrupt of a finalizer
                over = False
        assert reading.got == [(epoch, step) for step in range(3)], f"place {number}"
        over = over and not place.hit
    assert number > 100
    del loop
    nothing_is_held(loader)
    assert eventually(lambda: threading.active_count() <= threads)
    assert children() == [current_feeder().process_id]


def test_an_interrupt_in_any_place_of_a_seek_leaves_the_stream_at_the_start_of_an_epoch(fake, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lose)
    loader = fake("steps=3&rows=1")
    number, hit = 0, True
    while hit:
        number, hit, place = number + 1, False, Interrupt(number + 1)
        loop = iter(loader)
        try:
            left = next(loop)
        except KeyboardInterrupt:
            hit, left = True, next(loop)
        try:
            with place:  # leaves the loop in the middle, so the next one seeks
                batch = next(iter(loader))
        except KeyboardInterrupt:
            hit = True
            try:
                batch = next(iter(loader))
            except KeyboardInterrupt:
                batch = next(iter(loader))
        # A loop that was interrupted after its first batch has returned it.
        assert batch.step == 0, f"place {number}"
        assert batch.epoch in (left.epoch + 1, left.epoch + 2), f"place {number}"
        assert int(batch["label"][0]) == 1000 * batch.epoch, f"place {number}"
        hit = hit or place.hit
    assert number > 30


def test_an_interrupt_in_any_place_of_a_start_leaves_one_feeder(fake, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lose)
    number, hit = 0, True
    while hit:
        number += 1
        loader = fake("steps=2&rows=1")
        place = Interrupt(number)
        try:
            with place:
                len(loader)
        except KeyboardInterrupt:
            pass
        hit = place.hit
        assert len(list(loader)) == 2
        assert children() == [current_feeder().process_id], f"place {number}"
        if number % 10 == 0:  # otherwise the next loop uses the running feeder
            penstock.shutdown()
            assert children() == []
    assert number > 100


def test_a_start_that_is_interrupted_again_and_again_starts_one_feeder(fake, tmp_path, monkeypatch):
    """Without the check each start would leave a process that does not yet know that it is unused."""
    program, starts, go = tmp_path / "slow", tmp_path / "starts", tmp_path / "go"
    program.write_text(
        f'#!/bin/sh\necho >>"{starts}"\nuntil [ -e "{go}" ]; do sleep 0.01; done\n'
        f'exec "{os.environ["PENSTOCK_PROGRAM"]}" "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(program))

    def handler(*_):
        raise KeyboardInterrupt

    loader = fake("steps=2&rows=1")
    old = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(100):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                len(loader)
    finally:
        signal.signal(signal.SIGALRM, old)
    go.touch()
    assert len(list(loader)) == 2
    assert starts.read_text() == "\n"


# ---- Signals, at random times

CONSUMER = """
import collections, json, operator, signal, subprocess, sys
import penstock
from fixtures import eventually
from interrupts_test import Reading

INTERRUPTS, MAPPED, KEPT = int(sys.argv[1]), sys.argv[2] == "mapped", sys.argv[2] == "kept"
armed, hits, unraisable = [False], 0, []

def handler(*_):
    if armed[0]:
        armed[0] = False
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, handler)
sys.unraisablehook = lambda what: unraisable.append(what.exc_type.__name__)
base = penstock.Loader("fake?steps=50&rows=1", coordinator="x:1", memory=64 * 65536)
loader = base.map(lambda batch: batch, threads=2) if MAPPED else base
sender = subprocess.Popen([sys.executable, "-c", '''
import os, random, signal, time
while os.getppid() > 1:
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(random.random() * 0.0008)
'''])
epochs, loop, reading = 0, iter(loader), Reading(KEPT)
while hits < INTERRUPTS:
    try:
        armed[0] = True
        reading.go_on(loop)
        armed[0] = False
    except KeyboardInterrupt:
        hits += 1
    armed[0] = False
    if reading.ended:
        if reading.got != [(epochs, step) for step in range(50)]:
            sys.exit(f"epoch {epochs}: {reading.got}")
        epochs, loop, reading = epochs + 1, iter(loader), Reading(KEPT)
    reading.got
sender.kill()
sender.wait()
reading.go_on(loop)
if reading.got != [(epochs, step) for step in range(50)]:
    sys.exit(f"the last epoch: {reading.got}")
for _ in range(3):  # longer than from one sweep to the next
    for batch in loader:
        pass
del batch
eventually(lambda: base.stats()["feeder_held_batches"] == 0)
print(json.dumps({"hits": hits, "epochs": epochs, "held": base.stats()["feeder_held_batches"],
                  "kept": base._core.stream.feeder.releases.held, "unraisable": len(unraisable)}))
"""


@pytest.mark.parametrize(("how", "count"), [("plain", 10000), ("kept", 2000), ("mapped", 2000)])
def test_interrupts_at_random_times_neither_lose_a_batch_nor_leak_a_slot(fake, how, count):
    done = subprocess.run(
        [sys.executable, "-c", CONSUMER, str(count), how], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["hits"] == count
    assert result["held"] == 0
    assert result["kept"] == 0
    # The next batch raises an interrupt of a finalizer. Python loses an interrupt while it calls the finalizer.
    assert result["unraisable"] < count / 50


def test_ctrl_c_ends_a_wait_at_once(fake):
    script = (
        "import penstock, sys\n"
        "loader = penstock.Loader('fake?silent=1&notice=1', coordinator='x:1')\n"
        "loop = iter(loader)\n"
        "next(loop)\n"
        "try:\n"
        "    next(loop)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        # The waiting process itself reports the wait.
        assert any("rows of worker w1" in line for line in process.stderr)
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the feeder has its own session
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begin < 5
