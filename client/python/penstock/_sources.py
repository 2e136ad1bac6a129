"""Finds the reader for a source of `convert`."""

from __future__ import annotations

import importlib
import os
from typing import Any, List, Optional

from ._arguments import path_text
from ._column_options import ColumnOptions
from ._convert_source import Source, needed
from ._datasets import rows_of
from ._errors import ConfigurationError
from ._json_lines import JsonLines, is_json_lines
from ._scratch import Scratch
from ._source_files import HDF5, RIEGELI, folder_of, indexed_folder, is_lmdb, kind_of, start_of, table_files
from ._source_folders import Folder

_LMDB = "data.mdb"


def _reader(module: str, package: str, extra: str, what: str) -> Any:
    """Returns a module of this package that imports a library."""
    try:
        return importlib.import_module(f"penstock.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("penstock"):
            raise
        raise needed(package, extra, what) from None


def open_source(
    source: Any, options: ColumnOptions, split: str, trust: bool = False, scratch: Optional[Scratch] = None
) -> Source:
    """Returns the source for an argument of convert(). `scratch` gets copies of remote files."""
    scratch = scratch or Scratch()
    if not isinstance(source, (str, os.PathLike)):
        module = type(source).__module__.split(".")[0]
        if module == "datasets" and hasattr(source, "with_format") and hasattr(source, "__len__"):
            reader = _reader("_hugging_face", "datasets", "hf", "a data set of Hugging Face")
            made: Source = reader.given(f"the {type(source).__name__}", source, options, scratch)
            return made
        _no_split(split, f"the {type(source).__name__}")
        return rows_of(source, options)
    name = path_text("source", source).removeprefix("file://")
    if name.startswith("hf://"):
        made = _reader("_hugging_face", "datasets", "hf", name).hub(name[len("hf://") :], options, split, scratch)
        return made
    folder = folder_of(name)
    if folder is not None:
        found = _from_folder(folder, options, split, trust, scratch)
        if found is not None:
            return found
    _no_split(split, name)
    return _from_files(name, table_files(name, folder), options, scratch)


def _from_folder(folder: Folder, options: ColumnOptions, split: str, trust: bool, scratch: Scratch) -> Optional[Source]:
    """Returns the source of a folder that is one data set, or None for a folder of single files."""
    made: Source
    if folder.facts("dataset_dict.json") or folder.facts("state.json"):
        made = _reader("_hugging_face", "datasets", "hf", folder.path).saved(folder, options, split, scratch)
        return made
    indexed = indexed_folder(folder, split)
    if indexed is not None:
        inside, kind, index = indexed
        if kind == "mds":
            made = _reader("_mds", "mosaicml-streaming", "mds", inside.path).Mds(inside, index, options, trust, scratch)
        else:
            made = _reader("_litdata", "litdata", "litdata", inside.path).LitData(inside, index, options, trust, scratch)
        return made
    _no_split(split, folder.path)
    if folder.facts(_LMDB):
        made = _reader("_lmdb", "lmdb", "lmdb", folder.path).Lmdb(folder.path, folder.at(_LMDB), options, scratch)
        return made
    return None


def _from_files(name: str, paths: List[str], options: ColumnOptions, scratch: Scratch) -> Source:
    made: Source
    start = start_of(paths[0])
    if start.startswith(HDF5):
        if len(paths) > 1:
            raise ConfigurationError(f"{name} names {len(paths)} HDF5 files; convert them one by one")
        made = _reader("_hdf5", "h5py", "hdf5", paths[0]).Hdf5(paths[0], options)
        return made
    if is_lmdb(start) and len(paths) == 1:
        made = _reader("_lmdb", "lmdb", "lmdb", paths[0]).Lmdb(paths[0], paths[0], options, scratch)
        return made
    if start.startswith(RIEGELI):
        reader = _reader("_array_record", "array_record", "arrayrecord", paths[0])
        made = reader.ArrayRecords(name, paths, options, scratch)
        return made
    if is_json_lines(paths[0]):
        return JsonLines(name, paths, options)
    if kind_of(paths[0]) is None:
        raise ConfigurationError(
            f"{paths[0]} is neither a Parquet, Arrow, Feather, HDF5 or ArrayRecord file, nor JSON lines, nor an LMDB"
        )
    made = _reader("_tables", "pyarrow", "parquet", paths[0]).Tables(name, paths, options)
    return made


def _no_split(split: str, name: str) -> None:
    if split:
        raise ConfigurationError(f"split={split!r}: {name} has no splits")
