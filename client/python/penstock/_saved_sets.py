"""The Arrow files of data sets of Hugging Face that save_to_disk wrote to a bucket."""

from __future__ import annotations

import struct
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from ._errors import ConfigurationError, DataError
from ._remote_files import Facts, is_remote, open_unbuffered
from ._scratch import Scratch
from ._source_folders import Folder

_STATE, _INFO, _DICT = "state.json", "dataset_info.json", "dataset_dict.json"
_MARK = 0xFFFFFFFF  # before the length of a message; older streams have only the length
_BATCH = 3  # the kind of a message
_NEAR_BYTES = 1 << 20  # a request for several headers; a second request would take as long
_FAR_BYTES = 16 << 10  # a request for one header


def _paths_without_bytes(array: Any) -> Iterator[str]:
    """Yields the paths of files in an Arrow array whose bytes are not there, such as images."""
    if isinstance(array, pa.ChunkedArray):
        for chunk in array.chunks:
            yield from _paths_without_bytes(chunk)
    elif pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        if {"bytes", "path"} <= set(names):
            lacks = pc.and_(pc.is_null(pc.struct_field(array, "bytes")), pc.is_valid(pc.struct_field(array, "path")))
            yield from pc.struct_field(array, "path").filter(lacks).to_pylist()
        else:
            for field in array.flatten():
                yield from _paths_without_bytes(field)
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        yield from _paths_without_bytes(array.flatten())


class SavedFile(NamedTuple):
    url: str
    facts: Facts
    rows: int
    head: int  # bytes up to the end of the first batch with rows, or of the schema


class SavedFiles:
    """The rows of a saved data set, one file after another. Its files are copied one by one, and opened by the library."""

    def __init__(self, folder: Folder, scratch: Scratch) -> None:
        self._scratch = scratch
        try:
            self._info = folder.read(_INFO)
            state = folder.read(_STATE)
            names = [file["filename"] for file in state["_data_files"]]
            self._split: Optional[str] = state["_split"]
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{folder.at(_STATE)}: not the state of a saved data set: {type(error).__name__} {error}; save it again"
            ) from None
        if self._info is None:
            raise DataError(f"{folder.at(_INFO)} is missing; copy the whole folder")
        self.files = [_file(folder, name) for name in names]
        if not self.files:
            raise ConfigurationError(f"{folder.path} has no rows")
        self.identity = folder.identity(_STATE, _INFO, *names)
        self._open: Tuple[int, Any] = (-1, None)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_open": (-1, None)}

    @property
    def counts(self) -> List[int]:
        """Returns the number of rows in each file."""
        return [file.rows for file in self.files]

    def sample(self) -> Any:
        """Returns a data set of the first rows, in memory."""
        number = next((number for number, file in enumerate(self.files) if file.rows), 0)
        file = self.files[number]
        with self._scratch.part(file.url, file.facts) as part:
            part.extend(file.head)
            return self._dataset(part.path, in_memory=True)

    def table(self, number: int, begin: int, end: int) -> Any:
        """Returns rows of a file. Raises the errors of the library."""
        if self._open[0] != number:
            self._open = (-1, None)  # releases the copy of another file
            file = self.files[number]
            opened = self._dataset(self._scratch.path(number, file.url, file.facts), in_memory=False)
            if len(opened) != file.rows:
                raise DataError(f"{file.url} has {len(opened)} rows, and the headers of its batches name {file.rows}")
            self._open = (number, opened.with_format("arrow"))
        return self._open[1][begin:end]

    def check_names(self, table: Any) -> None:
        """Raises DataError if a row names a file of this machine. A bucket may be of another author, and the bytes of that
        file would be in the shards.
        """
        for column in table.columns:
            for path in _paths_without_bytes(column.combine_chunks()):
                if not is_remote(path):
                    raise DataError(
                        f"a row names the file {path!r} of the machine that saved it, and lacks its bytes: save the data set "
                        "again with embed_external_files, or leave the column out (--drop)"
                    )

    def _dataset(self, path: str, in_memory: bool) -> Any:
        info = datasets.DatasetInfo.from_dict(self._info)
        split = datasets.Split(self._split) if self._split is not None else None
        return datasets.Dataset.from_file(path, info=info, split=split, in_memory=in_memory)


