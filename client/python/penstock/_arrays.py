"""Arrays in memory as a data set: one copy in a file that the feeder reads."""

from __future__ import annotations

import contextlib
import copy
import errno
import fcntl
import os
import stat
import tempfile
import warnings
import weakref
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Tuple

import numpy as np

from . import messages
from ._errors import ConfigurationError, MachineError
from ._jobs import Job

#: The name of the data root, so that a state of one process fits another.
ROOT = "arrays"
_FILE = "arrays.npy"
_SHARED_MEMORY = "/dev/shm"
_SPARE = 64 << 20  # bytes of /dev/shm that stay free for others
_MOST_FOLDERS = 1000  # in a folder
_MAX_HEADER = 60_000  # bytes of the array's header, which has the names
_RAW_KINDS = "biuf"
_TIME_KINDS = "mM"
_TEXT_KINDS = "SU"


class ArrayFile:
    """Arrays with one number of rows, as the fields of one .npy file. The file exists until close(), or as long as this
    object.

    It is in shared memory if that has room, otherwise in the folder of temporary files. A process that is killed leaves
    its file, and the next ArrayFile of this user removes it.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        fields = _fields_of(arrays)
        table = np.dtype([(name, array.dtype.newbyteorder("="), array.shape[1:]) for name, array in fields.items()])
        if len(str(table.descr)) > _MAX_HEADER:
            raise ConfigurationError(f"arrays: the names of {len(fields)} arrays take more than {_MAX_HEADER} bytes")
        self.features = [_feature(name, table[name]) for name in fields]
        self.folder, lock = _write(fields, table)
        self._end = weakref.finalize(self, _remove, self.folder, lock, os.getpid())

    def close(self) -> None:
        """Removes the file. A program that has opened it keeps its content."""
        self._end()

    def __reduce__(self) -> NoReturn:
        raise ConfigurationError("a loader of arrays cannot be pickled: make it in the process that reads it")

    def job(self, job: Any, batch_size: int) -> Job:
        """Returns the job over these arrays. `job` is None or a Job without files. Without features, it gets one for each
        array. With None, each epoch has another order, and its last batch may be smaller.
        """
        if job is None and not batch_size:
            raise ConfigurationError("arrays: batch_size is missing")
        if job is None:
            made = Job(order={"shuffle": "FULL"}, batch={"size": batch_size, "last": "PARTIAL"})
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
        if isinstance(value, np.ma.MaskedArray):
            raise ConfigurationError(f"arrays[{name!r}] has a mask, which a column lacks: give filled() and the mask")
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"arrays[{name!r}] is no array: {error}") from None
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


def _write(fields: Mapping[str, np.ndarray[Any, Any]], table: np.dtype[Any]) -> Tuple[str, int]:
    """Writes the file. Returns its folder, and the descriptor of the folder's lock, which this process holds."""
    size = len(next(iter(fields.values()))) * table.itemsize
    failed: List[str] = []
    bases = [_SHARED_MEMORY, tempfile.gettempdir()]
    for base in bases:
        _remove_old(base)
    for base in bases:
        if base == _SHARED_MEMORY and not _has_room(base, size):
            failed.append(f"{base} has no room")
            continue
        try:
            return _write_in(base, fields, table)
        except OSError as error:
            failed.append(str(error))
    raise MachineError(f"arrays of {size} bytes cannot be stored: {'; '.join(failed)}. Set TMPDIR to a folder with room")


def _write_in(base: str, fields: Mapping[str, np.ndarray[Any, Any]], table: np.dtype[Any]) -> Tuple[str, int]:
    """Writes the file in a folder below `base`. Leaves nothing after an error."""
    folder, lock = _take_folder(base)
    try:
        path = os.path.join(folder, _FILE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names that are not Latin-1 need version 3 of the format
            memory = np.lib.format.open_memmap(path, mode="w+", dtype=table, shape=(len(next(iter(fields.values()))),))
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)  # a later lack of room would kill
        for name, array in fields.items():
            memory[name] = array
        memory.flush()
        return folder, lock
    except BaseException:
        _remove(folder, lock, os.getpid())
        raise


def _has_room(base: str, size: int) -> bool:
    try:
        found = os.statvfs(base)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= size + _SPARE and os.access(base, os.W_OK)


def _folder(base: str, number: int) -> str:
    return os.path.join(base, f"penstock-arrays-{os.getuid()}-{number}")


def _take_folder(base: str) -> Tuple[str, int]:
    """Makes and locks the first folder that no process of this user has. The kernel releases a lock with its process. So
    names repeat, and the indexes of ended processes are replaced.
    """
    for number in range(_MOST_FOLDERS):
        folder = _folder(base, number)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        lock = _lock(folder)
        if lock is not None:
            return folder, lock
    raise OSError(errno.EEXIST, f"{base} has {_MOST_FOLDERS} folders of other loaders or users")


def _remove_old(base: str) -> None:
    """Removes the files of processes that have ended."""
    for number in range(_MOST_FOLDERS):
        folder = _folder(base, number)
        if not os.path.lexists(folder):
            return
        with contextlib.suppress(OSError):
            lock = _lock(folder)
            if lock is not None:
                _remove(folder, lock, os.getpid())


def _lock(folder: str) -> Optional[int]:
    """Returns the descriptor of the folder's lock. Returns None if a process holds it, or another user has the folder."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return None
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return lock


def _remove(folder: str, lock: int, pid: int) -> None:
    """Removes the file and releases its folder. Does nothing in a fork of the process `pid`."""
    if os.getpid() != pid:
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, _FILE))
    os.close(lock)
