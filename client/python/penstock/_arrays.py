"""Arrays in memory as a data set: one copy in a file that the feeder reads."""

from __future__ import annotations

import contextlib
import copy
import errno
import fcntl
import os
import stat
import tempfile
import weakref
from itertools import count
from typing import Any, Dict, Iterator, Mapping, NoReturn, Optional, Tuple

import numpy as np

from . import messages
from ._errors import ConfigurationError, MachineError
from ._jobs import Job

#: The name of the data root, so that a state of one process fits another.
ROOT = "arrays"
_FILE = "arrays.npy"
_SHARED_MEMORY = "/dev/shm"
_SPARE = 64 << 20  # bytes of /dev/shm that stay free for others
_RAW_KINDS = "biuf"
_TIME_KINDS = "mM"
_TEXT_KINDS = "SU"


class ArrayFile:
    """Arrays with one number of rows, as the fields of one .npy file. The file exists as long as this object.

    It is in shared memory if that has room, otherwise in the folder of temporary files. A process that is killed leaves
    its file, and the next ArrayFile of this user removes it.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        fields = _fields_of(arrays)
        table = np.dtype([(name, array.dtype.newbyteorder("="), array.shape[1:]) for name, array in fields.items()])
        rows = len(next(iter(fields.values())))
        self.folder, lock = _write(fields, table, rows)
        self.features = [_feature(name, table[name]) for name in fields]
        self._end = weakref.finalize(self, _remove, os.path.join(self.folder, _FILE), lock, os.getpid())

    def __reduce__(self) -> NoReturn:
        raise ConfigurationError("a loader of arrays cannot be pickled: make it in the process that reads it")

    def job(self, job: Any, batch_size: int) -> Job:
        """Returns the job over these arrays. `job` is None or a Job without files. Without features, it gets one for each
        array. With None, each epoch has another order.
        """
        if job is None and not batch_size:
            raise ConfigurationError("arrays: batch_size is missing")
        if job is None:
            made = Job(order={"shuffle": "FULL"}, batch=batch_size)
        elif isinstance(job, Job):
            made = copy.deepcopy(job)
        else:
            raise ConfigurationError(f"arrays= are the data of a penstock.Job without files, not of {type(job).__name__}")
        if len(made.dataset) > 1 or (made.dataset and (made.dataset[0].files or made.dataset[0].name)):
            raise ConfigurationError("the job has files, and arrays= would be its data: leave one out")
        if not made.dataset:
            made.dataset.append(messages.Dataset())
        made.dataset[0].files = [_FILE]
        if not made.features:
            made.features = list(self.features)
        made.name = made.name or ROOT
        return made

    def roots(self) -> Dict[str, str]:
        """Returns the data root of the job."""
        return {ROOT: self.folder}


def _fields_of(arrays: Mapping[str, Any]) -> Dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays by name. Raises ConfigurationError if they cannot be the fields of one table."""
    if not isinstance(arrays, Mapping) or not arrays:
        raise ConfigurationError('arrays: a dict of arrays by name is expected, such as {"x": x, "y": y}')
    fields = {}
    for name, value in arrays.items():
        if not isinstance(name, str) or not name or not name.isprintable() or set(name) & set("\\'\""):
            raise ConfigurationError(f"arrays: {name!r} is no name of a column: use letters, digits and _")
        array = np.asarray(value)
        kind = array.dtype.kind
        is_long = kind in _RAW_KINDS and array.dtype.itemsize > 8  # float128
        if kind not in _RAW_KINDS + _TIME_KINDS + _TEXT_KINDS or is_long:
            raise ConfigurationError(f"arrays[{name!r}] has the type {array.dtype}; give numbers, times, str or bytes")
        if array.ndim == 0:
            raise ConfigurationError(f"arrays[{name!r}] is one value, not an array with rows")
        if array.dtype.itemsize == 0 or 0 in array.shape[1:]:
            raise ConfigurationError(f"arrays[{name!r}] has rows without values: its shape is {array.shape}")
        fields[name] = array
    lengths = {name: len(array) for name, array in fields.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise ConfigurationError(f"arrays have different numbers of rows: {listed}")
    if 0 in lengths.values():
        raise ConfigurationError("arrays have no rows")
    return fields


def _feature(name: str, dtype: np.dtype[Any]) -> messages.Feature:
    """Returns the feature of a column with the array's type and shape. Times are int64, and text is bytes."""
    element, shape = dtype.base, list(dtype.shape)
    if element.kind in _TIME_KINDS:
        return messages.Feature(key=name, type="INT64", shape=shape)
    if element.kind in _TEXT_KINDS:
        return messages.Feature(key=name, type="BYTES", shape=shape)
    decode: Any = element.name.upper()
    return messages.Feature(key=name, type="BYTES", decode_raw=decode, shape=shape)


def _write(fields: Mapping[str, Any], table: np.dtype[Any], rows: int) -> Tuple[str, int]:
    """Writes the file. Returns its folder, and the descriptor of the folder's lock, which this process holds."""
    size = rows * table.itemsize
    short = ""
    for base in _bases(size):
        folder, lock = _take_folder(base)
        path = os.path.join(folder, _FILE)
        try:
            memory = np.lib.format.open_memmap(path, mode="w+", dtype=table, shape=(rows,))
            with open(path, "r+b") as file:
                os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)  # a later lack of room would kill
            for name, array in fields.items():
                memory[name] = array
            memory.flush()
            return folder, lock
        except OSError as error:
            _remove(path, lock, os.getpid())
            if error.errno != errno.ENOSPC:
                raise MachineError(f"arrays cannot be written to {folder}: {error}") from None
            short = f"{short} {base}"
    raise MachineError(f"arrays of {size} bytes have no room in{short}: set TMPDIR to a folder with more")


def _bases(size: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        found = os.statvfs(_SHARED_MEMORY)
        if found.f_bavail * found.f_frsize >= size + _SPARE and os.access(_SHARED_MEMORY, os.W_OK):
            yield _SHARED_MEMORY
    yield tempfile.gettempdir()


def _take_folder(base: str) -> Tuple[str, int]:
    """Locks the first free folder of this user, and removes files whose processes have ended. The kernel releases a lock
    with its process. So names repeat, and the indexes of ended processes are replaced.
    """
    taken: Optional[Tuple[str, int]] = None
    for number in count():
        folder = os.path.join(base, f"penstock-arrays-{os.getuid()}-{number}")
        if taken is not None and not os.path.lexists(folder):
            return taken
        lock = _lock(folder)
        if lock >= 0 and taken is None:
            taken = (folder, lock)
        elif lock >= 0:
            _remove(os.path.join(folder, _FILE), lock, os.getpid())
    raise AssertionError


def _lock(folder: str) -> int:
    """Returns the descriptor of the folder's lock, or -1 if another process holds it."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise MachineError(f"{folder} belongs to another user: remove it, or set TMPDIR")
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return -1
    return lock


def _remove(path: str, lock: int, pid: int) -> None:
    """Removes the file and releases its folder. Does nothing in a fork of the process `pid`."""
    if os.getpid() != pid:
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.close(lock)
