"""Hugging Face datasets, streaming a Parquet file of photographs: datasets_photos.py FILE CACHE_FOLDER WORKERS (see turns.py).

reshard() makes a shard of each row group. DataLoader has a persistent worker process for each CPU. Each worker reads its own
shards, shuffles rows in a buffer, and decodes and augments them in map().
"""

import sys
from functools import partial

import datasets
import torch_photos
import turns

_SEED, _SHUFFLE_ROWS = 17, 1000


def row(recipe, example):
    return {"image": recipe(example["image"]), "label": example["label"]}


def main():
    path, cache, workers = sys.argv[1:]
    rows = datasets.load_dataset("parquet", data_files=path, split="train", streaming=True, cache_dir=cache).reshard()
    rows = rows.shuffle(seed=_SEED, buffer_size=_SHUFFLE_ROWS).map(partial(row, torch_photos.Recipe()))
    batches, epochs = torch_photos.loader(rows, int(workers)), 0

    def epoch():
        nonlocal epochs
        rows.set_epoch(epochs)
        epochs += 1
        for batch in batches:
            yield batch["image"].numpy()

    turns.serve("datasets", epoch)


if __name__ == "__main__":
    main()
