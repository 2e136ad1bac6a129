"""Batches made into something else, ahead of the loop: own Python on threads (Loader.map), copies to a device."""

from __future__ import annotations

import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generic, Iterator, NamedTuple, Optional, TypeVar

from ._errors import ConfigurationError, PenstockError, TimeoutError
from ._schema_types import Column
from ._stream import Offer

if TYPE_CHECKING:
    from ._batch import Batch
    from ._loader import BaseLoader

U = TypeVar("U")
S = TypeVar("S", bound="AheadLoader[Any]")


class Work(Generic[U]):
    """What one loop does with its batches: `start` in their order, `finish` when a batch's turn has come."""

    def start(self, batch: Batch) -> Any:
        raise NotImplementedError

    def finish(self, started: Any) -> U:
        raise NotImplementedError

    def close(self) -> None:
        """The loop is over. Never waits."""


class AheadLoader(Generic[U]):
    """A loader over a loader. Its states count what its own loop has received: save those, not the inner loader's."""

    def __init__(self, loader: BaseLoader[Batch], depth: int) -> None:
        self._loader = loader
        self._depth = depth  # batches that are started before they are due
        self._offer: Optional[Offer] = None  # the last one of a loop
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


class AheadLoop(Generic[U]):
    def __init__(self, ahead: AheadLoader[U]) -> None:
        self._ahead = ahead
        self._work = ahead._work()
        self._started: Deque[_Started] = deque()
        self._source: Optional[Callable[[], Optional[Deque[Batch]]]] = None
        self._ended = False

    def __del__(self) -> None:
        if hasattr(self, "_work"):
            self._work.close()

    def prepare(self) -> Optional[Deque[U]]:
        """As Loop.prepare."""
        ahead = self._ahead
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
        offer = Offer(0, first.number, before, first.source.after, None, deque((value,)))
        ahead._offer = offer
        return offer.ready

    def _start(self, source: Callable[[], Optional[Deque[Batch]]]) -> None:
        """The next batch is begun. It is taken from the loader last, so that an interrupt loses nothing."""
        ready = source()
        if ready is None:
            self._ended = True
            return
        started, offer = self._started, self._ahead._loader._offered()
        if not started or started[-1].source is not offer:
            last = self._ahead._offer
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


class _OnThreads(Work[U]):
    def __init__(self, function: Callable[[Batch], U], threads: int, timeout: float) -> None:
        self._function = function
        self._timeout = timeout
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="penstock-map")

    def start(self, batch: Batch) -> Future[U]:
        return self._executor.submit(self._function, batch)

    def finish(self, started: Future[U]) -> U:
        try:
            return started.result(self._timeout)
        except FutureTimeout:
            if started.done():
                raise  # the function's own
            raise TimeoutError(
                f"the function given to map() has not ended after {self._timeout:.0f} s (timeout=)", "DEADLINE_EXCEEDED"
            ) from None

    def close(self) -> None:
        self._executor.shutdown(wait=False)
