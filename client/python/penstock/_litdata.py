"""A folder that litdata.optimize wrote as a source of `convert`."""

from __future__ import annotations

import functools
import importlib.util
import json
import struct
from typing import Any, Callable, Dict, List, Tuple

from litdata.streaming import serializers
from litdata.streaming.compression import ZSTDCompressor
from litdata.streaming.framed_zstd import inflate_frame, is_framed_chunk, make_zstd_codec, parse_framed_header
from litdata.streaming.item_loader import load_arrow_row_footer

from ._column_options import ColumnOptions
from ._convert_source import needed, refusal
from ._errors import ConfigurationError, DataError
from ._remote_files import open_unbuffered
from ._sample_files import Damage, SampleFile, SampleFiles, check_names, check_pickles, decoded, images, parts
from ._scratch import Scratch
from ._source_files import INDEX
from ._source_folders import Folder

# Serializers whose bytes are the feature: files stay as they are.
_BYTES = ("audio", "bytes", "file", "image", "jpeg", "mesh", "nifti", "pdf", "str", "text", "tiff", "tifffile", "video")
# Serializers that the library decodes.
_DECODED = {
    "bool": serializers.BooleanSerializer,
    "float": serializers.FloatSerializer,
    "int": serializers.IntegerSerializer,
    "json": serializers.JsonSerializer,
    "no_header_numpy": serializers.NoHeaderNumpySerializer,
    "no_header_tensor": serializers.NoHeaderTensorSerializer,
    "numpy": serializers.NumpySerializer,
    "pickle": serializers.PickleSerializer,
    "pil": serializers.PILSerializer,
    "tensor": serializers.TensorSerializer,
}
_IMAGES = "jpeg_array"
_PICKLE = "pickle"
# Serializers of values that may be dicts, whose fields are columns.
_NESTED = ("json", _PICKLE)
# The item loaders whose files have a sample for each row.
_TOKENS = "TokensLoader"  # its samples are one value, without the size
_LOADERS = (None, "PyTreeLoader", _TOKENS)
# How a chunk is packed, besides a compression of the whole file.
_FRAMES, _TABLE = "frames", "table"
_TABLE_END = b"LDARW01\0"
_SINGLE = "item"  # the column of samples that are one value

Decode = Callable[[bytes], Any]


class LitData(SampleFiles):
    """The samples of the chunks that index.json lists."""

    def __init__(self, folder: Folder, index: Dict[str, Any], options: ColumnOptions, trust: bool, scratch: Scratch) -> None:
        place = folder.at(INDEX)
        try:
            config = index["config"]
            _check_config(place, config)
            self._names = _names(config["data_spec"], len(config["data_format"]))
            self._formats: List[str] = list(config["data_format"])
            self._packs_samples = config.get("compression_level") == "sample"
            self._has_sizes = config.get("item_loader") != _TOKENS
            files = [_file(folder, config.get("compression") or "", chunk) for chunk in index["chunks"]]
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = f"{type(error).__name__} {error}"
            raise DataError(f"{place}: not an index of LitData: {reason}; write the folder again") from None
        types = dict(zip(self._names, self._formats))
        if len(types) != len(self._formats):
            raise ConfigurationError(f"{place}: two values have the same name in {', '.join(self._names)}; rename one")
        parents = {name.rsplit(".", levels)[0]: "" for name in types for levels in range(1, name.count(".") + 1)}
        nested = [name for name, format_ in types.items() if _key(format_) in _NESTED]
        check_names(folder.path, options, list(types), nested, list(parents))
        kept = {name: format_ for name, format_ in types.items() if not _is_dropped(name, options.drop)}
        refused = [f"{name}: {format_} ({_why_not(format_)})" for name, format_ in kept.items() if _why_not(format_)]
        if refused:
            raise refusal(folder.path, refused)
        check_pickles(folder.path, [name for name, format_ in kept.items() if _key(format_) == _PICKLE], trust)
        self._open(kept)
        super().__init__(folder, files, kept, options, scratch)

    def _open(self, types: Dict[str, str]) -> None:
        self._codec: Any = make_zstd_codec()
        self._decoders: List[Tuple[int, str, Decode]] = [
            (number, name, _decoder(types[name])) for number, name in enumerate(self._names) if name in types
        ]

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("_decoders", "_codec")}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open(self._types)

    def _unpack(self, file: SampleFile, packed: bytes) -> Any:
        if file.compression == _TABLE:
            return _table(file, packed)
        if file.compression != _FRAMES:
            data = _decompressed(file, packed)
            return _table(file, data) if data.endswith(_TABLE_END) else data
        header = parse_framed_header(packed)
        begin = 4 * (len(header.offsets) + 1)
        table = struct.pack(f"<I{len(header.offsets)}I", header.num_items, *(begin + offset for offset in header.offsets))
        frames = [bytes(inflate_frame(packed, header, number, self._codec)) for number in range(len(header.frames))]
        return b"".join([table, *frames])

    def _row(self, sample: Any) -> Dict[str, Any]:
        if isinstance(sample, dict):
            return {name: value for name, value in sample.items() if not _is_dropped(name, self._options.drop)}
        if self._packs_samples:
            try:
                sample = self._codec.decompress(sample)
            except Exception as error:  # each library of compression has errors of its own
                raise Damage(f"the sample cannot be unpacked: {error}; copy the file again") from None
        values = parts(sample, [0] * len(self._formats)) if self._has_sizes else [sample]
        return {name: decoded(decode, name, values[number]) for number, name, decode in self._decoders}


