"""Runs a function of the user on threads, once for each batch."""

from __future__ import annotations

import _thread
import threading
import weakref
from collections import deque
from queue import SimpleQueue
from typing import Any, Callable, Deque, Optional, Tuple, TypeVar

from ._ahead import Work
from ._deadline import Deadline
from ._errors import TimeoutError

_PIECE = 0.2  # seconds between two checks of a wait

U = TypeVar("U")


class Task:
    """The input of a thread, such as a batch, and its outcome: (None, value), or (error, its traceback)."""

    __slots__ = ("done", "given", "outcome")

    def __init__(self, given: Any) -> None:
        self.given: Deque[Any] = deque((given,))
        self.outcome: Deque[Tuple[Optional[BaseException], Any]] = deque()
        self.done = threading.Lock()  # locked until there is an outcome
        self.done.acquire()


class OnThreads(Work[U]):
    """Calls a function for each batch, on threads of one loop.

    concurrent.futures is not suitable: a signal's exception can leave its locks locked. This queue and these locks are
    C code.
    """

    def __init__(self, function: Callable[[Any], U], threads: int, timeout: float) -> None:
        self._timeout = timeout
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        # When this object is destroyed, its reference becomes the last item in the queue.
        over = weakref.ref(self, self._tasks.put)
        self._start_threads = (_start_threads, (threads, function, self._tasks, over))
        self._started: Deque[int] = deque()

    def start(self, batch: Any) -> Task:
        if not self._started:
            start, arguments = self._start_threads
            self._started.extend(map(_thread.start_new_thread, (start,), (arguments,)))
        task = Task(batch)
        self._tasks.put(task)
        return task

    def finish(self, started: Task) -> U:
        if not started.outcome:
            self._wait(started)
        error, value = started.outcome[0]
        if error is None:
            result: U = value
            return result
        error.__traceback__ = value  # otherwise it has the frames of an earlier raise too
        if isinstance(error, StopIteration):  # it would end the loop silently
            raise RuntimeError("the function given to map() raised StopIteration") from error
        try:
            raise error
        finally:
            del error  # otherwise its traceback keeps it alive

    def _wait(self, started: Task) -> None:
        deadline = Deadline(self._timeout)
        while not started.outcome:
            left = deadline.left
            if left <= 0:
                raise TimeoutError(
                    f"the function given to map() has not ended after {self._timeout:.0f} s (timeout=)", "DEADLINE_EXCEEDED"
                )
            # Wait in pieces: this thread sees a signal that another thread received only when it wakes up.
            started.done.acquire(timeout=min(left, _PIECE))


def _start_threads(threads: int, function: Any, tasks: SimpleQueue[Any], over: Any) -> None:
    """Runs on its own thread, because an interrupted start can leave a thread that never runs."""
    for number in range(threads):
        threading.Thread(target=_run, args=(function, tasks, over), name=f"penstock-map_{number}", daemon=True).start()


def _run(function: Any, tasks: SimpleQueue[Any], over: Any) -> None:
    """Runs tasks until the loop is over."""
    while True:
        task = tasks.get()
        if task is over:
            tasks.put(over)  # for the other threads
            return
        if over() is not None:
            _do(function, task)
        del task  # releases the batch before the next wait


def _do(function: Any, task: Task) -> None:
    try:
        task.outcome.append((None, function(task.given.popleft())))
    except BaseException as error:
        task.outcome.append((error, error.__traceback__))
    task.done.release()
