"""Finds the files of a source of `convert`, and their kind. Needs no library."""

from __future__ import annotations

import glob as globs
import json
import os
from typing import Any, Dict, List, Optional, Tuple

from ._errors import ConfigurationError
from ._remote_files import Facts, is_remote, open_unbuffered, remote_files

#: Names of table files, for folders.
SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc", ".arrows", ".array_record")


def table_files(source: str) -> List[str]:
    """Returns the files of a path, a folder or a glob, in the order of their names. Hidden files are left out."""
    if is_remote(source):
        found = remote_files(source, SUFFIXES)
        if not found:
            raise ConfigurationError(
                f"{source} is no file, and no folder of files that end in {', '.join(SUFFIXES)}; copy data of other formats to "
                "a disk, or mount the storage"
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


def _index_of(folder: str) -> Tuple[str, Dict[str, Any]]:
    """Returns the kind of a folder ("mds", "litdata" or "") by its index.json, and the index."""
    path = os.path.join(folder, "index.json")
    try:
        with open(path, encoding="utf-8") as file:
            index = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}; copy the file again") from None
    kinds = {"shards": "mds", "chunks": "litdata"}
    return next(((kind, index) for key, kind in kinds.items() if isinstance(index, dict) and key in index), ("", {}))


def indexed_folder(folder: str, split: str) -> Optional[Tuple[str, str, Dict[str, Any]]]:
    """Returns the folder of an MDS or LitData data set, its kind and its index. Without an index of its own, a folder may
    hold one such folder for each split. Returns None if there is no such data set.
    """
    kind, index = _index_of(os.path.join(folder, split))
    if kind:
        return os.path.join(folder, split) if split else folder, kind, index
    found = {name: _index_of(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}
    splits = [name for name, (kind, _) in found.items() if kind]
    if not splits:
        return None
    if split or len(splits) > 1:
        raise ConfigurationError(f"{folder} has the splits {', '.join(splits)}; give one as split (--split)")
    return (os.path.join(folder, splits[0]), *found[splits[0]])


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
