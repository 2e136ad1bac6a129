"""A folder of MDS shards, which Mosaic's StreamingDataset reads, as a source of `convert`."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from ._column_options import ColumnOptions
from ._convert_source import needed, refusal
from ._errors import ConfigurationError, DataError
from ._library_modules import module_of
from ._sample_files import SampleFile, SampleFiles, check_names, check_pickles, decoded, images, parts
from ._scratch import Scratch
from ._source_files import INDEX
from ._source_folders import Folder

_ENCODINGS = module_of("streaming", "base/format/mds/encodings.py")

# Encodings whose bytes are the feature: files of images stay as they are, and a text has any number of digits.
_BYTES = ("bytes", "str", "json", "jpeg", "png", "str_decimal")
# Lists of files of images, and the bytes before their number.
_LISTS = {"jpeg_array": 0, "jpegarray": 0, "list[jpeg]": 4, "list[png]": 4}
_REFUSED = {"list[pil]": "lists of arrays"}

Decode = Callable[[bytes], Any]


class _Column(NamedTuple):
    name: str
    encoding: str
    size: int  # in bytes; 0: the sample has it


class Mds(SampleFiles):
    """The samples of the shards that index.json lists."""

    def __init__(self, folder: Folder, index: Dict[str, Any], options: ColumnOptions, trust: bool, scratch: Scratch) -> None:
        name = folder.path
        files, self._columns = _shards(folder, index)
        types = {column.name: column.encoding for column in self._columns}
        pickled = [column for column, encoding in types.items() if not _ENCODINGS.is_mds_encoding_safe(_base(encoding))]
        check_names(name, options, list(types), pickled)
        kept = {column: encoding for column, encoding in types.items() if column not in options.drop}
        refused = [f"{column}: {encoding} ({_why_not(encoding)})" for column, encoding in kept.items() if _why_not(encoding)]
        if refused:
            raise refusal(name, refused)
        check_pickles(name, [column for column in pickled if column in kept], trust)
        self._open(kept)
        super().__init__(folder, files, kept, options, scratch)

    def _open(self, types: Dict[str, str]) -> None:
        self._sizes = [column.size for column in self._columns]
        self._decoders: List[Tuple[int, str, Decode]] = [
            (number, column.name, _decoder(column.encoding))
            for number, column in enumerate(self._columns)
            if column.name in types
        ]

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_decoders", "_sizes")}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open(self._types)

    def _unpack(self, file: SampleFile, packed: bytes) -> Any:
        return _compression(self.name).decompress(file.compression, packed)

    def _row(self, sample: Any) -> Dict[str, Any]:
        values = parts(sample, self._sizes)
        row: Dict[str, Any] = {}
        for number, name, decode in self._decoders:
            row[name] = decoded(decode, name, values[number])
        return row


@functools.cache
def _compression(name: str) -> Any:
    try:
        return module_of("streaming", "base/compression.py")
    except ModuleNotFoundError as error:
        raise needed(error.name or "mosaicml-streaming", "mds", f"{name} with its compression") from None


def _shards(folder: Folder, index: Dict[str, Any]) -> Tuple[List[SampleFile], List[_Column]]:
    """Returns the files and the columns of an index."""
    place = folder.at(INDEX)
    files: List[SampleFile] = []
    columns: List[_Column] = []
    try:
        for number, shard in enumerate(index["shards"]):
            if (shard["version"], shard["format"]) != (2, "mds"):
                raise ConfigurationError(
                    f"{place}: shard {number} is {shard['format']} of version {shard['version']}, and convert reads mds of "
                    "version 2; give a StreamingDataset of the folder to penstock.convert in Python"
                )
            described = zip(shard["column_names"], shard["column_encodings"], shard["column_sizes"])
            now = [_Column(name, encoding, size or 0) for name, encoding, size in described]
            if files and now != columns:
                raise ConfigurationError(
                    f"{place}: shard {number} has {_words(now)}, but shard 0 has {_words(columns)}; convert such shards one "
                    "by one"
                )
            columns = now
            files.append(_file(folder, shard))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{place}: not an index of MDS: {type(error).__name__} {error}; write the folder again") from None
    return files, columns


def _file(folder: Folder, shard: Dict[str, Any]) -> SampleFile:
    """Returns the file of a shard: the one without compression if it is there, as the library does."""
    raw, packed = shard["raw_data"], shard["zip_data"]
    forms = [(raw, ""), *([(packed, shard["compression"])] if packed else [])]
    for form, compression in forms:
        facts = folder.facts(form["basename"])
        if facts is not None:
            return SampleFile(folder.at(form["basename"]), shard["samples"], raw["bytes"], compression, facts)
    path = folder.at(forms[-1][0]["basename"])
    raise DataError(f"{path} is missing, but {folder.at(INDEX)} lists it; copy the whole folder")


def _words(columns: List[_Column]) -> str:
    return ", ".join(f"{column.name}: {column.encoding}" for column in columns)


def _base(encoding: str) -> str:
    """Returns an encoding without its arguments."""
    return encoding.partition(":")[0]


def _why_not(encoding: str) -> str:
    """Returns why a record cannot hold an encoding, or ""."""
    if _base(encoding) not in _ENCODINGS.get_mds_encodings():
        return "the library has no such encoding"
    return _REFUSED.get(encoding, "")


def _decoder(encoding: str) -> Decode:
    if encoding in _BYTES:
        return bytes
    if encoding in _LISTS:
        return functools.partial(images, _LISTS[encoding])
    decode: Decode = functools.partial(_ENCODINGS.mds_decode, encoding)
    return functools.partial(_int64, decode) if encoding == "str_int" else decode


def _int64(decode: Decode, data: bytes) -> int:
    value: int = decode(data)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} does not fit int64")
    return value