def splits_of(folder: Folder) -> Optional[List[str]]:
    """Returns the names of the splits, or None if the folder is one data set."""
    found = folder.read(_DICT)
    if found is None:
        return None
    try:
        return list(found["splits"])
    except (KeyError, TypeError):
        raise DataError(f"{folder.at(_DICT)} names no splits; save the data set again") from None


def _file(folder: Folder, name: str) -> SavedFile:
    url, facts = folder.at(name), folder.facts(name)
    if facts is None:
        raise DataError(f"{url} is missing, but {folder.at(_STATE)} lists it; copy the whole folder")
    try:
        rows, head = _measured(url, facts)
    except (struct.error, IndexError):
        raise DataError(f"{url} is no Arrow stream, or was cut off; copy the file again") from None
    return SavedFile(url, facts, rows, head)


def _measured(url: str, facts: Facts) -> Tuple[int, int]:
    """Returns the rows of a stream, and the bytes up to the end of its first batch with rows. Reads the headers of its
    messages, and seeks over their bodies. Raises struct.error or IndexError for a damaged header.
    """
    rows = head = at = body = 0
    window = _Window(url, facts)
    while at < facts.size:
        mark, size = struct.unpack("<Ii", window.read(at, 8, body))
        before = 8 if mark == _MARK else 4
        size = size if mark == _MARK else mark
        if size == 0:
            break
        if size < 0 or at + before + size > facts.size:
            raise IndexError
        kind, length, body = _header(window.read(at + before, size, body))
        at += before + size + body
        if body < 0 or at > facts.size:
            raise IndexError
        if rows == 0 and (kind != _BATCH or length):
            head = at
        rows += length
    if head == 0:
        raise IndexError
    return rows, head


class _Window:
    """Reads headers of a remote file. If the bodies between them are small, one request gets several."""

    def __init__(self, url: str, facts: Facts) -> None:
        self._file = open_unbuffered(url, facts)
        self._begin, self._data = 0, b""

    def read(self, begin: int, size: int, body: int) -> bytes:
        """Returns bytes of the file, or fewer at its end. `body` is the size of the last body."""
        if not self._begin <= begin <= begin + size <= self._begin + len(self._data):
            self._file.seek(begin)
            self._begin, self._data = begin, self._file.read(max(size, _FAR_BYTES if body >= _NEAR_BYTES else _NEAR_BYTES))
        return self._data[begin - self._begin : begin - self._begin + size]


def _header(message: bytes) -> Tuple[int, int, int]:
    """Returns the kind of a message, its rows if it is a batch, and the length of its body. It is a FlatBuffer."""
    (root,) = struct.unpack_from("<I", message, 0)
    kind_at, header_at, body_at = (_field(message, root, number) for number in (1, 2, 3))
    kind = message[kind_at] if kind_at else 0
    body: int = struct.unpack_from("<q", message, body_at)[0] if body_at else 0
    if kind != _BATCH:
        return kind, 0, body
    (header,) = struct.unpack_from("<I", message, header_at)
    length_at = _field(message, header_at + header, 0)
    return kind, struct.unpack_from("<q", message, length_at)[0] if length_at else 0, body


def _field(message: bytes, table: int, number: int) -> int:
    """Returns where a table's field is, or 0 if it has its default."""
    (back,) = struct.unpack_from("<i", message, table)
    (size,) = struct.unpack_from("<H", message, table - back)
    at = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", message, table - back + at) if at < size else (0,)
    return table + offset if offset else 0
