"""From the arena to a CUDA device: page-locked parts of the arena, and batches whose copies are under way."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from typing import Any, Deque, Dict, List, MutableMapping, Optional, Sequence, Tuple

import torch

from ._arena import Arena
from ._feeder import Feeder
from ._loader import say_once

#: Parts of an arena are page-locked whole, when a batch first lies in them.
CHUNK = 32 << 20
_PORTABLE = 1  # cudaHostRegisterPortable: for all devices


class Cuda:
    """What is asked of torch.cuda: a stream of our own, and memory that it copies from."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call, unused-ignore]

    def stream(self) -> Any:
        return torch.cuda.stream(self._stream)

    def pinned(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy that PyTorch's allocator does not give to others before copies from it have ended."""
        return tensor.pin_memory()

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._device, non_blocking=True)

    def to_device_in_parts(self, tensor: torch.Tensor, borders: Sequence[int]) -> torch.Tensor:
        """From page-locked memory that does not keep itself; one copy never crosses a border (a byte of the tensor)."""
        there = torch.empty_like(tensor, device=self._device)
        if not borders:
            return there.copy_(tensor, non_blocking=True)
        source, target = (each.reshape(-1).view(torch.uint8) for each in (tensor, there))
        for begin, end in zip([0, *borders], [*borders, len(source)]):
            target[begin:end].copy_(source[begin:end], non_blocking=True)
        return there

    def event(self) -> Any:
        """Behind what the stream was given so far."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call, unused-ignore]
        event.record(self._stream)
        return event

    def join(self, event: Any, tensors: Sequence[torch.Tensor]) -> None:
        """What the trainer's stream does next comes behind the event."""
        current = torch.cuda.current_stream(self._device)
        current.wait_event(event)
        for tensor in tensors:
            tensor.record_stream(current)

    def lock(self, address: int, size: int) -> bool:
        """Page-locks memory; False where the system refuses."""
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call, unused-ignore]
        if int(runtime.cudaHostRegister(address, size, _PORTABLE)) == 0:
            return True
        with contextlib.suppress(RuntimeError):  # the runtime keeps the error for the next one who asks
            torch.zeros(1, device=self._device)
        return False

    def unlock(self, address: int) -> None:
        runtime: Any = torch.cuda.cudart()  # type: ignore[no-untyped-call, unused-ignore]
        runtime.cudaHostUnregister(address)


# ---- The arena, page-locked


class Locked:
    """Which chunks of an arena are page-locked. Its feeder must keep its pages: a device goes on reading those it knew."""

    def __init__(self, arena: Arena, cuda: Cuda) -> None:
        self._address = arena.address
        self._size = arena.size
        self._cuda = cuda
        self._chunks: Dict[int, bool] = {}
        self._addresses: List[int] = []  # of those that are
        self._lock = threading.Lock()
        # With the arena's mapping, which must not go before. At exit the system does it.
        weakref.finalize(arena, _unlock, cuda, self._addresses, arena._map).atexit = False

    def borders(self, address: int, size: int) -> Optional[List[int]]:
        """The borders of chunks inside of that memory, all of which is page-locked now; None: it is not."""
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
    """None where the feeder's pages may go."""
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


# ---- Batches whose copies are under way: of all loaders, and beyond their ends


_under_way: Deque[Tuple[Any, List[torch.Tensor]]] = deque()
_settling = threading.Lock()


def keep_until(event: Any, sources: List[torch.Tensor]) -> None:
    """The sources stay as they are until the event has happened."""
    _under_way.append((event, sources))


def settle() -> None:
    """Lets go of what was copied. Never waits."""
    with _settling:
        while _under_way and _under_way[0][0].query():
            _under_way.popleft()


def wait_for_copies() -> None:
    """Until all are done."""
    with contextlib.suppress(IndexError):  # another thread may take the last one
        while True:
            _under_way[0][0].synchronize()
            settle()
