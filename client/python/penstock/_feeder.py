"""The feeder: a child process that fetches this process's batches. One feeder serves all loaders."""

from __future__ import annotations

import _thread
import array
import atexit
import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
from collections import deque
from typing import IO, Any, Deque, Dict, NamedTuple, Optional, Union

from . import _protocol as protocol
from ._arena import Arena, Releases
from ._deadline import PIECE, Deadline
from ._errors import ConfigurationError, FeederDied, MachineError, PenstockError, TimeoutError, error_of
from ._process import Child
from ._program import find_program

START_TIMEOUT = 60.0
_END_TIMEOUT = 2.0
_PIECE = 0.05  # seconds between two checks of the wait for a start
_TAIL = 4096
_AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)  # a plain int, because an enum is slow for every batch


_CACHES = ("record_cache", "decoded_cache", "row_cache")


def _is_given(name: str, value: object) -> bool:
    """Returns True if the option is set. A cache of 0 bytes is a setting: no cache."""
    return bool(value) or (value is not None and name in _CACHES)


class FeederOptions(NamedTuple):
    """The options with which a feeder starts. The feeder chooses for 0 and "", and for caches only if they are None."""

    memory: int = 0
    threads: int = 0
    memory_budget: int = 0
    record_cache: Optional[int] = None
    decoded_cache: Optional[int] = None
    index_dir: str = ""
    keep_pages: bool = False
    read_threads: int = 0
    row_cache: Optional[int] = None
    disk_cache: str = ""
    disk_cache_size: int = 0


