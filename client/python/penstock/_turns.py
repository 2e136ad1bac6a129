"""Limits a loop to one thread at a time."""

from __future__ import annotations

from _thread import get_ident
from typing import Any, Deque, Dict, Optional

from ._errors import PenstockError


class Turns:
    """A context of one thread at a time. A second thread gets an error at once.

    A thread's turn ends when the thread has left the context and has taken the batch that it got there. Then another
    thread may enter. After a KeyboardInterrupt the context may stay entered. The same thread can enter it again.
    """

    __slots__ = ("_given", "_inside", "_thread")

    def __init__(self) -> None:
        self._inside: Dict[str, int] = {}
        self._given: Optional[Deque[Any]] = None  # for _thread; empty after it has taken the batch
        self._thread = 0

    def __enter__(self) -> None:
        me = get_ident()
        # A single call of C code checks and enters, so that no other thread can enter between the two.
        if self._inside.setdefault("thread", me) == me:
            if not self._given or self._thread == me:
                return
            del self._inside["thread"]
        raise PenstockError(
            "another thread is in a loop over this loader: a loop is for one thread at a time. Take batches on one thread and "
            "give them to others through a queue"
        )

    def give(self, batch: Deque[Any]) -> None:
        """Sets the batch that the context's thread takes afterwards."""
        self._thread = get_ident()
        self._given = batch

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._given = None
        del self._inside["thread"]
