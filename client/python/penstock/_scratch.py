"""Copies of files in a bucket for `convert`: a few at a time, in a folder that ends with the conversion."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from typing import Any, Dict, Iterator, Tuple

from ._errors import MachineError, PenstockError
from ._remote_files import Facts, is_remote, open_unbuffered

_COPIED = 32 << 20  # bytes of a request
_LOCK = "lock"
_PARTLY = "part"


class Scratch:
    """A folder in TMPDIR with copies of files in a bucket, for libraries that read paths. It exists from the first copy to
    close().

    A pickled Scratch is the same folder in another process, which shares its copies. A process that is killed leaves its
    folder. The next conversion of the same user with the same TMPDIR removes it.
    """

    def __init__(self) -> None:
        self._folder = ""
        self._lock = -1  # a process that only shares the folder has no lock

    def __enter__(self) -> Scratch:
        with contextlib.suppress(OSError):
            _remove_old(tempfile.gettempdir())
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> Dict[str, Any]:
        return {"_folder": self._folder, "_lock": -1}

    def close(self) -> None:
        """Removes the folder, if this process made it."""
        if self._lock >= 0:
            lock, self._lock = self._lock, -1
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(lock)
            self._folder = ""

    def made(self) -> str:
        """Returns the folder. The first call makes it, before other processes share it."""
        if not self._folder:
            base = tempfile.gettempdir()
            with _refused("the folder for copies", base):
                self._folder, self._lock = _locked_folder(base)
        return self._folder

    def path(self, number: int, name: str, facts: Facts) -> str:
        """Returns the path of a file. If it is remote, this is a copy in the state of `facts`, which exists until
        drop_before() of a higher number. One process copies the file, and the others wait.
        """
        if not is_remote(name):
            return name
        path = os.path.join(self.made(), f"{number}.copy")
        if os.path.exists(path):
            return path
        with _refused(name, self._folder):
            lock = os.open(f"{path}.{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not os.path.exists(path):
                    self._check_room(name, facts.size)
                    with self.part(name, facts, f"{path}.{_PARTLY}") as part:
                        part.extend(facts.size)
                        os.rename(part.path, path)
            finally:
                os.close(lock)
        return path

    @contextlib.contextmanager
    def part(self, name: str, facts: Facts, path: str = "") -> Iterator[PartialCopy]:
        """Makes a copy of parts of a remote file, and removes it at the end."""
        path = path or os.path.join(self.made(), f"0.{_PARTLY}")
        try:
            yield PartialCopy(path, name, facts, self._folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def drop_before(self, number: int) -> None:
        """Removes the copies of files with lower numbers. No process may need them again."""
        for name in os.listdir(self._folder) if self._folder else ():
            first = name.partition(".")[0]
            if first.isdigit() and int(first) < number:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._folder, name))

    def _check_room(self, name: str, size: int) -> None:
        found = os.statvfs(self._folder)
        free = found.f_bavail * found.f_frsize
        if free < size:
            raise MachineError(
                f"{name} has {size:,} bytes, and {os.path.dirname(self._folder)} has {free:,} bytes free for its copy: set "
                "TMPDIR to a folder with more room"
            )


class PartialCopy:
    """A copy that has the begin and the end of a remote file, and a hole between them."""

    def __init__(self, path: str, name: str, facts: Facts, folder: str) -> None:
        self.path = path
        self._name = name
        self._facts = facts
        self._folder = folder
        self._hole = (0, facts.size)
        self.resize(0)

    @property
    def is_whole(self) -> bool:
        return self._hole[0] == self._hole[1]

    def extend(self, head: int, tail: int = 0) -> None:
        """Copies the first `head` and the last `tail` bytes, except those that it has."""
        begin, end = self._hole
        head = max(begin, min(head, end))
        tail = min(end, max(self._facts.size - tail, head))
        self._copy(begin, head)
        self._copy(tail, end)
        self._hole = (head, tail)

    def resize(self, size: int) -> None:
        """Gives the copy another size."""
        with _refused(self._name, self._folder), open(self.path, "ab") as out:
            out.truncate(size)

    def _copy(self, begin: int, end: int) -> None:
        if begin == end:
            return
        with open_unbuffered(self._name, self._facts) as source, open(self.path, "r+b", buffering=0) as out:
            source.seek(begin)
            out.seek(begin)
            while begin < end:
                data = memoryview(source.read(min(_COPIED, end - begin)))
                begin += len(data)
                with _refused(self._name, self._folder):
                    while data:
                        data = data[out.write(data) or 0 :]


@contextlib.contextmanager
def _refused(what: str, folder: str) -> Iterator[None]:
    """Raises an error of the file system as MachineError."""
    try:
        yield
    except PenstockError:  # TimeoutError is an OSError too
        raise
    except OSError as error:
        raise MachineError(
            f"{what} cannot be written to {folder}: {error.strerror or error}; set TMPDIR to a folder with more room"
        ) from None


def _prefix() -> str:
    return f"penstock-convert-{os.getuid()}-"


def _locked_folder(base: str) -> Tuple[str, int]:
    """Makes a folder. Returns it with the descriptor of its lock, which the kernel releases at the end of this process."""
    while True:
        folder = tempfile.mkdtemp(prefix=_prefix(), dir=base)
        with contextlib.suppress(FileNotFoundError):  # another process removed the folder before it had a lock
            lock = _lock(folder)
            if lock >= 0:
                return folder, lock


def _remove_old(base: str) -> None:
    """Removes the folders of processes that have ended."""
    for name in os.listdir(base):
        folder = os.path.join(base, name)
        if name.startswith(_prefix()):
            with contextlib.suppress(OSError):
                lock = _lock(folder)
                if lock >= 0:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(lock)


def _lock(folder: str) -> int:
    """Returns the descriptor of a folder's lock. Returns -1 if a process holds it, or another user has the folder."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return -1
    path = os.path.join(folder, _LOCK)
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
    except (BlockingIOError, FileNotFoundError):  # FileNotFoundError: another process removed the folder
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return -1
