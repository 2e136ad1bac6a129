"""Finds the reader for a source of `convert`."""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict

from ._arguments import path_text
from ._column_options import ColumnOptions
from ._convert_source import Source, needed
from ._datasets import rows_of
from ._errors import ConfigurationError
from ._remote_files import is_remote, open_unbuffered
from ._source_files import indexed_folder, kind_of, table_files

_LMDB_MAGIC = b"\xde\xc0\xef\xbe"  # at offset 16
_RIEGELI_SIGNATURE = b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"  # ArrayRecord is a kind of Riegeli


def _reader(module: str, package: str, extra: str, what: str) -> Any:
    """Returns a module of this package that imports a library."""
    try:
        return importlib.import_module(f"penstock.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("penstock"):
            raise
        raise needed(package, extra, what) from None


def open_source(source: Any, options: ColumnOptions, split: str, trust: bool = False) -> Source:
    """Returns the source for an argument of convert()."""
    if not isinstance(source, (str, os.PathLike)):
        module = type(source).__module__.split(".")[0]
        if module == "datasets" and hasattr(source, "with_format") and hasattr(source, "__len__"):
            reader = _reader("_hugging_face", "datasets", "hf", "a data set of Hugging Face")
            made: Source = reader.HuggingFace(f"the {type(source).__name__}", source, options)
            return made
        _no_split(split, f"the {type(source).__name__}")
        return rows_of(source, options)
    name = path_text("source", source).removeprefix("file://")
    if name.startswith("hf://"):
        made = _reader("_hugging_face", "datasets", "hf", name).hub(name[len("hf://") :], options, split)
        return made
    if os.path.isdir(name):
        inside = set(os.listdir(name))
        if inside & {"dataset_dict.json", "state.json"}:
            made = _reader("_hugging_face", "datasets", "hf", name).saved(name, options, split)
            return made
        indexed = indexed_folder(name, split)
        if indexed is not None:
            return _indexed(*indexed, options, trust)
        _no_split(split, name)
        if "data.mdb" in inside:
            made = _reader("_lmdb", "lmdb", "lmdb", name).Lmdb(name, options)
            return made
    _no_split(split, name)
    paths = table_files(name)
    start = _start(paths[0])
    if start.startswith(b"\x89HDF"):
        if len(paths) > 1:
            raise ConfigurationError(f"{name} names {len(paths)} HDF5 files; convert them one by one")
        made = _reader("_hdf5", "h5py", "hdf5", paths[0]).Hdf5(paths[0], options)
        return made
    if is_remote(name) and kind_of(paths[0]) is None:
        raise ConfigurationError(
            f"{paths[0]} is neither a Parquet, Arrow, Feather nor HDF5 file; copy files of other formats to a disk, or mount "
            "the storage, and give their path"
        )
    if start[16:20] == _LMDB_MAGIC and len(paths) == 1:
        made = _reader("_lmdb", "lmdb", "lmdb", paths[0]).Lmdb(paths[0], options)
        return made
    if start.startswith(_RIEGELI_SIGNATURE):
        made = _reader("_array_record", "array_record", "arrayrecord", paths[0]).ArrayRecords(name, paths, options)
        return made
    if kind_of(paths[0]) is None:
        raise ConfigurationError(f"{paths[0]} is neither a Parquet, Arrow, Feather, HDF5 or ArrayRecord file nor an LMDB")
    made = _reader("_tables", "pyarrow", "parquet", paths[0]).Tables(name, paths, options)
    return made


def _indexed(folder: str, kind: str, index: Dict[str, Any], options: ColumnOptions, trust: bool) -> Source:
    """Returns the source of a folder with an index.json."""
    made: Source
    if kind == "mds":
        made = _reader("_mds", "mosaicml-streaming", "mds", folder).Mds(folder, index, options, trust)
    else:
        made = _reader("_litdata", "litdata", "litdata", folder).LitData(folder, index, options, trust)
    return made


def _start(path: str) -> bytes:
    try:
        with open_unbuffered(path) as file:
            return file.read(32)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None


def _no_split(split: str, name: str) -> None:
    if split:
        raise ConfigurationError(f"split={split!r}: {name} has no splits")