class Feeder:
    """A running feeder: its process, its main socket, the arena, and the pending releases.

    Must be created on a thread that no signal interrupts (see `_Start`).
    """

    def __init__(self, options: FeederOptions) -> None:
        self.keep_pages = options.keep_pages
        self.pid = os.getpid()  # the trainer: a forked child must not use inherited objects
        self.closed = False
        self._died: Optional[FeederDied] = None
        self._stderr = _stderr_file()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                hello: Dict[str, Any] = {"version": protocol.VERSION, "client": f"python {self.pid}"}
                hello.update({name: value for name, value in options._asdict().items() if _is_given(name, value)})
                self._socket.send(protocol.json_packet(protocol.HELLO, 0, hello), socket.MSG_NOSIGNAL)
                # The feeder has its own session, because Ctrl-C is for the trainer.
                self._child = Child(
                    subprocess.Popen(
                        [find_program(), "feed", "--fd", str(theirs.fileno()), "--parent", str(self.pid)],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=self._stderr,
                        pass_fds=[theirs.fileno()],
                        start_new_session=True,
                    )
                )
            self._greet()
        except BaseException as error:
            self._socket.close()
            if hasattr(self, "_child"):
                self._child.end(_END_TIMEOUT)
            self._stderr.close()
            if isinstance(error, OSError):
                raise MachineError(f"penstock's feeder could not be started: {error}") from None
            raise
        # With keep_pages a device reads the pages, so this process must not release them.
        self.releases = Releases(self._send_now, None if options.keep_pages else self.arena.free)

    def _greet(self) -> None:
        fds: list[int] = []
        try:
            deadline = Deadline(START_TIMEOUT)
            if not wait_readable(self._socket, deadline):
                raise TimeoutError(f"penstock's feeder (process {self._child.pid}) did not answer for {START_TIMEOUT:.0f} s")
            try:
                packet, fds, _, _ = socket.recv_fds(self._socket, protocol.MAX_PACKET, 4)
            except OSError:
                packet = b""
            if not packet:
                raise self.died()
            kind, _ = protocol.header(packet)
            if kind == protocol.ERROR:
                raise self.died(packet)
            if kind != protocol.WELCOME or len(fds) != 1:
                raise protocol.wrong(f"a packet of type {kind} with {len(fds)} descriptors in place of WELCOME")
            self.welcome = protocol.welcome(packet)
            try:
                self.arena = Arena(fds[0], self.welcome.arena_bytes)
            except (OSError, ValueError, OverflowError) as error:
                raise MachineError(
                    f"{self.welcome.arena_bytes} bytes of shared memory cannot be mapped ({error}): give less with memory="
                ) from None
        finally:
            for fd in fds:
                os.close(fd)

    # ---- for its loaders

    @property
    def process_id(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        """True if loaders may be opened: the feeder is this process's and is not known to have ended."""
        return not self.closed and self._died is None and self.pid == os.getpid() and self._child.running

    def open(self, request: Dict[str, Any]) -> socket.socket:
        """Returns a loader's socket, on which the feeder answers. Raises FeederDied if the feeder has ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                packet = protocol.json_packet(protocol.OPEN, 0, request)
                deadline = Deadline(START_TIMEOUT)
                while True:
                    try:
                        # Not socket.send_fds, which ignores the flags.
                        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))
                        self._socket.sendmsg([packet], [rights], _AT_ONCE)
                        return ours
                    except BlockingIOError:
                        if not wait_writable(self._socket, deadline):
                            raise TimeoutError("penstock's feeder reads no messages") from None
                    except OSError:
                        raise self.died() from None
        except ValueError as error:
            ours.close()
            raise ConfigurationError(f"the job cannot be sent to the feeder: {error}") from None
        except BaseException:
            ours.close()
            raise

    def died(self, packet: bytes = b"") -> FeederDied:
        """Returns the error of a feeder that has closed its sockets, with its exit code and its last lines. Blocks for at
        most a second.
        """
        if self._died is None:
            ended = self._child.wait(1.0)
            said = self._last_error(packet)
            self._died = FeederDied(
                f"penstock's feeder (process {self._child.pid}) "
                + (_ended(self._child.exit_code) if ended else "does not answer")
                + (f": {said.args[0]}" if said else "")
                + "; the next request for a batch starts another one, which continues at the same place"
                + _tail(self._stderr),
                said.code if said else None,
            )
        # A new exception each time: a raised exception keeps its frames alive.
        return FeederDied(str(self._died), self._died.code)

    def _last_error(self, packet: bytes) -> Optional[PenstockError]:
        """Returns the ERROR that the feeder sent before it ended."""
        for _ in range(2):  # the first recv may report that the feeder did not read our data
            with contextlib.suppress(OSError, MachineError):
                packet = packet or self._socket.recv(protocol.MAX_PACKET, socket.MSG_DONTWAIT)
                kind, _ = protocol.header(packet)
                if kind == protocol.ERROR:
                    fields = protocol.failed(packet)
                    return error_of(fields.code, fields.message, False)
        return None

    def close(self) -> None:
        """Ends the feeder. The arrays of the trainer stay unchanged."""
        self.closed = True
        if self.pid != os.getpid():
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._child.end(_END_TIMEOUT)
        self._socket.close()
        self._stderr.close()

    def forget(self) -> None:
        """Closes the descriptors in a forked child, which does not own the feeder."""
        for fd in (self._socket, self._stderr):
            with contextlib.suppress(OSError):
                fd.close()

    def _send_now(self, packet: bytes) -> Optional[bool]:
        """Sends a RELEASE. Returns False if it would block, and None if the feeder has ended."""
        try:
            self._socket.send(packet, _AT_ONCE)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True


def wait_readable(sock: socket.socket, deadline: Deadline) -> bool:
    return _wait(sock, select.POLLIN, deadline)


def wait_writable(sock: socket.socket, deadline: Deadline) -> bool:
    return _wait(sock, select.POLLOUT, deadline)


def _wait(sock: socket.socket, events: int, deadline: Deadline) -> bool:
    poll = select.poll()
    poll.register(sock, events)
    while not poll.poll(max(0.0, min(deadline.left, PIECE)) * 1000):
        if deadline.left <= 0:
            return False
    return True


def _stderr_file() -> IO[bytes]:
    """Returns an anonymous file, to which the feeder appends."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("penstock-stderr"), "w+b", buffering=0)
    else:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
    return file


def _tail(file: IO[bytes]) -> str:
    try:
        size = os.fstat(file.fileno()).st_size
        text = os.pread(file.fileno(), _TAIL, max(0, size - _TAIL)).decode(errors="replace").strip()
    except (OSError, ValueError):
        return ""
    return "\nIts last lines:\n" + "\n".join("  " + line for line in text.splitlines()[-20:]) if text else ""


def _ended(code: Optional[int]) -> str:
    if code is None:
        return "has ended"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (was memory short? see dmesg)" if -code == signal.SIGKILL else ""
        return f"was ended by {name}{hint}"
    return f"ended with exit code {code}"


# ---- The feeder of this process


class _Start:
    """The start of a feeder, and its result.

    The start runs on a separate thread, on which signals raise nothing. It continues after an interrupt of the caller,
    and the next caller gets its feeder. Otherwise each interrupt would leave a process.
    """

    def __init__(self, options: FeederOptions) -> None:
        self.options = options
        self._outcome: Deque[Union[Feeder, BaseException]] = deque()
        self._there = threading.Lock()  # locked until there is an outcome
        self._there.acquire()
        self._begun: Deque[int] = deque()
        self._given_up = False

    def _run(self) -> None:
        try:
            outcome: Union[Feeder, BaseException] = Feeder(self.options)
        except BaseException as error:
            outcome = error
        self._outcome.append(outcome)
        self._there.release()
        if self._given_up:
            self.close()

    def feeder(self) -> Feeder:
        """Starts the feeder, once, and waits for it. Raises the error of the start. May be retried after an interrupt."""
        if not self._begun:
            self._begun.extend(map(_thread.start_new_thread, (self._run,), ((),)))
        while not self._outcome:
            # In pieces: this thread sees a signal that another thread received only when it wakes up.
            self._there.acquire(timeout=_PIECE)
        outcome = self._outcome[0]
        if isinstance(outcome, Feeder):
            return outcome
        try:
            raise outcome.with_traceback(None)
        finally:
            del outcome  # otherwise it keeps its own traceback alive

    @property
    def running(self) -> Optional[Feeder]:
        """The feeder, if it has started and runs."""
        outcome = self._outcome[0] if self._outcome else None
        return outcome if isinstance(outcome, Feeder) and outcome.alive else None

    @property
    def of_use(self) -> bool:
        """True if the feeder runs, or may still start."""
        return not self._outcome or self.running is not None

    def close(self) -> None:
        """Ends the feeder, at once or when it has started."""
        self._given_up = True
        outcome = self._outcome[0] if self._outcome else None
        if isinstance(outcome, Feeder):
            outcome.close()

    def forget(self) -> None:
        """Closes the descriptors in a forked child."""
        outcome = self._outcome[0] if self._outcome else None
        if isinstance(outcome, Feeder):
            outcome.forget()


class _Current:
    lock = threading.Lock()
    start: Optional[_Start] = None


def current_feeder() -> Optional[Feeder]:
    """Returns the running feeder, or None."""
    start = _Current.start
    return start.running if start is not None else None


def feeder_for(options: FeederOptions) -> Feeder:
    """Returns the running feeder, or a new one. Options that are set, except keep_pages, must equal those of the feeder."""
    with _Current.lock:
        start = _Current.start
        if start is not None and not start.of_use:
            start.close()
            start = _Current.start = None
        if start is None:
            start = _Current.start = _Start(options)
        for name, value in options._asdict().items():
            has = getattr(start.options, name)
            if _is_given(name, value) and value != has and name != "keep_pages":  # the caller checks it
                raise ConfigurationError(
                    f"{name}={value!r}: the loaders of a process share one feeder, which runs with "
                    f"{name}={has or 'its default'!r}; give it with the first loader, or call penstock.shutdown() before"
                )
        return start.feeder()


def shutdown() -> None:
    """Ends this process's feeder, and thus the loops of all loaders. The next use of a loader starts another feeder."""
    with _Current.lock:
        if _Current.start is not None:
            _Current.start.close()
            _Current.start = None


def _after_fork() -> None:
    _Current.lock = threading.Lock()
    if _Current.start is not None:
        _Current.start.forget()
    _Current.start = None


os.register_at_fork(after_in_child=_after_fork)
atexit.register(shutdown)
