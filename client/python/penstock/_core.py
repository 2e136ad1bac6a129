"""The common part of all loaders: the stream of one job, and the place where its next loop starts."""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Any, Callable, Dict, Optional

from ._ask import Late
from ._batch import Batch
from ._deadline import Deadline
from ._description import Facts
from ._errors import ConfigurationError, PenstockError, TimeoutError
from ._opening import Opening
from ._settings import Settings
from ._stats import LoopStats, feeder_numbers
from ._stream import Mark, Offer, Stream
from ._turns import Turns

STATE_VERSION = 1


class Core:
    """A loader's stream and its place in it. Opens the stream on first use, and closes it when this object is
    destroyed.

    One loop at a time reads it (see `_loop.Loop`). Can be pickled until the stream is opened.
    """

    def __init__(self, settings: Settings, convert: Callable[[Batch], Any]) -> None:
        self.settings = settings
        self.timeout = settings.timeout
        self.convert = convert  # converts a batch to the loop's value
        self.opening = Opening(settings)
        self.turns = Turns()
        self.counts = LoopStats()
        self.reclaim: Optional[Callable[[], None]] = None  # releases batches that a framework still holds
        self.stream: Optional[Stream] = None
        self.failed_at: Optional[Mark] = None  # where a machine's error or timeout ended a loop; the next one continues there
        self._target: Optional[Dict[str, Any]] = None  # where the stream must move before the next batch
        self._loop: Optional[weakref.ref[Any]] = None
        self._closed = False
        self._feeder_numbers: Dict[str, float] = {}

    # ---- the stream

    def started(self) -> Stream:
        """Returns the stream, and opens it if necessary. After its feeder died, raises FeederDied once, then opens another."""
        self.check_open()
        stream = self.stream
        if stream is not None and stream.feeder.alive:
            return stream
        where: Dict[str, Any] = {}
        if stream is not None:
            if not stream.died_said:
                raise stream.died()
            # A new feeder continues at the loop's place, even if the other ranks are elsewhere.
            where = {"state": stream.offer.mark.state, "continues": True}
        opened = self.opening.open(self._target if self._target is not None else where, stream is not None, self.timeout)
        self.stream = opened
        self._target = None
        return opened

    def check_open(self) -> None:
        """Raises PenstockError if the loader is closed, or if this process is a fork of the loader's."""
        if self._closed:
            raise PenstockError("this loader was closed")
        self.opening.check_process()

    def close(self) -> None:
        """Closes the stream. A blocked loop gets an error. Any thread may call it."""
        self._closed = True
        stream = self.stream
        if stream is not None:
            stream.close()
        if self.settings.arrays is not None:
            self.settings.arrays.close()

    def __del__(self) -> None:
        stream = getattr(self, "stream", None)
        if stream is not None:
            with contextlib.suppress(BaseException):
                stream.close()

    def __getstate__(self) -> Dict[str, Any]:
        if self.opening.pid is not None:
            raise TypeError(
                "a loader that has begun cannot be pickled: it reads in this process. Pickle it before its first use, or "
                "send state_dict()"
            )
        return dict(self.__dict__)

    # ---- the place of the next batch

    def go_to(self, where: Dict[str, Any]) -> None:
        """Ends the loop. The next loop starts at an `epoch`, or after a `state`."""
        self._loop = None
        self._target = where

    def leave(self) -> None:
        """Ends the last loop. If that loop stopped in the middle of an epoch, the next loop starts with the next epoch."""
        stream = self.stream
        if stream is not None and self._target is None:
            mark = stream.offer.mark
            if mark.received and not mark.last and mark is not self.failed_at:
                self._target = {"epoch": mark.epoch + 1}

    @property
    def moved(self) -> bool:
        """True if the stream must move before the next batch."""
        return self._target is not None

    def settle(self) -> Stream:
        """Returns the stream, after it has moved to the place of the next batch."""
        stream = self.started()
        if self._target is not None:
            where = dict(self._target)
            if self.settings.accept_new_pipeline and "state" in where:
                where["accept_new_pipeline"] = True
            try:
                stream.seek(where, Deadline(self.timeout))
            except Late:
                raise TimeoutError(f"the feeder did not reach {self._target} within {self.timeout:.0f} s (timeout=)") from None
            self._target = None
        return stream

    def last_epoch(self, first: int) -> Optional[int]:
        """Returns the last epoch of a loop that starts in epoch `first`, or None if the loop has no end.

        Loops end every `epochs` epochs, counted from start_epoch.
        """
        epochs, start = self.settings.epochs, self.settings.start_epoch
        if epochs == 0:
            return None
        return start + ((first - start) // epochs + 1) * epochs - 1

    def enter(self, loop: object) -> None:
        """Makes this the current loop. Ends an earlier loop."""
        self._loop = weakref.ref(loop)

    def check_loop(self, loop: object) -> None:
        """Raises PenstockError if another loop has started since, or if the loader cannot be read here."""
        self.check_open()
        if self._loop is None or self._loop() is not loop:
            raise PenstockError(
                "this loop is over: another one over the same loader was begun, or a state was loaded; for two loops at "
                "once make two loaders"
            )

    def offered(self) -> Offer:
        """Returns the last offer to a loop."""
        assert self.stream is not None
        return self.stream.offer

    # ---- facts

    def epoch(self) -> int:
        """Returns the epoch of the current loop, otherwise the epoch in which the next loop starts."""
        loop = self._loop() if self._loop is not None else None
        if loop is None or self.stream is None:
            self.leave()
            return self.settle().offer.mark.next_epoch
        mark = self.stream.offer.mark
        return mark.epoch if mark.received else mark.next_epoch

    def facts(self) -> Facts:
        """Returns the known facts of the loader. Starts nothing and changes nothing."""
        settings = self.settings
        opened = self.stream.opened if self.stream is not None else None
        return Facts(
            job=opened.job if opened is not None else settings.known.name,
            epoch=self._epoch_now(),
            batch_size=opened.batch_size
            if opened is not None
            else settings.request.get("batch_size", 0) or settings.known.batch_size,
            place=settings.place,
            closed=self._closed,
        )

    def _epoch_now(self) -> Optional[int]:
        """Returns the epoch without a request to the feeder. Returns None for a loaded state that was not used yet."""
        stream, target = self.stream, self._target
        if target is not None:
            return target.get("epoch")
        if stream is None:
            return self.settings.start_epoch
        mark = stream.offer.mark
        if self._loop is not None and self._loop() is not None:
            return mark.epoch if mark.received else mark.next_epoch
        return mark.epoch + 1 if mark.received else mark.next_epoch

    def state(self) -> Dict[str, Any]:
        """Returns the state after the last batch that a loop received, or the loaded state."""
        target = self._target
        state = target["state"] if target and "state" in target else self.started().offer.mark.state
        return {"version": STATE_VERSION, "state": state}

    def load_state(self, state: Dict[str, Any]) -> None:
        """Makes the next loop continue after a state."""
        text = state.get("state") if isinstance(state, dict) else None
        if not isinstance(text, str) or state.get("version") != STATE_VERSION:
            raise ConfigurationError(f"not a state of a penstock.Loader: {state!r:.200}. Give what state_dict() returned")
        self.go_to({"state": text})

    def numbers(self) -> Dict[str, float]:
        """Returns the counts of the loops and of the feeder. If the feeder does not answer, repeats its last answer."""
        stream = self.stream
        if stream is not None and self.opening.pid == os.getpid() and not self._closed:
            with contextlib.suppress(PenstockError):
                answer = stream.ask("stats", 2.0)
                if answer is not None:
                    self._feeder_numbers = feeder_numbers(answer)
        return {**self.counts.numbers(), **self._feeder_numbers}
