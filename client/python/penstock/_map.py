"""Own Python on whole batches, ahead of the loop."""

from __future__ import annotations

import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Generic, Iterator, NamedTuple, Optional, TypeVar

from ._errors import ConfigurationError, PenstockError, TimeoutError
from ._stream import Offer

if TYPE_CHECKING:
    from ._loader import BaseLoader

    _AnyFuture = Future[Any]
else:
    _AnyFuture = Future

U = TypeVar("U")


class MappedLoader(Generic[U]):
    """See Loader.map. Its states count what its own loop has received, so save those, not the loader's."""

    def __init__(self, loader: BaseLoader[Any], function: Callable[[Any], U], threads: int) -> None:
        if threads < 1:
            raise ConfigurationError(f"threads={threads}: at least 1")
        self._loader = loader
        self._function = function
        self._threads = threads
        self._offer: Optional[Offer] = None  # the last one of a loop
        self._loop: Optional[weakref.ref[MappedLoop[U]]] = None

    def __iter__(self) -> Iterator[U]:
        """As the loader's."""
        loop = MappedLoop(self)
        self._loop = weakref.ref(loop)
        return map(deque.popleft, iter(loop.prepare, None))

    def __len__(self) -> int:
        return len(self._loader)

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

    def __enter__(self) -> MappedLoader[U]:
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


class _Work(NamedTuple):
    number: int
    future: _AnyFuture
    source: Offer


class MappedLoop(Generic[U]):
    def __init__(self, mapped: MappedLoader[U]) -> None:
        self._mapped = mapped
        self._executor = ThreadPoolExecutor(mapped._threads, thread_name_prefix="penstock-map")
        self._work: Deque[_Work] = deque()
        self._source: Optional[Callable[[], Optional[Deque[Any]]]] = None
        self._ended = False

    def __del__(self) -> None:
        self._executor.shutdown(wait=False)

    def prepare(self) -> Optional[Deque[U]]:
        """As Loop.prepare."""
        mapped = self._mapped
        if mapped._loop is None or mapped._loop() is not self:
            raise PenstockError("this loop is over: another one over the same loader was begun, or a state was loaded")
        if self._source is None:
            mapped._begin()
            self._source = mapped._loader._new_loop().prepare
        offer = mapped._offer
        if offer is not None and offer.ready:
            return offer.ready
        work = self._work
        while offer is not None and work and work[0].number <= offer.sequence:
            work.popleft()
        while len(work) <= mapped._threads and not self._ended:
            self._submit(self._source)
        if not work:
            return None
        first = work[0]
        try:
            value = first.future.result(mapped._loader._timeout)
        except FutureTimeout:
            if first.future.done():
                raise  # the function's own
            raise TimeoutError(
                f"the function given to map() has not ended after {mapped._loader._timeout:.0f} s (timeout=)"
            ) from None
        before = offer.mark if offer is not None else first.source.before
        offer = Offer(0, first.number, before, first.source.after, None, deque((value,)))
        mapped._offer = offer
        return offer.ready

    def _submit(self, source: Callable[[], Optional[Deque[Any]]]) -> None:
        """The next batch becomes work. It is taken from the loader last, so that an interrupt loses nothing."""
        ready = source()
        if ready is None:
            self._ended = True
            return
        work, offer = self._work, self._mapped._loader._offered()
        if not work or work[-1].source is not offer:
            last = self._mapped._offer
            number = 1 + (work[-1].number if work else last.sequence if last is not None else -1)
            work.append(_Work(number, self._executor.submit(self._mapped._function, ready[0]), offer))
        ready.popleft()
