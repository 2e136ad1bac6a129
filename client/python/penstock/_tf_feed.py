"""Iterations of a tf.data.Dataset over a loader: the part that does not use TensorFlow."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, Optional, Sequence, Tuple

from . import _interrupts
from ._base import core_of
from ._batch import Batch
from ._errors import ConfigurationError, PenstockError
from ._loader import Loader
from ._tracebacks import public

Element = Tuple[Any, ...]
_STATES = 1024  # number of stored states, and thus of steps that a pipeline can be ahead of the loop's body


class Feed:
    """Serves batches to TensorFlow's threads, one iteration at a time.

    `split` converts a batch to its elements. `steps` is the number of batches of a whole iteration, or None if it has
    no end.
    """

    def __init__(self, loader: Loader, split: Callable[[Batch], Sequence[Element]], steps: Optional[int]) -> None:
        self.loader = loader
        self.split = split
        self.steps = steps
        self.lock = threading.Lock()  # TensorFlow can still read a dropped dataset while the next one begins
        self._states: Deque[Tuple[int, str]] = deque(maxlen=_STATES)  # (steps of the iteration, the state after them)
        self._ended_early = False
        self._looked_at: Optional[str] = None

    def pipeline_started(self) -> None:
        """Must be called before a pipeline's first `begin`, because TensorFlow may have destroyed the previous pipeline
        before it requested the empty iteration.
        """
        with self.lock:
            self._ended_early = False

    def begin(self) -> Iterator[Element]:
        """Returns the next iteration. It starts when TensorFlow requests its first element.

        The pipeline is `repeat().take(n)`, so that n is the cardinality of every dataset that is built on it. After a
        restored state, an iteration is shorter than n. The iteration that repeat() then requests is empty.
        """
        with self.lock:
            if self._ended_early:
                self._ended_early = False
                return iter(())
            if self._looked_at is not None:
                self.loader.load_state_dict(self._loader_state(self._looked_at))
                self._looked_at = None
            return Iteration(self, _is_keras_looking())

    def state_dict(self, steps: Optional[int]) -> Dict[str, Any]:
        states = list(self._states)
        if steps is None:
            return self._loader_state(states[-1][1]) if states else self.loader.state_dict()
        for number, state in reversed(states):
            if number == steps:
                return self._loader_state(state)
        known = f"{states[0][0]} to {states[-1][0]}" if states else "none"
        raise ConfigurationError(f"steps={steps}: this iteration has states after these steps only: {known}")

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        with self.lock:
            self.loader.load_state_dict(state)
            self._states.clear()
            self._ended_early = False
            self._looked_at = None

    @property
    def epoch(self) -> int:
        with self.lock:
            if self._looked_at is not None:
                self.loader.load_state_dict(self._loader_state(self._looked_at))
                self._looked_at = None
            return self.loader.epoch

    def _loader_state(self, text: str) -> Dict[str, Any]:
        return {**self.loader.state_dict(), "state": text}

    # ---- for an iteration, under the lock

    def began(self, state: str, look: bool) -> None:
        self._states.clear()
        self._states.append((0, state))
        self._looked_at = state if look else None

    def received(self, steps: int, state: str) -> None:
        if self._looked_at is None:
            self._states.append((steps, state))

    def ended_early(self) -> None:
        self._ended_early = True


class Iteration:
    """The elements of one loop over the loader. It may be used after an exception, except after Ctrl-C."""

    def __init__(self, feed: Feed, look: bool) -> None:
        self._feed = feed
        self._look = look
        self._batches: Optional[Iterator[Batch]] = iter(feed.loader)
        self._elements: Deque[Element] = deque()
        self._steps = 0
        self._state = ""
        self._interrupted = False

    def __iter__(self) -> Iteration:
        return self

    @public
    def __next__(self) -> Element:
        feed = self._feed
        with feed.lock:
            if not self._elements:
                self._take(feed)
            element = self._elements.popleft()
            if not self._elements:
                feed.received(self._steps, self._state)
                if self._steps == feed.steps:
                    self._batches = None  # the pipeline requests no more elements; the next loop can start
            return element

    def _take(self, feed: Feed) -> None:
        if self._batches is None:
            raise StopIteration
        if self._interrupted:  # otherwise a pipeline's thread waits again, and the main thread waits for it
            raise _interrupts.Interrupted("this loop was interrupted by Ctrl-C")
        try:
            with _interrupts.ends_waits():
                batch = next(self._batches)
        except _interrupts.Interrupted:
            self._interrupted = True
            raise
        except StopIteration:
            self._batches = None
            feed.ended_early()
            raise
        if self._steps == 0:
            feed.began(core_of(feed.loader).offered().before.state, self._look)
        self._steps += 1
        self._state = batch.state
        self._elements.extend(feed.split(batch))


def _is_keras_looking() -> bool:
    """Returns True if Keras only inspects one batch. Under a strategy Keras takes a batch, builds the model, and then
    starts another iteration.

    The next iteration starts at the same place as such an iteration.
    """
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None:
            if at.f_code.co_name == "_maybe_symbolic_build":
                return True
            at = at.f_back
    return False


class Process:
    """A mark that only this process can read, as a file of /proc/self/fd."""

    def __init__(self) -> None:
        self.mark = os.urandom(16).hex().encode()
        self.pid = os.getpid()
        self._fd = os.memfd_create("penstock-process") if hasattr(os, "memfd_create") else -1
        if self._fd < 0:
            raise PenstockError("this system has no memfd_create")
        os.write(self._fd, self.mark)

    @property
    def pid_path(self) -> str:
        return f"/proc/self/task/{self.pid}"

    @property
    def mark_path(self) -> str:
        return f"/proc/self/fd/{self._fd}"
