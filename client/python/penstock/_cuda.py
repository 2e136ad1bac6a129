"""Copies from the arena to a CUDA device: page-locked parts of the arena, and batches with copies in flight."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from typing import Any, Callable, ContextManager, Deque, Dict, List, MutableMapping, Optional, Sequence, Tuple

import torch

from ._arena import Arena
from ._feeder import Feeder
from ._notices import say_once

#: Size of the parts of an arena. `Locked` page-locks a part as a whole when a batch first uses it.
CHUNK = 32 << 20
_PORTABLE = 1  # cudaHostRegisterPortable: for all devices


class Cuda:
    """The part of torch.cuda that the loader uses: a separate stream, and memory for its copies."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call, unused-ignore]

    def stream(self) -> Any:
        return torch.cuda.stream(self._stream)

    def on_current_stream(self) -> Callable[[], ContextManager[Any]]:
        """Returns a function that creates contexts, in which another thread uses this thread's current stream."""
        current = torch.cuda.current_stream(self._device)
        return lambda: torch.cuda.stream(current)

    def pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a page-locked copy. PyTorch reuses its memory only after copies from it have ended."""
        return tensor.pin_memory()

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._device, non_blocking=True)

    def to_device_in_parts(self, tensor: torch.Tensor, borders: Sequence[int]) -> torch.Tensor:
        """Returns a copy of a page-locked tensor, which the caller must keep until the copy has ended. No part of the
        copy crosses one of the borders, which are byte offsets in the tensor.
        """
        there = torch.empty_like(tensor, device=self._device)
        if not borders:
            return there.copy_(tensor, non_blocking=True)
        source, target = (each.reshape(-1).view(torch.uint8) for each in (tensor, there))
        for begin, end in zip([0, *borders], [*borders, len(source)]):
            target[begin:end].copy_(source[begin:end], non_blocking=True)
        return there

    def event(self) -> Any:
        """Returns an event that occurs after the present work of the stream."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call, unused-ignore]
        event.record(self._stream)
        return event

    def join(self, event: Any, tensors: Sequence[torch.Tensor]) -> None:
        """Makes the current stream wait for the event. PyTorch then reuses the tensors only after the current stream."""
        current = torch.cuda.current_stream(self._device)
        current.wait_event(event)
        for tensor in tensors:
            tensor.record_stream(current)

    def lock(self, address: int, size: int) -> bool:
        """Page-locks memory. Returns False if the system refuses."""
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call, unused-ignore]
        if int(runtime.cudaHostRegister(address, size, _PORTABLE)) == 0:
            return True
        with contextlib.suppress(RuntimeError):  # the next call reports the error: drop it here
            torch.zeros(1, device=self._device)
        return False

    def unlock(self, address: int) -> None:
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call, unused-ignore]
        runtime.cudaHostUnregister(address)


# ---- The arena, page-locked


class Locked:
    """The page-locked chunks of an arena. The feeder must keep the pages, because a device continues to read the locked
    ones.
    """

    def __init__(self, arena: Arena, cuda: Cuda) -> None:
        self._address = arena.address
        self._size = arena.size
        self._cuda = cuda
        self._chunks: Dict[int, bool] = {}
        self._addresses: List[int] = []  # addresses of the locked chunks
        self._lock = threading.Lock()
        # The finalizer unlocks the chunks when the arena is destroyed, and keeps the mapping alive until then. At exit
        # the system unlocks the pages.
        weakref.finalize(arena, _unlock, cuda, self._addresses, arena.mapping).atexit = False

    def borders(self, address: int, size: int) -> Optional[List[int]]:
        """Page-locks the chunks of the memory. Returns the chunks' borders inside it, or None if one cannot be locked."""
        begin, end = address - self._address, address - self._address + size
        if begin < 0 or end > self._size or size == 0:
            return None
        chunks = range(begin // CHUNK, (end - 1) // CHUNK + 1)
        with self._lock:
            for chunk in chunks:
                if chunk not in self._chunks:
                    at = chunk * CHUNK
                    self._chunks[chunk] = self._cuda.lock(self._address + at, min(CHUNK, self._size - at))
                    if self._chunks[chunk]:
                        self._addresses.append(self._address + at)
            if not all(self._chunks[chunk] for chunk in chunks):
                say_once("memory could not be page-locked (cudaHostRegister): copies to the device go through PyTorch's own")
                return None
        return [chunk * CHUNK - begin for chunk in chunks[1:]]


def _unlock(cuda: Cuda, addresses: List[int], _mapping: Any) -> None:
    for address in addresses:
        cuda.unlock(address)


_arenas: MutableMapping[Arena, Locked] = weakref.WeakKeyDictionary()
_arenas_lock = threading.Lock()


def locked_arena(feeder: Feeder, cuda: Cuda) -> Optional[Locked]:
    """Returns the locked arena. If the feeder may release pages, prints a notice and returns None."""
    if not feeder.keep_pages:
        say_once(
            "register=True: this process's feeder was started by a loader without it, and gives pages back; copies to the "
            "device go through page-locked memory of PyTorch's. Begin with this loader, or call penstock.shutdown() before"
        )
        return None
    with _arenas_lock:
        if feeder.arena not in _arenas:
            _arenas[feeder.arena] = Locked(feeder.arena, cuda)
        return _arenas[feeder.arena]


# ---- Batches with copies in flight, of all loaders, even after a loader is destroyed


_under_way: Deque[Tuple[Any, List[torch.Tensor]]] = deque()
_settling = threading.Lock()


def keep_until(event: Any, sources: List[torch.Tensor]) -> None:
    """Keeps the sources unchanged until the event has occurred."""
    _under_way.append((event, sources))


def settle() -> None:
    """Releases the copied batches. Does not wait for copies."""
    with _settling:
        while _under_way and _under_way[0][0].query():
            _under_way.popleft()


def wait_for_copies() -> None:
    """Blocks until all copies have ended."""
    with contextlib.suppress(IndexError):  # another thread may remove the last one
        while True:
            _under_way[0][0].synchronize()
            settle()
