"""Loaders over a loader. They start work on batches, such as a copy to a device or the user's function, ahead of the loop."""

from __future__ import annotations

import contextlib
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Deque, Dict, Generic, NamedTuple, Optional, TypeVar, Union

from ._core import Core
from ._errors import MachineError, PenstockError, TimeoutError
from ._loop import Loop
from ._stream import Mark, Offer
from ._tracebacks import shorten
from ._turns import Turns

if TYPE_CHECKING:
    from ._batch import Batch
    from ._description import Facts

U = TypeVar("U")


class Work(Generic[U]):
    """The work of one loop on its batches: `start` in their order, and `finish` when a batch is due."""

    def start(self, batch: Batch) -> Any:
        """Starts the work on a batch. Returns the argument for `finish`."""
        raise NotImplementedError

    def finish(self, started: Any) -> U:
        """Returns the result for the loop."""
        raise NotImplementedError

    def surroundings(self) -> Callable[[], ContextManager[Any]]:
        """Returns a function that creates context managers. Another thread enters one before it calls `finish`."""
        return contextlib.nullcontext


MakeWork = Callable[[Core], Work[Any]]


class Started(NamedTuple):
    """A batch whose work has started."""

    number: int
    what: Any
    source: Offer


class AheadOffer(Offer):
    """A finished batch for the loop. `source` is the offer of the loader below."""

    __slots__ = ("source",)

    def __init__(self, before: Mark, started: Started, value: Any) -> None:
        super().__init__(0, started.number, before, started.source.after, None, deque((value,)))
        self.source = started.source


class Failed(NamedTuple):
    """A loop that a machine's error or a timeout ended after `offer`."""

    offer: Optional[AheadOffer]
    work: Work[Any]
    started: Deque[Started]
    source: Callable[[], Deque[Batch]]
    ended: bool


class Ahead:
    """The place of a loader over another one. Its states count the batches that its own loop has received."""

    def __init__(self, source: Union[Core, Ahead], depth: int, make_work: MakeWork) -> None:
        self._before = source if isinstance(source, Ahead) else None
        self.core: Core = source.core if isinstance(source, Ahead) else source
        #: The number of batches whose work starts before they are due.
        self.depth: int = depth + (source.depth if isinstance(source, Ahead) else 0)
        self.make_work = make_work
        self.turns = Turns()
        self.offer: Optional[AheadOffer] = None  # the last offer to a loop
        self.failed: Optional[Failed] = None  # the last loop, if such an error ended it
        self._loop: Optional[weakref.ref[AheadLoop]] = None

    def enter(self, loop: AheadLoop) -> None:
        """Makes this the current loop. Ends an earlier loop."""
        self._loop = weakref.ref(loop)

    def check_loop(self, loop: AheadLoop) -> None:
        """Raises PenstockError if another loop has started since, or if the loader cannot be read here."""
        self.core.check_open()
        if self._loop is None or self._loop() is not loop:
            raise PenstockError("this loop is over: another one over the same loader was begun, or a state was loaded")

    def to_continue(self) -> Optional[Failed]:
        """Returns the loop that failed, unless a loop has received a batch since."""
        failed = self.failed
        return failed if failed is not None and failed.offer is self.offer else None

    def begin(self) -> None:
        """Moves the core back from the place of the started work to the end of this loader's last loop."""
        if self.offer is None:
            if self._before is not None:
                self._before.begin()
            return
        mark = self.offer.mark
        if mark.received and not mark.last:
            self.core.go_to({"epoch": mark.epoch + 1})
        elif mark.state != self.core.state()["state"]:
            self.core.go_to({"state": mark.state})
        self.offer = None

    # Until its first batch, a loader is at the place of the loader below it.

    def epoch(self) -> int:
        """Returns the epoch of the current loop, otherwise the epoch in which the next loop starts."""
        if self.offer is not None:
            return self._epoch_of(self.offer.mark)
        return self._before.epoch() if self._before is not None else self.core.epoch()

    def present_epoch(self) -> Optional[int]:
        """Returns the epoch of the current loop's batch, or else that of the next loop. Moves nothing. Returns None for a
        loaded state that was not used yet.
        """
        if self.offer is not None and self._loop is not None and self._loop() is not None:
            return self.offer.mark.epoch
        return self.facts().epoch

    def _epoch_of(self, mark: Mark) -> int:
        loop = self._loop() if self._loop is not None else None
        left = loop is None and mark.received and self.to_continue() is None
        return mark.epoch + 1 if mark.last or left else mark.epoch

    def facts(self) -> Facts:
        """Returns the known facts of the loader. Starts nothing and changes nothing."""
        facts = self.core.facts()
        return facts._replace(epoch=self._epoch_of(self.offer.mark)) if self.offer is not None else facts

    def state(self) -> Dict[str, Any]:
        """Returns the state after the last batch that a loop received, or the loaded state."""
        if self.offer is None:
            return self._before.state() if self._before is not None else self.core.state()
        return {**self.core.state(), "state": self.offer.mark.state}

    def load_state(self, state: Dict[str, Any]) -> None:
        """Makes the next loop continue after a state."""
        if self._before is not None:
            self._before.load_state(state)
        else:
            self.core.load_state(state)
        self.offer = None
        self.failed = None
        self._loop = None


class AheadLoop:
    """One loop over an `Ahead`."""

    def __init__(self, ahead: Ahead) -> None:
        self._ahead = ahead
        self._work = ahead.make_work(ahead.core)
        self._started: Deque[Started] = deque()
        self._source: Optional[Callable[[], Deque[Batch]]] = None
        self._ended = False
        ahead.enter(self)

    def prepare(self) -> Deque[Any]:
        """Does what Loop.prepare does."""
        ahead = self._ahead
        try:
            with ahead.turns:
                try:
                    ready = self._prepare(ahead)
                    ahead.turns.give(ready)
                    return ready
                except (MachineError, TimeoutError):
                    if self._source is not None:
                        ahead.failed = Failed(ahead.offer, self._work, self._started, self._source, self._ended)
                    raise
        except Exception as error:
            if not shorten(error):
                raise
            raise error  # PENSTOCK_TRACEBACK=full shows the frames below

    def _prepare(self, ahead: Ahead) -> Deque[Any]:
        ahead.check_loop(self)
        failed = ahead.to_continue() if self._source is None else None
        if failed is not None:
            # This loop takes over the started batches.
            self._work, self._started, self._ended = failed.work, failed.started, failed.ended
            self._source = failed.source
        elif self._source is None:
            ahead.begin()
            self._source = Loop(ahead.core).prepare
        offer = ahead.offer
        if offer is not None and offer.ready:
            return offer.ready
        started = self._started
        while offer is not None and started and started[0].number <= offer.sequence:
            started.popleft()
        while len(started) <= ahead.depth and not self._ended:
            self._start(self._source)
        if not started:
            raise StopIteration
        first = started[0]
        value = self._work.finish(first.what)
        before = offer.mark if offer is not None else first.source.before
        offer = AheadOffer(before, first, value)
        ahead.offer = offer
        return offer.ready

    def _start(self, source: Callable[[], Deque[Batch]]) -> None:
        """Starts the work on the next batch. Removes the batch from the loader last, so that an interrupt loses nothing."""
        try:
            ready = source()
        except StopIteration:
            self._ended = True
            return
        started, last, offer = self._started, self._ahead.offer, self._ahead.core.offered()
        newest = started[-1].source if started else last.source if last is not None else None
        if newest is not offer:
            number = 1 + (started[-1].number if started else last.sequence if last is not None else -1)
            started.append(Started(number, self._work.start(ready[0]), offer))
        ready.popleft()
