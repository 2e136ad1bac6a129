"""Loader.map, and the public part of loaders over a loader."""

from __future__ import annotations

import functools
from typing import Any, Callable, ContextManager, Dict, Generic, Iterator, Tuple, TypeVar, Union

from ._ahead import Ahead, AheadLoop, MakeWork, Work
from ._arguments import check_number
from ._base import LoaderBase, core_of
from ._core import Core
from ._description import describe
from ._errors import ConfigurationError
from ._loop import batches
from ._map_threads import OnThreads, Task
from ._tracebacks import call_user, public

T = TypeVar("T")
U = TypeVar("U")


class AheadLoader(LoaderBase, Generic[U]):
    """A loader over a loader. Its states count the batches that its own loop has received: save them, not the inner
    loader's states.
    """

    def __init__(self, loader: LoaderBase, depth: int, make_work: MakeWork) -> None:
        self._core = core_of(loader)
        self._ahead: Ahead = Ahead(loader._ahead if isinstance(loader, AheadLoader) else self._core, depth, make_work)

    @public
    def __iter__(self) -> Iterator[U]:
        """Starts a loop, as Loader does."""
        return batches(AheadLoop(self._ahead).prepare)

    def __repr__(self) -> str:
        return describe(self, self._ahead.facts())

    @public
    def map(self, function: Callable[[Any], T], threads: int = 1) -> MappedLoader[T]:
        """Returns a loader of the results of `function` for each batch of this loader.

        The function runs on `threads` threads and ahead of the loop. The order is the loader's. Save the state_dict() of
        the new loader. After Ctrl-C the function may run twice for a batch. The loop then receives one of the results.
        """
        return MappedLoader(self, function, threads)

    def _present_epoch(self) -> int:
        known = self._ahead.present_epoch()
        return self._ahead.epoch() if known is None else known

    @property
    @public
    def epoch(self) -> int:
        """The epoch of the current loop, otherwise the epoch in which the next loop starts."""
        return self._ahead.epoch()

    @public
    def state_dict(self) -> Dict[str, Any]:
        """Returns the state after the last batch that the loop's body has received."""
        return self._ahead.state()

    @public
    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Makes the next loop continue exactly after that state. Ends the current loop."""
        self._ahead.load_state(state)


class MappedLoader(AheadLoader[U]):
    """See Loader.map."""

    @public
    def __init__(self, loader: LoaderBase, function: Callable[[Any], U], threads: int) -> None:
        check_number("threads", threads)
        if threads < 1:
            raise ConfigurationError(f"threads={threads}: at least 1")
        before = loader._ahead.make_work if isinstance(loader, AheadLoader) else None
        super().__init__(loader, threads, _MapWork(before, function, threads))


class _MapWork:
    """Creates the work of a mapping loop, on a loader's batches or on the results of another loader's work."""

    def __init__(self, before: Union[MakeWork, None], function: Callable[[Any], Any], threads: int) -> None:
        self._before = before
        self._function = function
        self._threads = threads

    def __call__(self, core: Core) -> Work[Any]:
        if self._before is None:
            return OnThreads(functools.partial(call_user, self._function), self._threads, core.timeout)
        return _WorkThenThreads(self._before(core), self._function, self._threads, core.timeout)


class _WorkThenThreads(Work[U]):
    """Starts the work of another loader, and finishes it and calls a function of its result on threads."""

    def __init__(self, before: Work[Any], function: Callable[[Any], U], threads: int, timeout: float) -> None:
        def finish_and_map(started: Tuple[Any, Callable[[], ContextManager[Any]]]) -> U:
            what, surroundings = started
            with surroundings():
                result: U = call_user(function, before.finish(what))
            return result

        self._before = before
        self._threads = OnThreads(finish_and_map, threads, timeout)

    def start(self, batch: Any) -> Task:
        return self._threads.start((self._before.start(batch), self._before.surroundings()))

    def finish(self, started: Task) -> U:
        return self._threads.finish(started)
