"""Files of a source of `convert`: of this machine, or of a bucket, which the program `penstock fetch` reads."""

from __future__ import annotations

import fnmatch
import io
import json
import os
import struct
import subprocess
import threading
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Tuple, cast

from ._commands import failure_of, quiet_environment, stderr_file
from ._errors import ConfigurationError, DataError, MachineError, error_of
from ._program import find_program

_HEAD = struct.Struct("<BQ")
_MOST_BYTES = 1 << 30  # limit of a request
_WILD = "*?["


Entries = Callable[[str], List[Dict[str, Any]]]


class Facts(NamedTuple):
    """What identifies the content of a file, besides its name."""

    size: int
    state: str  # the time of its last change, or the tag of an object


def is_remote(name: str) -> bool:
    return "://" in name


def has_wildcards(name: str) -> bool:
    return any(one in name for one in _WILD)


def open_file(name: str, facts: Optional[Facts] = None) -> BinaryIO:
    """Opens a file for reads, in the state of `facts` if it is remote. Raises OSError for a local file, and an error of
    Penstock for a remote one.
    """
    return cast(BinaryIO, io.BufferedReader(_RemoteFile(name, facts), 1 << 20)) if is_remote(name) else open(name, "rb")


def open_unbuffered(name: str, facts: Optional[Facts] = None) -> BinaryIO:
    """Opens a file for large reads at any place, in the state of `facts` if it is remote. Raises as open_file()."""
    return cast(BinaryIO, _RemoteFile(name, facts)) if is_remote(name) else open(name, "rb", buffering=0)


def facts_of(name: str) -> Facts:
    """Returns size and state. Raises as open_file()."""
    if not is_remote(name):
        facts = os.stat(name)
        return Facts(facts.st_size, str(facts.st_mtime_ns))
    found = json.loads(_program().ask(f"stat {name}"))
    if found["kind"] != "file":
        raise ConfigurationError(f"{name} is a folder, and a file is expected")
    return Facts(found["size"], found["state"])


def remote_files(source: str, suffixes: Tuple[str, ...], entries: Entries) -> List[str]:
    """Returns the files of a bucket that a name stands for, in order: the file, those that match it as a glob, or those
    below the folder whose names have one of the suffixes. `entries` lists a folder.
    """
    scheme, _, rest = source.partition("://")
    parts = rest.split("/")
    wild = next((number for number, part in enumerate(parts) if has_wildcards(part)), len(parts))
    if "**" in parts:
        raise ConfigurationError(f"{source}: ** does not work in a bucket; name the folder to have all files below it")
    no_file = _why_no_file(source)
    if no_file is None:
        return [source]
    if wild < len(parts):
        return _files_like(f"{scheme}://{'/'.join(parts[:wild])}", parts[wild:])
    try:
        return sorted(name for name in _files_below(source.rstrip("/"), entries) if name.endswith(suffixes))
    except ConfigurationError as error:
        raise (no_file if error.code == "UNIMPLEMENTED" else error) from None


def _files_below(folder: str, entries: Entries) -> Iterator[str]:
    """Yields the files below a folder. Those whose names begin with "." or "_" are left out."""
    for entry in entries(folder):
        name = f"{folder}/{entry['name']}"
        if entry["kind"] == "folder":
            yield from _files_below(name, entries)
        elif entry["kind"] == "file" and not entry["name"].startswith((".", "_")):
            yield name


def _files_like(folder: str, parts: List[str]) -> List[str]:
    """Returns the files below a folder that match the parts of a glob."""
    found = [folder]
    for number, part in enumerate(parts):
        kind = "file" if number == len(parts) - 1 else "folder"
        found = [
            f"{folder}/{entry['name']}"
            for folder in found
            for entry in entries_of(folder)
            if entry["kind"] == kind and fnmatch.fnmatchcase(entry["name"], part) and not entry["name"].startswith(".")
        ]
    return sorted(found)


def _why_no_file(name: str) -> Optional[ConfigurationError]:
    """Returns None for a file, and why it is none otherwise."""
    try:
        facts_of(name)
    except ConfigurationError as error:
        if error.code in (None, "NOT_FOUND", "INVALID_ARGUMENT"):
            return error
        raise
    return None


def entries_of(folder: str) -> List[Dict[str, Any]]:
    """Lists a remote folder. An entry has name and kind, and size and state if the storage lists them."""
    listed: List[Dict[str, Any]] = json.loads(_program().ask(f"list {folder}"))["entries"]
    return listed


class _RemoteFile(io.RawIOBase):
    """A file in a bucket. Each read is a request, so a caller reads much at once."""

    def __init__(self, name: str, facts: Optional[Facts] = None) -> None:
        super().__init__()
        self._name = name
        self._size, self._state = facts or facts_of(name)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, begin + offset)
        return self._at

    def read(self, size: Optional[int] = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        out: List[bytes] = []
        while self._at < end:
            wanted = min(end - self._at, _MOST_BYTES)
            out.append(self._asked(wanted))
            if len(out[-1]) != wanted:
                raise self._changed()
            self._at += wanted
        return out[0] if len(out) == 1 else b"".join(out)

    def _asked(self, size: int) -> bytes:
        try:
            return _program().ask(f"read {self._at} {size} {self._size} {self._state} {self._name}")
        except MachineError as error:
            if error.code != "ABORTED":
                raise
            raise self._changed() from None

    def _changed(self) -> DataError:
        return DataError(f"{self._name} has changed since it was opened; convert it into another folder")

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class _Program:
    """A child that answers requests. It ends with its standard input, and so with this process."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()  # a library may read on several threads
        self._errors = stderr_file()
        try:
            self._process = subprocess.Popen(
                [find_program(), "fetch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=quiet_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise MachineError(f"penstock fetch could not be started: {error}") from None

    def ask(self, request: str) -> bytes:
        """Returns the answer to a request. Raises its error."""
        if "\n" in request:
            raise ConfigurationError(f"{request.partition(' ')[2]!r}: a name in a bucket has one line")
        assert self._process.stdin is not None
        with self._lock:
            try:
                self._process.stdin.write(request.encode() + b"\n")
                self._process.stdin.flush()
                failed, length = _HEAD.unpack(self._exactly(_HEAD.size))
                body = self._exactly(length)
            except (OSError, EOFError, ValueError):
                self._fail()
            except BaseException:  # Ctrl-C: the rest of the answer would be that of the next request
                self._end()
                raise
        if failed:
            said = json.loads(body)
            raise error_of(said["code"], said["message"], of_batch=False)
        return body

    def _exactly(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) != size:
            raise EOFError
        return data

    def _end(self) -> int:
        """Ends the program, and returns its exit code. The next request starts another one."""
        global _running  # noqa: PLW0603
        if _running is self:
            _running = None
        self._process.kill()
        return self._process.wait()

    def _fail(self) -> NoReturn:
        raise failure_of("fetch", self._end(), self._errors) from None


_running: Optional[_Program] = None


def _program() -> _Program:
    """Returns the program of this process. A fork starts one of its own."""
    global _running  # noqa: PLW0603
    if _running is None or _running.owner != os.getpid():
        _running = _Program()
    return _running
