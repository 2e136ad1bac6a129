"""Batches made into something else, ahead of the loop: own Python on threads (Loader.map), copies to a device."""

from __future__ import annotations

import _thread
import threading
import weakref
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generic, Iterator, NamedTuple, Optional, Tuple, TypeVar

from ._deadline import Deadline
from ._errors import ConfigurationError, PenstockError, TimeoutError
from ._schema_types import Column
from ._stream import Mark, Offer

if TYPE_CHECKING:
    from ._batch import Batch
    from ._loader import BaseLoader

_PIECE = 0.2  # of a wait

U = TypeVar("U")
S = TypeVar("S", bound="AheadLoader[Any]")


class Work(Generic[U]):
    """What one loop does with its batches: `start` in their order, `finish` when a batch's turn has come."""

    def start(self, batch: Batch) -> Any:
        raise NotImplementedError

    def finish(self, started: Any) -> U:
        raise NotImplementedError


class AheadLoader(Generic[U]):
    """A loader over a loader. Its states count what its own loop has received: save those, not the inner loader's."""

    def __init__(self, loader: BaseLoader[Batch], depth: int) -> None:
        self._loader = loader
        self._depth = depth  # batches that are started before they are due
        self._offer: Optional[_AheadOffer] = None  # the last one of a loop
        self._loop: Optional[weakref.ref[AheadLoop[U]]] = None

    def _work(self) -> Work[U]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[U]:
        """One loop, as Loader's."""
        loop = AheadLoop(self)
        self._loop = weakref.ref(loop)
        return map(deque.popleft, iter(loop.prepare, None))

    def __len__(self) -> int:
        return len(self._loader)

    @property
    def schema(self) -> Dict[str, Column]:
        return self._loader.schema

    @property
    def batch_size(self) -> int:
        return self._loader.batch_size

    @property
    def rank(self) -> int:
        return self._loader.rank

    @property
    def world_size(self) -> int:
        return self._loader.world_size

    @property
    def epoch(self) -> int:
        offer = self._offer
        if offer is None:
            return self._loader.epoch
        mark = offer.mark
        loop = self._loop() if self._loop is not None else None
        return mark.epoch + 1 if mark.last or (loop is None and mark.received) else mark.epoch

    def state_dict(self) -> Dict[str, Any]:
        state = self._loader.state_dict()
        if self._offer is not None:
            state["state"] = self._offer.mark.state
        return state

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._loader.load_state_dict(state)
        self._offer = None
        self._loop = None

    def stats(self) -> Dict[str, float]:
        return self._loader.stats()

    def close(self) -> None:
        self._loader.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        """The loader goes where this one's last loop ended: it was ahead of it."""
        if self._offer is None:
            return
        mark = self._offer.mark
        if mark.received and not mark.last:
            self._loader._go_to({"epoch": mark.epoch + 1})
        elif mark.state != self._loader.state_dict()["state"]:
            self._loader._go_to({"state": mark.state})
        self._offer = None


class _Started(NamedTuple):
    number: int
    what: Any
    source: Offer


class _AheadOffer(Offer):
    __slots__ = ("source",)

    def __init__(self, before: Mark, started: _Started, value: Any) -> None:
        super().__init__(0, started.number, before, started.source.after, None, deque((value,)))
        self.source = started.source


class AheadLoop(Generic[U]):
    def __init__(self, ahead: AheadLoader[U]) -> None:
        self._ahead = ahead
        self._work = ahead._work()
        self._started: Deque[_Started] = deque()
        self._source: Optional[Callable[[], Optional[Deque[Batch]]]] = None
        self._ended = False

    def prepare(self) -> Optional[Deque[U]]:
        """As Loop.prepare."""
        ahead = self._ahead
        ahead._loader._check_process()
        if ahead._loop is None or ahead._loop() is not self:
            raise PenstockError("this loop is over: another one over the same loader was begun, or a state was loaded")
        if self._source is None:
            ahead._begin()
            self._source = ahead._loader._new_loop().prepare
        offer = ahead._offer
        if offer is not None and offer.ready:
            return offer.ready
        started = self._started
        while offer is not None and started and started[0].number <= offer.sequence:
            started.popleft()
        while len(started) <= ahead._depth and not self._ended:
            self._start(self._source)
        if not started:
            return None
        first = started[0]
        value = self._work.finish(first.what)
        before = offer.mark if offer is not None else first.source.before
        offer = _AheadOffer(before, first, value)
        ahead._offer = offer
        return offer.ready

    def _start(self, source: Callable[[], Optional[Deque[Batch]]]) -> None:
        """The next batch is begun. It is taken from the loader last, so that an interrupt loses nothing."""
        ready = source()
        if ready is None:
            self._ended = True
            return
        started, last, offer = self._started, self._ahead._offer, self._ahead._loader._offered()
        newest = started[-1].source if started else last.source if last is not None else None
        if newest is not offer:
            number = 1 + (started[-1].number if started else last.sequence if last is not None else -1)
            started.append(_Started(number, self._work.start(ready[0]), offer))
        ready.popleft()


