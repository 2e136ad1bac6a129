"""A data set of Hugging Face as a source of `convert`: its rows as Arrow tables, with undecoded images."""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List

import datasets
from datasets.table import embed_table_storage

from ._arrow_columns import arrow_columns, encoded_batch
from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, Frames, Piece, Source
from ._errors import ConfigurationError, DataError

_SAMPLE = 32  # rows whose size stands for all


def _is_embedded(feature: Any) -> bool:
    """Returns whether a feature holds files, whose bytes may be elsewhere."""
    if isinstance(feature, dict):
        return any(map(_is_embedded, feature.values()))
    return hasattr(feature, "embed_storage") or (hasattr(feature, "feature") and _is_embedded(feature.feature))


class HuggingFace(Source):
    """A datasets.Dataset."""

    def __init__(self, name: str, dataset: Any, options: ColumnOptions) -> None:
        self.name = name
        self._options = options
        self._files = _is_embedded(dict(dataset.features))
        self._metadata = dataset.features.arrow_schema.metadata
        self._dataset = dataset.with_format("arrow")
        count = len(dataset)
        self.pieces = []
        sample = self._table(0, min(_SAMPLE, count))
        self._schema = sample.schema
        self._columns = arrow_columns(sample.schema, name, options)
        self.columns = [column.column for column in self._columns]
        size = sample.nbytes // max(1, sample.num_rows)
        part = max(1, min(1 << 14, PIECE_BYTES // max(1, size)))
        self.pieces = [Piece(begin, min(part, count - begin), ()) for begin in range(0, count, part)]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_columns": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._columns = arrow_columns(self._schema, self.name, self._options)

    def _table(self, begin: int, end: int) -> Any:
        try:
            table = self._dataset[begin:end]
            if self._files:  # files that the rows name become bytes, as in push_to_hub
                table = embed_table_storage(table.replace_schema_metadata(self._metadata))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.name}, rows {begin} to {end}: {error}") from None
        return table.combine_chunks()

    def arguments(self) -> Dict[str, str]:
        digest = hashlib.sha256(repr(self.columns).encode())
        for file in self._dataset.cache_files:
            facts = os.stat(file["filename"])
            digest.update(f"{os.path.basename(file['filename'])} {facts.st_size} {facts.st_mtime_ns}\n".encode())
        content = f"{self.rows} rows, {digest.hexdigest()[:16]}"
        return {"source": self.name, "content": content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        begin, end = piece.begin + skip, piece.begin + piece.rows
        missing: Dict[str, int] = {}
        out: List[bytes] = []
        for batch in self._table(begin, end).to_batches():
            out.append(encoded_batch(self._columns, batch, self.name, begin, missing))
            begin += batch.num_rows
        return Frames(b"".join(out), piece.rows - skip, missing, {})


def _one(name: str, found: Any, split: str) -> Any:
    """Returns the split of a data set."""
    if isinstance(found, datasets.Dataset):
        if split:
            raise ConfigurationError(f"{name} has no splits; leave out split (--split)")
        return found
    names = list(found)
    if not split and len(names) == 1:
        return found[names[0]]
    if split not in names:
        raise ConfigurationError(f"{name} has the splits {', '.join(names)}; give one as split (--split)")
    return found[split]


def saved(path: str, options: ColumnOptions, split: str) -> HuggingFace:
    """Opens a folder of `Dataset.save_to_disk`."""
    try:
        found = datasets.load_from_disk(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}") from None
    return HuggingFace(path + (f", split {split}" if split else ""), _one(path, found, split), options)


def hub(name: str, options: ColumnOptions, split: str) -> HuggingFace:
    """Opens hf://NAME: a data set of the hub, or of the local cache. Refuses a library that runs the scripts of data sets."""
    if int(datasets.__version__.split(".")[0]) < 4:
        raise ConfigurationError(
            f"datasets {datasets.__version__} may run a script of hf://{name}: pip install 'datasets>=4', which runs none"
        )
    try:
        found = datasets.load_dataset(name)
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"hf://{name}: {error}") from None
    return HuggingFace(f"hf://{name}" + (f", split {split}" if split else ""), _one(f"hf://{name}", found, split), options)
