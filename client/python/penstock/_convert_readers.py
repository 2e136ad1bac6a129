"""The processes that read a source of `convert`. Each encodes every n-th piece; they write their pieces in turn."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Tuple

from ._convert_source import ConvertedColumn, Piece, Source
from ._errors import MachineError

# A program that does not convert must not import multiprocessing, which registers the main module a second time.
if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_PR_SET_PDEATHSIG = 1
# The reader has the path of this process, so that both import the same packages.
_CODE = "import sys; sys.path[:] = {path!r}; from penstock._convert_readers import main; main({fd}, {out}, {parent})"


class Delivered(NamedTuple):
    """A piece whose records are written."""

    rows: int
    missing: Dict[str, int]
    columns: Dict[str, ConvertedColumn]


class BrokenOutput(Exception):
    """The program that takes the records has ended."""


def write_all(fd: int, data: bytes) -> None:
    """Writes the bytes to a pipe. Raises BrokenOutput if its reader has ended."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        raise BrokenOutput from None


class Readers:
    """Delivers the pieces of a source in order. The first piece lacks `skip` rows, which an earlier run has written."""

    def __init__(self, source: Source, pieces: List[Piece], skip: int, processes: int, out: int) -> None:
        self._source = source
        self._pieces = pieces
        self._skip = skip
        self._out = out
        self._next = 0
        self._readers: List[Tuple[Any, Connection]] = []
        count = min(processes, len(pieces))
        if count < 2:
            return
        try:
            for number in range(count):
                self._readers.append(self._start(number, count))
        except BaseException:
            self.end()
            raise

    def _start(self, number: int, count: int) -> Tuple[Any, Connection]:
        import multiprocessing  # noqa: PLC0415

        mine, theirs = multiprocessing.Pipe()
        work = (self._pieces[number::count], self._skip if number == 0 else 0)
        if self._source.is_local:
            others = [connection for _, connection in self._readers]
            process: Any = multiprocessing.get_context("fork").Process(
                target=_forked, args=(theirs, [mine, *others], self._out, os.getpid(), self._source, *work), daemon=True
            )
            process.start()
            theirs.close()
            return process, mine
        code = _CODE.format(path=[place for place in sys.path if place], fd=theirs.fileno(), out=self._out, parent=os.getpid())
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), self._out),
            start_new_session=True,
        )
        theirs.close()
        mine.send((self._source, *work))
        return process, mine

    def deliver(self) -> Delivered:
        """Writes the next piece. Raises the error of its reader."""
        number, self._next = self._next, self._next + 1
        if not self._readers:
            piece = self._source.frames(self._pieces[number], self._skip if number == 0 else 0)
            write_all(self._out, piece.data)
            self._source.written(self._pieces[number])
            return Delivered(piece.rows, piece.missing, piece.columns)
        process, connection = self._readers[number % len(self._readers)]
        try:
            connection.send("go")
            answer = connection.recv()
        except (EOFError, OSError):
            raise _ended(process) from None
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Delivered)
        return answer

    def end(self) -> None:
        """Ends the processes."""
        for process, connection in self._readers:
            connection.close()
            process.kill()
        for process, _ in self._readers:
            process.wait() if isinstance(process, subprocess.Popen) else process.join()
        self._readers = []


def _ended(process: Any) -> MachineError:
    if isinstance(process, subprocess.Popen):
        code = process.wait()
    else:
        process.join()
        code = process.exitcode
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    return MachineError(f"a process that reads the source {how}; the same command continues after the last finished shard")


def _read(source: Source, pieces: List[Piece], skip: int, out: int, connection: Connection) -> None:
    for number, place in enumerate(pieces):
        answer: Any
        try:
            piece = source.frames(place, skip if number == 0 else 0)
        except Exception as error:
            answer = _sendable(error)
        else:
            answer = Delivered(piece.rows, piece.missing, piece.columns)
        connection.recv()
        if isinstance(answer, Delivered):
            try:
                write_all(out, piece.data)
                source.written(place)
            except BrokenOutput as broken:
                answer = broken
        connection.send(answer)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return MachineError("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    return error


def _begin(parent: int) -> None:
    """Makes this process end when its parent ends, so that nothing holds the pipe to the program open. The library
    tokenizers starts no threads: the readers are enough.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)


def _forked(
    connection: Connection, others: List[Connection], out: int, parent: int, source: Source, pieces: List[Piece], skip: int
) -> None:
    _begin(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, OSError):
        _read(source, pieces, skip, out, connection)


def main(fd: int, out: int, parent: int) -> None:
    """Runs in a reader's process."""
    from multiprocessing.connection import Connection  # noqa: PLC0415

    _begin(parent)
    connection = Connection(fd)
    with contextlib.suppress(EOFError, OSError):
        source, pieces, skip = connection.recv()
        _read(source, pieces, skip, out, connection)