class MappedLoader(AheadLoader[U]):
    """See Loader.map."""

    def __init__(self, loader: BaseLoader[Batch], function: Callable[[Batch], U], threads: int) -> None:
        if threads < 1:
            raise ConfigurationError(f"threads={threads}: at least 1")
        super().__init__(loader, threads)
        self._function = function

    def _work(self) -> Work[U]:
        return _OnThreads(self._function, self._depth, self._loader._timeout)


class _Task:
    """A batch for a thread, and what came of it: (error, value)."""

    __slots__ = ("batch", "done", "outcome")

    def __init__(self, batch: Batch) -> None:
        self.batch: Deque[Batch] = deque((batch,))
        self.outcome: Deque[Tuple[Optional[BaseException], Any]] = deque()
        self.done = threading.Lock()  # taken until there is an outcome
        self.done.acquire()


class _OnThreads(Work[U]):
    """Not concurrent.futures, whose locks a signal's exception can leave taken: queue and locks here are C code's."""

    def __init__(self, function: Callable[[Batch], U], threads: int, timeout: float) -> None:
        self._timeout = timeout
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        # When this is gone, its reference is the last thing in the queue.
        over = weakref.ref(self, self._tasks.put)
        self._start_threads = (_start_threads, (threads, function, self._tasks, over))
        self._started: Deque[int] = deque()

    def start(self, batch: Batch) -> _Task:
        if not self._started:
            start, arguments = self._start_threads
            self._started.extend(map(_thread.start_new_thread, (start,), (arguments,)))
        task = _Task(batch)
        self._tasks.put(task)
        return task

    def finish(self, started: _Task) -> U:
        if not started.outcome:
            self._wait(started)
        error, value = started.outcome[0]
        if error is None:
            result: U = value
            return result
        if isinstance(error, StopIteration):  # would end the loop without a word
            raise RuntimeError("the function given to map() raised StopIteration") from error
        try:
            raise error
        finally:
            del error  # else it keeps its own traceback

    def _wait(self, started: _Task) -> None:
        deadline = Deadline(self._timeout)
        while not started.outcome:
            left = deadline.left
            if left <= 0:
                raise TimeoutError(
                    f"the function given to map() has not ended after {self._timeout:.0f} s (timeout=)", "DEADLINE_EXCEEDED"
                )
            # In pieces: a signal that came to another thread is seen by this one only when it wakes up.
            started.done.acquire(timeout=min(left, _PIECE))


def _start_threads(threads: int, function: Any, tasks: SimpleQueue[Any], over: Any) -> None:
    """On a thread of its own: a start that is interrupted can leave a thread that never runs."""
    for number in range(threads):
        threading.Thread(target=_run, args=(function, tasks, over), name=f"penstock-map_{number}", daemon=True).start()


def _run(function: Any, tasks: SimpleQueue[Any], over: Any) -> None:
    """What a thread does, until the loop is over."""
    while True:
        task = tasks.get()
        if task is over:
            tasks.put(over)  # for the other threads
            return
        if over() is not None:
            _do(function, task)
        del task  # and with it the batch, while nothing is to be done


def _do(function: Any, task: _Task) -> None:
    try:
        task.outcome.append((None, function(task.batch.popleft())))
    except BaseException as error:
        task.outcome.append((error, None))
    task.done.release()
