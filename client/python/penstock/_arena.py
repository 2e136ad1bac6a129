"""The memory in which batches lie, and who still needs them.

A batch is a slot of the arena; it goes back to the feeder when the last array that looks at it is gone. That may happen on
any thread, within garbage collection, at exit, in a forked child, and a signal's exception may be raised at any byte code.
So what must not be missed is done by C code alone: a weak reference to the batch's owner appends itself to a deque. The
feeder's messages are sent from there later (`Releases.flush`).
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional

import numpy as np

from ._protocol import MAX_RELEASES, RELEASE_HEADER

if TYPE_CHECKING:
    import numpy.typing as npt

    _OwnerRef = weakref.ref["Owner"]
else:
    _OwnerRef = weakref.ref


class Arena:
    """The mapping. Lives as long as any array that looks at it."""

    def __init__(self, fd: int, size: int) -> None:
        self._map = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self.size = size
        whole: npt.NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.address: int = whole.__array_interface__["data"][0]
        self._whole = whole  # the mapping cannot be closed while this looks at it
        self.interface: Dict[str, Any] = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (self.address, False),
        }


class _Prompt:
    """Dies behind its owner's weak reference, and has the deque looked at at once."""

    __slots__ = ("_releases",)

    def __init__(self, releases: Releases) -> None:
        self._releases = releases

    def __del__(self) -> None:
        releases = getattr(self, "_releases", None)
        if releases is None:  # interrupted when it was made
            return
        try:
            releases.flush()
        except BaseException as error:  # a signal's, such as KeyboardInterrupt: it may not be raised here
            # Its traceback would keep what the interrupted functions have, such as batches.
            releases.interrupted = error.with_traceback(None)


class Owner:
    """What the arrays of one batch keep alive. To NumPy, the whole arena."""

    __slots__ = ("__array_interface__", "__weakref__", "_arena", "_prompt")

    def __init__(self, arena: Arena, releases: Releases) -> None:
        self._arena = arena
        self._prompt = _Prompt(releases)
        self.__array_interface__ = arena.interface


class Hold(_OwnerRef):
    """A weak reference to an owner, with what RELEASE says when it is gone."""

    __slots__ = ("release",)
    release: bytes

    def __new__(cls, owner: Owner, gone: Callable[[Any], None], release: bytes) -> Hold:
        hold = super().__new__(cls, owner, gone)
        hold.release = release
        return hold

    def __init__(self, owner: Owner, gone: Callable[[Any], None], _release: bytes) -> None:
        super().__init__(owner, gone)  # type: ignore[call-arg]


class Releases:
    """Batches that this process holds of one feeder, and those to be given back.

    `send` sends a packet on the feeder's main socket without waiting: False when the socket is full.
    """

    def __init__(self, send: Callable[[bytes], bool]) -> None:
        self._send = send
        self._pid = os.getpid()
        self._gone: Deque[Hold] = deque()
        self._held: Dict[bytes, Hold] = {}
        self.interrupted: Optional[BaseException] = None

    def watch(self, owner: Owner, release: bytes) -> Hold:
        """Has no effect until it is kept; a hold that was not, because the thread was interrupted, counts for nothing."""
        return Hold(owner, self._gone.append, release)

    def raise_interrupt(self) -> None:
        """Raises what a signal handler has raised in a finalizer, once."""
        if self.interrupted is not None:
            error, self.interrupted = self.interrupted, None
            try:
                raise error
            finally:
                del error  # else it keeps its own traceback

    def keep(self, hold: Hold) -> None:
        """From here on the batch is the trainer's. May be said again."""
        self._held[hold.release] = hold
        if hold() is None:  # it is gone already
            self._gone.append(hold)

    @property
    def held(self) -> int:
        """Batches that the trainer has."""
        return len(self._held)

    @property
    def pending(self) -> bool:
        """Whether the socket was full when something was to be given back."""
        return bool(self._gone)

    def flush(self) -> None:
        """Tells the feeder what is not needed any more. Never waits, never locks; in a forked child it does nothing.

        Raises only what a signal handler raises. What is interrupted between the deque and the socket is found by `sweep`.
        """
        gone = self._gone
        if not gone or os.getpid() != self._pid:
            return
        held = self._held
        while gone:
            holds: List[Hold] = []
            try:
                while len(holds) < MAX_RELEASES:
                    hold = gone.popleft()
                    if held.get(hold.release) is hold:
                        holds.append(hold)
            except IndexError:  # another thread may take them too
                pass
            if holds and not self._tell(holds):
                gone.extend(holds)
                return

    def sweep(self) -> None:
        """Finds holds whose owners are gone though nothing was sent."""
        if os.getpid() != self._pid:
            return
        try:
            missed = [hold for hold in self._held.copy().values() if hold() is None]
        except RuntimeError:  # changed by another thread meanwhile: the next sweep finds them
            return
        for begin in range(0, len(missed), MAX_RELEASES):
            if not self._tell(missed[begin : begin + MAX_RELEASES]):
                return

    def _tell(self, holds: List[Hold]) -> bool:
        # Telling twice is harmless (generations), so the entry goes last.
        if not self._send(RELEASE_HEADER + b"".join([hold.release for hold in holds])):
            return False
        for hold in holds:
            self._held.pop(hold.release, None)
        return True
