"""The turn of a thread that asks a loader's stream."""

from __future__ import annotations

import threading

from . import _interrupts
from ._deadline import PIECE, Deadline

_INTERRUPTED_AFTER = 30.0  # seconds; a longer call of the main thread counts as interrupted


class Late(Exception):
    """The deadline has passed."""


class Ask:
    """Marks a thread in Stream.ask. `over` is locked until the call ends."""

    __slots__ = ("over", "thread")

    def __init__(self) -> None:
        self.over = threading.Lock()
        self.over.acquire()
        self.thread = threading.current_thread()

    def let_end(self, deadline: Deadline) -> None:
        """Waits until the call ends, so that this thread may read the socket. Raises Late at the deadline.

        For a call of the main thread, waits for at most _INTERRUPTED_AFTER instead, and then assumes that Ctrl-C
        interrupted the call.
        """
        while self.thread is not threading.current_thread() and self.thread.is_alive():
            # Ctrl-C may interrupt the main thread before it records the end, but no other thread.
            interruptible = self.thread is threading.main_thread()
            left = _INTERRUPTED_AFTER if interruptible else deadline.left
            if left <= 0:
                raise Late
            if self.over.acquire(timeout=left if interruptible else min(left, PIECE)) or interruptible:
                return
            _interrupts.check()
