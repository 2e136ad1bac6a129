"""The memory of batches, and the arrays that refer to it.

A batch occupies a slot of the arena. The slot returns to the feeder when Python destroys the last array in it. That may
happen on any thread, within garbage collection, at exit, or in a forked child. A signal's exception may be raised at any
byte code. So C code does the work that must not be missed: a weak reference to the batch's owner appends itself to a
deque. `Releases.flush` later sends the messages to the feeder.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional

import numpy as np

from ._protocol import MAX_RELEASES, RELEASE_HEADER, batch_parts, release_of

if TYPE_CHECKING:
    import numpy.typing as npt

    _OwnerRef = weakref.ref["Owner"]
else:
    _OwnerRef = weakref.ref


class Arena:
    """The mapping of the feeder's memory. It lives as long as any array in it."""

    def __init__(self, fd: int, size: int) -> None:
        self.mapping = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self.size = size
        whole: npt.NDArray[np.uint8] = np.frombuffer(self.mapping, np.uint8)
        self.address: int = whole.__array_interface__["data"][0]
        self._whole = whole  # the mapping cannot be closed while this array exists
        self.interface: Dict[str, Any] = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size,),
            "data": (self.address, False),
        }

    def free(self, begin: int, end: int) -> None:
        """Releases the pages of [begin, end) to the system. They belong to one batch, whose feeder has ended."""
        begin -= begin % mmap.PAGESIZE
        with contextlib.suppress(OSError):
            self.mapping.madvise(mmap.MADV_REMOVE, begin, min(end, self.size) - begin)


class _Prompt:
    """Processes the deque when it is destroyed, which is after its owner's weak reference was cleared."""

    __slots__ = ("_releases",)

    def __init__(self, releases: Releases) -> None:
        self._releases = releases

    def __del__(self) -> None:
        releases = getattr(self, "_releases", None)
        if releases is None:  # an interrupt ended the constructor
            return
        try:
            releases.flush()
        except BaseException as error:  # from a signal handler, such as KeyboardInterrupt: a finalizer must not raise it
            # Its traceback would keep the objects of the interrupted functions, such as batches.
            releases.interrupted = error.with_traceback(None)


class Owner:
    """The object that the arrays of one batch keep alive. To NumPy it is the whole arena."""

    __slots__ = ("__array_interface__", "__weakref__", "_arena", "_prompt")

    def __init__(self, arena: Arena, releases: Releases) -> None:
        self._arena = arena
        self._prompt = _Prompt(releases)
        self.__array_interface__ = arena.interface


class Hold(_OwnerRef):
    """A weak reference to an owner, with the BATCH packet and its entry for RELEASE."""

    __slots__ = ("packet", "release")
    packet: bytes
    release: bytes

    def __new__(cls, owner: Owner, gone: Callable[[Any], None], packet: bytes) -> Hold:
        hold = super().__new__(cls, owner, gone)
        hold.packet = packet
        hold.release = release_of(packet)
        return hold

    def __init__(self, owner: Owner, gone: Callable[[Any], None], _packet: bytes) -> None:
        super().__init__(owner, gone)  # type: ignore[call-arg]


class Releases:
    """The batches of one feeder that this process holds, and those to release.

    `send` sends a packet on the feeder's main socket without waiting. It returns False if the socket is full, and None
    if the feeder has ended. After the end, `free`, if given, receives the begin and the end of each part of a released
    batch.
    """

    def __init__(
        self, send: Callable[[bytes], Optional[bool]], free: Optional[Callable[[int, int], None]] = None
    ) -> None:
        self._send = send
        self._free = free
        self._pid = os.getpid()
        self._gone: Deque[Hold] = deque()
        self._held: Dict[bytes, Hold] = {}
        self.interrupted: Optional[BaseException] = None

    def watch(self, owner: Owner, packet: bytes) -> Hold:
        """Returns a hold, which has no effect until `keep`."""
        return Hold(owner, self._gone.append, packet)

    def raise_interrupt(self) -> None:
        """Raises the last exception that a signal handler raised in a finalizer, and forgets it."""
        if self.interrupted is not None:
            error, self.interrupted = self.interrupted, None
            try:
                raise error
            finally:
                del error  # otherwise it keeps its own traceback alive

    def keep(self, hold: Hold) -> None:
        """Makes the trainer the holder of the batch. Idempotent."""
        self._held[hold.release] = hold
        if hold() is None:  # its owner was destroyed meanwhile
            self._gone.append(hold)

    @property
    def held(self) -> int:
        """The number of batches that the trainer holds."""
        return len(self._held)

    @property
    def pending(self) -> bool:
        """True if releases are pending because the socket was full."""
        return bool(self._gone)

    def flush(self) -> None:
        """Sends the pending releases to the feeder. Never blocks and takes no lock. No effect in a forked child.

        Raises only exceptions of signal handlers. `sweep` finds the holds that such an exception dropped.
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
            except IndexError:  # another thread may remove them too
                pass
            if holds and not self._tell(holds):
                gone.extend(holds)
                return

    def sweep(self) -> None:
        """Releases the batches whose owners were destroyed and whose releases an interrupt dropped."""
        if os.getpid() != self._pid:
            return
        try:
            missed = [hold for hold in self._held.copy().values() if hold() is None]
        except RuntimeError:  # another thread changed it meanwhile: the next sweep finds them
            return
        for begin in range(0, len(missed), MAX_RELEASES):
            if not self._tell(missed[begin : begin + MAX_RELEASES]):
                return

    def _tell(self, holds: List[Hold]) -> bool:
        # A second release is harmless (generations), so the entry is removed last.
        sent = self._send(RELEASE_HEADER + b"".join([hold.release for hold in holds]))
        if sent is False:
            return False
        for hold in holds:
            if sent is None and self._free is not None:
                for begin, end in batch_parts(hold.packet):
                    self._free(begin, end)
            self._held.pop(hold.release, None)
        return True
