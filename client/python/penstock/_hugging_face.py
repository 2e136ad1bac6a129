"""A data set of Hugging Face as a source of `convert`: its rows as Arrow tables, with undecoded images."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, Union

import datasets
from datasets.table import embed_table_storage

from ._arrow_columns import arrow_columns, encoded_batch
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, Frames, Piece, Source
from ._errors import ConfigurationError, DataError
from ._remote_files import facts_of, is_remote
from ._saved_sets import SavedFiles, splits_of
from ._scratch import Scratch
from ._source_folders import Folder

_SAMPLE = 32  # rows whose size stands for all


def _is_embedded(feature: Any) -> bool:
    """Returns whether a feature holds files, whose bytes may be elsewhere."""
    if isinstance(feature, dict):
        return any(map(_is_embedded, feature.values()))
    return hasattr(feature, "embed_storage") or (hasattr(feature, "feature") and _is_embedded(feature.feature))


class _Whole:
    """A datasets.Dataset, which the library has opened, as one file."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset.with_format("arrow")
        self.counts = [len(dataset)]

    @property
    def identity(self) -> str:
        found = [(file["filename"], facts_of(file["filename"])) for file in self._dataset.cache_files]
        return "".join(f"{os.path.basename(name)} {facts.size} {facts.state}\n" for name, facts in found)

    def sample(self) -> Any:
        return self._dataset

    def table(self, _: int, begin: int, end: int) -> Any:
        return self._dataset[begin:end]

    def check_names(self, table: Any) -> None:
        """Rows of this machine may name its files."""


class HuggingFace(Source):
    """The rows of a datasets.Dataset, or of the files of one."""

    def __init__(self, name: str, rows: Union[_Whole, SavedFiles], options: ColumnOptions, scratch: Scratch) -> None:
        self.name = name
        self._rows = rows
        self._options = options
        self._scratch = scratch
        try:
            some = rows.sample()
        except (OSError, ValueError) as error:
            raise DataError(f"{name}: {error}") from None
        self._files = _is_embedded(dict(some.features))
        self._metadata = some.features.arrow_schema.metadata
        sample = self._embedded(some.with_format("arrow")[: min(_SAMPLE, len(some))], 0)
        self._schema = sample.schema
        self._columns = arrow_columns(sample.schema, name, options)
        self.columns = [column.column for column in self._columns]
        size = sample.nbytes // max(1, sample.num_rows)
        part = max(1, min(1 << 14, PIECE_BYTES // max(1, size)))
        self.pieces = []
        for number, count in enumerate(rows.counts):
            before = self.rows
            self.pieces += [Piece(before + at, min(part, count - at), (number, at)) for at in range(0, count, part)]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_columns": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._columns = arrow_columns(self._schema, self.name, self._options)

    def _embedded(self, table: Any, begin: int) -> Any:
        """Returns a table in one piece. Files that its rows name become bytes, as in push_to_hub."""
        if self._files:
            self._rows.check_names(table)
            try:
                table = embed_table_storage(table.replace_schema_metadata(self._metadata))
            except (OSError, ValueError) as error:
                raise DataError(f"{self.name}, rows {begin} to {begin + table.num_rows}: {error}") from None
        return table.combine_chunks()

    def _table(self, piece: Piece, skip: int) -> Any:
        number, at = piece.place
        try:
            table = self._rows.table(number, at + skip, at + piece.rows)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.name}, rows {piece.begin + skip} to {piece.begin + piece.rows}: {error}") from None
        return self._embedded(table, piece.begin + skip)

    def written(self, piece: Piece) -> None:
        number, at = piece.place
        self._scratch.drop_before(number + (at + piece.rows == self._rows.counts[number]))

    def arguments(self) -> Dict[str, str]:
        digest = hashlib.sha256(repr(self.columns).encode())
        digest.update(self._rows.identity.encode())
        content = f"{self.rows} rows, {digest.hexdigest()[:16]}"
        return {"source": self.name, "content": content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        begin = piece.begin + skip
        missing: Dict[str, int] = {}
        out: List[bytes] = []
        for batch in self._table(piece, skip).to_batches():
            out.append(encoded_batch(self._columns, batch, self.name, begin, missing))
            begin += batch.num_rows
        return Frames(b"".join(out), piece.rows - skip, missing, {})


def given(name: str, dataset: Any, options: ColumnOptions, scratch: Scratch) -> HuggingFace:
    """Opens a datasets.Dataset."""
    return HuggingFace(name, _Whole(dataset), options, scratch)


def _chosen(name: str, names: List[str], split: str) -> str:
    """Returns a split of a data set."""
    if not split and len(names) == 1:
        return names[0]
    if split not in names:
        raise ConfigurationError(f"{name} has the splits {', '.join(names)}; give one as split (--split)")
    return split


def _no_split(name: str, split: str) -> None:
    if split:
        raise ConfigurationError(f"{name} has no splits; leave out split (--split)")


def _one(name: str, found: Any, split: str) -> Any:
    """Returns the data set, or its split."""
    if isinstance(found, datasets.Dataset):
        _no_split(name, split)
        return found
    return found[_chosen(name, list(found), split)]


def saved(folder: Folder, options: ColumnOptions, split: str, scratch: Scratch) -> HuggingFace:
    """Opens a folder of `Dataset.save_to_disk`."""
    path = folder.path
    name = path + (f", split {split}" if split else "")
    if is_remote(path):
        names = splits_of(folder)
        if names is None:
            _no_split(path, split)
        else:
            folder = Folder(folder.at(_chosen(path, names, split)))
        return HuggingFace(name, SavedFiles(folder, scratch), options, scratch)
    try:
        found = datasets.load_from_disk(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None
    return HuggingFace(name, _Whole(_one(path, found, split)), options, scratch)


def hub(name: str, options: ColumnOptions, split: str, scratch: Scratch) -> HuggingFace:
    """Opens hf://NAME: a data set of the hub, or of the local cache. Refuses a library that runs the scripts of data sets."""
    if int(datasets.__version__.split(".")[0]) < 4:
        raise ConfigurationError(
            f"datasets {datasets.__version__} may run a script of hf://{name}: pip install 'datasets>=4', which runs none"
        )
    try:
        found = datasets.load_dataset(name)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"hf://{name}: {error}") from None
    url = f"hf://{name}"
    return given(url + (f", split {split}" if split else ""), _one(url, found, split), options, scratch)
