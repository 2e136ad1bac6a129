"""Handles Ctrl-C while a framework's thread waits for a batch, and the main thread waits for that thread.

Python runs signal handlers on the main thread only. The main thread is inside the framework and does not return before
the batch arrives. But Python's C code writes a byte to a wakeup descriptor for each signal, and every thread can read it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from typing import ClassVar, List, Optional

from ._errors import PenstockError


class Interrupted(PenstockError):
    """Ctrl-C has ended the loop."""


class _Watch:
    reader: Optional[socket.socket] = None
    writer: Optional[socket.socket] = None
    pid = 0
    seen: ClassVar[List[int]] = []  # one entry for each Ctrl-C


_thread = threading.local()


def watch() -> None:
    """Makes `check` detect Ctrl-C from now on. A child of `os.fork` has to call it again. No effect on other threads than
    the main thread, or if other code uses the wakeup descriptor.
    """
    if _Watch.pid == os.getpid() or threading.current_thread() is not threading.main_thread():
        return
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    parents = (_Watch.reader, _Watch.writer)  # a parent process has made them, if there was a fork
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    if before != -1 and (parents[1] is None or before != parents[1].fileno()):
        signal.set_wakeup_fd(before)
        reader.close()
        writer.close()
        return
    _Watch.reader, _Watch.writer, _Watch.pid = reader, writer, os.getpid()
    for end in parents:
        if end is not None:
            end.close()


class _EndsWaits:
    def __enter__(self) -> None:
        _take()
        _thread.seen_before = len(_Watch.seen)

    def __exit__(self, *_: object) -> None:
        _thread.seen_before = None


_ends_waits = _EndsWaits()


def ends_waits() -> _EndsWaits:
    """Returns a context in which a later Ctrl-C makes `check` raise on this thread."""
    return _ends_waits


def check() -> None:
    """Raises if Ctrl-C was pressed and would raise KeyboardInterrupt on the main thread, which waits for this one."""
    before: Optional[int] = getattr(_thread, "seen_before", None)
    if before is None:
        return
    _take()
    if len(_Watch.seen) > before and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        raise Interrupted("interrupted by Ctrl-C while waiting for a batch")


def _take() -> None:
    reader = _Watch.reader
    if reader is None or _Watch.pid != os.getpid():
        return
    with contextlib.suppress(OSError):
        _Watch.seen.extend(number for number in reader.recv(4096) if number == signal.SIGINT)
