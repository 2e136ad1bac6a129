"""One loop over a loader's stream."""

from __future__ import annotations

import gc
import time
from collections import deque
from typing import Any, Callable, Deque, Iterator, Optional

from ._ask import Late
from ._core import Core
from ._deadline import Deadline
from ._errors import MachineError, TimeoutError
from ._stream import Offer, Stream
from ._tracebacks import shorten


def batches(prepare: Callable[[], Deque[Any]]) -> Iterator[Any]:
    """Returns an iterator over the batches that `prepare` provides.

    Only C code delivers a batch: after a signal's exception, the batch is either in its deque or in the loop.
    """
    return map(deque.popleft, iter(prepare, None))


class Loop:
    """Reads a stream for one loop. C code removes each batch from the deque that `prepare` returns."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._stream: Optional[Stream] = None
        self._begun = False
        self._until: Optional[int] = None  # the loop's last epoch
        core.enter(self)

    def prepare(self) -> Deque[Any]:
        """Returns a deque with the next batch. Raises StopIteration at the loop's end.

        May be called again after any other exception, because no batch was delivered. It never returns the sentinel of
        `iter`: if another thread reached the end, Python would compare that with a null pointer.
        """
        core = self._core
        try:
            with core.turns:
                try:
                    ready = self._prepare(core)
                    core.turns.give(ready)
                    return ready
                except (MachineError, TimeoutError):
                    core.failed_at = core.stream.offer.mark if core.stream is not None else None
                    raise
        except Exception as error:
            if not shorten(error):
                raise
            raise error  # PENSTOCK_TRACEBACK=full shows the frames below

    def _prepare(self, core: Core) -> Deque[Any]:
        stream = self._stream
        if stream is None or stream is not core.stream or core.moved or stream.died_said:
            stream = self._begin(core)
        core.check_loop(self)
        offer = stream.offer
        if not offer.ready:
            if offer.ends(self._until):
                raise StopIteration
            self._fetch(core, stream)
        return stream.kept().ready

    def _begin(self, core: Core) -> Stream:
        """Returns the stream, at the first batch of the loop or, with a new feeder, at the next batch."""
        core.check_loop(self)
        if not self._begun:
            core.leave()
        stream = core.settle()
        if not self._begun:
            self._until = core.last_epoch(stream.offer.mark.next_epoch)
            self._begun = True
        self._stream = stream
        return stream

    def _fetch(self, core: Core, stream: Stream) -> None:
        begin = time.monotonic()
        deadline = Deadline(core.timeout)
        try:
            try:
                offer = stream.fetch(deadline, self._until, core.convert)
            except MachineError as error:
                if error.code != "RESOURCE_EXHAUSTED":
                    raise
                offer = self._fetch_short_of_memory(core, stream, deadline)
        except Late:
            answer = stream.ask("waiting", 2.0)
            missing = str((answer or {}).get("message") or "the feeder names no cause")
            raise TimeoutError(f"no batch for {core.timeout:.0f} s (timeout=): {missing}", "DEADLINE_EXCEEDED") from None
        core.counts.delivered(offer.rows, offer.bytes, time.monotonic() - begin)

    def _fetch_short_of_memory(self, core: Core, stream: Stream, deadline: Deadline) -> Offer:
        releases = stream.feeder.releases
        if core.reclaim is not None:
            core.reclaim()
            releases.flush()
        try:
            # The error may be from the request ahead of the loop, and batches may have been released since.
            return stream.fetch(deadline, self._until, core.convert)
        except MachineError as error:
            # Batches in reference cycles hold memory until they are collected.
            held = releases.held
            gc.collect()
            releases.flush()
            if error.code != "RESOURCE_EXHAUSTED" or releases.held == held:
                raise
        return stream.fetch(deadline, self._until, core.convert)