def _check_config(place: str, config: Dict[str, Any]) -> None:
    if config.get("encryption"):
        raise ConfigurationError(f"{place}: the chunks are encrypted; write them again without encryption")
    loader = config.get("item_loader")
    if loader == "ParquetLoader":
        raise ConfigurationError(f"{place} lists Parquet files; convert them by a glob: penstock convert 'FOLDER/*.parquet'")
    if loader not in _LOADERS:
        raise ConfigurationError(
            f"{place}: convert does not read chunks of {loader}; give a StreamingDataset of the folder to penstock.convert in "
            "Python"
        )


def _file(folder: Folder, compression: str, chunk: Dict[str, Any]) -> SampleFile:
    """Returns the file of a chunk. Its first and last bytes show how it is packed."""
    path, rows, size = folder.at(chunk["filename"]), chunk["chunk_size"], chunk["chunk_bytes"]
    facts = folder.facts(chunk["filename"])
    if facts is None:
        raise DataError(f"{path} is missing, but {folder.at(INDEX)} lists it; copy the whole folder")
    if compression and path.endswith(f".{compression}.bin"):
        return SampleFile(path, rows, size, compression, facts)
    with open_unbuffered(path, facts) as file:
        start = file.read(8)
        file.seek(max(0, facts.size - len(_TABLE_END)))
        end = file.read()
    how = _FRAMES if is_framed_chunk(start) else _TABLE if end == _TABLE_END else ""
    return SampleFile(path, rows, 0 if how else size, how, facts)


def _table(file: SampleFile, data: bytes) -> Any:
    """Returns the samples of a chunk that has them as an Arrow table."""
    if importlib.util.find_spec("pyarrow") is None:
        raise needed("pyarrow", "parquet", file.path)
    rows = load_arrow_row_footer(data)
    if rows is None:
        raise ValueError("its table is damaged")
    return rows


def _decompressed(file: SampleFile, packed: bytes) -> bytes:
    compressors: Dict[str, Any] = {}
    ZSTDCompressor.register(compressors)
    if file.compression not in compressors:
        raise ConfigurationError(f"{file.path} is compressed by {file.compression}: pip install zstd")
    data: bytes = compressors[file.compression].decompress(packed)
    return data


def _names(spec: str, count: int) -> List[str]:
    """Returns the names of a sample's values: keys of dicts and numbers in lists, joined by dots."""
    out: List[str] = []
    _add_names(json.loads(spec)[1], "", out)
    if len(out) != count:
        raise ValueError(f"{count} values have {len(out)} names")
    return out


def _add_names(spec: Dict[str, Any], path: str, out: List[str]) -> None:
    if spec["type"] is None:
        out.append(path or _SINGLE)
        return
    keys = json.loads(spec["context"])
    keys = keys["dict_context"] if isinstance(keys, dict) and "dict_context" in keys else keys
    children = spec["children_spec"]
    named = isinstance(keys, list) and len(keys) == len(children)
    for number, child in enumerate(children):
        key = str(keys[number]) if named else str(number)
        _add_names(child, f"{path}.{key}" if path else key, out)


def _key(format_: str) -> str:
    return format_.partition(":")[0]


def _is_dropped(name: str, drop: List[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in drop)


def _why_not(format_: str) -> str:
    """Returns why convert cannot read what a serializer wrote, or ""."""
    key = _key(format_)
    if key in _DECODED or key in _BYTES or key == _IMAGES:
        return ""
    return "a record has no graphs" if key == "graph" else "convert does not know this serializer"


def _decoder(format_: str) -> Decode:
    key = _key(format_)
    if key in _BYTES:
        return bytes
    if key == _IMAGES:
        return functools.partial(images, 0)
    serializer = _DECODED[key]()
    serializer.setup(format_)
    decode: Decode = serializer.deserialize
    return functools.partial(_writable, decode) if key.endswith("tensor") else decode


def _writable(decode: Any, data: bytes) -> Any:
    """Decodes a copy, because torch warns of memory that it cannot write to."""
    return decode(bytearray(data))
