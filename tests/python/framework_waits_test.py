"""Ctrl-C while a thread of a framework waits for a batch (penstock._interrupts)."""

import contextlib
import os
import signal
import socket
import threading
import time

import pytest

import penstock
from fixtures import Notices
from penstock import _interrupts


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(_interrupts._Watch, "pid", 0)
    before = signal.set_wakeup_fd(-1)
    _interrupts.watch()
    yield
    signal.set_wakeup_fd(before)


class Waiting(threading.Thread):
    """A thread that waits for a batch that never arrives. The constructor returns after the wait's first notice."""

    def __init__(self, fake):
        super().__init__(daemon=True)
        self.loader, self.error = fake("silent=0&notice=0"), None
        with Notices() as notices:
            self.start()
            assert notices.wait()

    def run(self):
        try:
            with _interrupts.ends_waits():
                next(iter(self.loader))
        except penstock.PenstockError as error:
            self.error = error


def ctrl_c(wait):
    os.kill(os.getpid(), signal.SIGINT)
    wait(20)


def test_ctrl_c_ends_a_wait_of_another_thread(fake, watched):
    waiting = Waiting(fake)
    with pytest.raises(KeyboardInterrupt):
        ctrl_c(waiting.join)
    waiting.join(20)
    assert isinstance(waiting.error, _interrupts.Interrupted)


def test_a_handler_that_goes_on_is_not_cut_short(fake, watched):
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        waiting = Waiting(fake)
        os.kill(os.getpid(), signal.SIGINT)
        waiting.join(1.5)
        assert seen == [signal.SIGINT]
        assert waiting.is_alive()
        waiting.loader.close()
        waiting.join(20)
        assert "closed" in str(waiting.error)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_came_before_a_wait_does_not_end_it(fake, watched):
    with pytest.raises(KeyboardInterrupt):
        ctrl_c(time.sleep)
    with _interrupts.ends_waits():
        _interrupts.check()


def test_other_waits_are_pythons_own(fake, watched):
    with pytest.raises(KeyboardInterrupt), _interrupts.ends_waits():
        ctrl_c(time.sleep)
    _interrupts.check()
    assert [int(batch["label"][0]) for batch in fake("steps=2&rows=1&delay=0.3")] == [0, 1]


def test_a_forked_child_watches_too(watched):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _interrupts.watch()
            with _interrupts.ends_waits():
                with contextlib.suppress(KeyboardInterrupt):
                    ctrl_c(time.sleep)
                with contextlib.suppress(_interrupts.Interrupted):
                    _interrupts.check()
                    code = 2
                code -= 1
        finally:
            os._exit(code)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 0


def test_somebody_elses_wakeup_descriptor_is_left_alone(monkeypatch):
    monkeypatch.setattr(_interrupts._Watch, "pid", 0)
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    before = signal.set_wakeup_fd(ours.fileno())
    try:
        _interrupts.watch()
        assert signal.set_wakeup_fd(-1) == ours.fileno()
    finally:
        signal.set_wakeup_fd(before)
        ours.close()
        theirs.close()
