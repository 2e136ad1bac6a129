"""Finds the files of a source of `convert`, and their kind. Needs no library."""

from __future__ import annotations

import glob as globs
import os
from typing import Any, Dict, List, Optional, Tuple

from ._errors import ConfigurationError
from ._remote_files import Facts, entries_of, has_wildcards, is_remote, open_unbuffered, remote_files
from ._source_folders import Folder

_LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
#: Names of files in folders.
SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc", ".arrows", ".array_record", *_LINES)
#: ArrayRecord is a kind of Riegeli.
RIEGELI = b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"
HDF5 = b"\x89HDF"
_TABLES = (b"PAR1", b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")
_STARTS = (RIEGELI, HDF5, *_TABLES)
#: The index of a folder of MDS or LitData.
INDEX = "index.json"


def table_files(source: str, folder: Optional[Folder] = None) -> List[str]:
    """Returns the files of a path, a folder or a glob, in the order of their names. Hidden files are left out. `folder` has
    lists of remote folders.
    """
    if is_remote(source):
        found = remote_files(source, SUFFIXES, folder.entries if folder else entries_of)
        if not found:
            raise ConfigurationError(
                f"{source} is no file, no folder of files that end in {', '.join(SUFFIXES)}, and no data set of Hugging Face, "
                "MDS, LitData or LMDB"
            )
        return found
    if os.path.isdir(source):
        found = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(source)
            for name in names
            if name.endswith(SUFFIXES) and not name.startswith((".", "_"))
        ]
        if not found:
            raise ConfigurationError(f"{source} has no file that ends in {', '.join(SUFFIXES)}")
        return sorted(found)
    if os.path.exists(source):
        return [source]
    found = [path for path in globs.glob(source, recursive=True) if os.path.isfile(path)]
    if not found:
        raise ConfigurationError(f"there is no file {source}, and no file matches it as a glob")
    return sorted(found)


def folder_of(name: str) -> Optional[Folder]:
    """Returns the folder of that name. Returns None for a file of a known kind in a bucket, a glob, and no folder."""
    if is_remote(name):
        return None if has_wildcards(name) or _is_known_file(name) else Folder(name)
    return Folder(name) if os.path.isdir(name) else None


def _is_known_file(name: str) -> bool:
    if name.endswith(_LINES):
        return True
    try:
        start = start_of(name)
    except ConfigurationError as error:
        if error.code not in (None, "NOT_FOUND", "INVALID_ARGUMENT"):
            raise
        return False
    return start.startswith(_STARTS) or is_lmdb(start)


def start_of(path: str) -> bytes:
    """Returns the first bytes of a file, by which its kind is known."""
    try:
        with open_unbuffered(path) as file:
            return file.read(32)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None


def is_lmdb(start: bytes) -> bool:
    return start[16:20] == b"\xde\xc0\xef\xbe"


def _index_of(folder: Folder, name: str) -> Tuple[str, Dict[str, Any]]:
    """Returns the kind of a folder inside ("mds", "litdata" or "") by its index.json, and the index."""
    index = folder.read(os.path.join(name, INDEX))
    kinds = {"shards": "mds", "chunks": "litdata"}
    return next(((kind, index) for key, kind in kinds.items() if isinstance(index, dict) and key in index), ("", {}))


def indexed_folder(folder: Folder, split: str) -> Optional[Tuple[Folder, str, Dict[str, Any]]]:
    """Returns the folder of an MDS or LitData data set, its kind and its index. Without an index of its own, a folder may
    hold one such folder for each split. Returns None if there is no such data set.
    """
    kind, index = _index_of(folder, split)
    if kind:
        return Folder(folder.at(split)) if split else folder, kind, index
    found = {name: _index_of(folder, name) for name in folder.folders()}
    splits = [name for name, (kind, _) in found.items() if kind]
    if not splits:
        return None
    if split or len(splits) > 1:
        raise ConfigurationError(f"{folder.path} has the splits {', '.join(splits)}; give one as split (--split)")
    return (Folder(folder.at(splits[0])), *found[splits[0]])


def kind_of(path: str, facts: Optional[Facts] = None) -> Optional[str]:
    """Returns the kind of a table file ("parquet", "file" or "stream"), by its content, or None. `facts` are those of the
    file, if they are known.
    """
    try:
        with open_unbuffered(path, facts) as file:
            start = file.read(8)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "file"
    if start.startswith(b"FEA1"):
        raise ConfigurationError(f"{path} is a Feather file of version 1; write it again with version 2 (pyarrow.feather)")
    return "stream" if start.startswith(b"\xff\xff\xff\xff") else None
