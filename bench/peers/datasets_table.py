"""Hugging Face datasets on a Parquet file: datasets_table.py FILE CACHE_FOLDER numpy|arrow|iterable (see turns.py).

datasets writes the table into an Arrow file in CACHE_FOLDER and maps it into memory.

  numpy     shuffle() makes shuffled indices, and the format "numpy" makes arrays
  arrow     the same indices, and the format "arrow": the loop takes an array from each Arrow table
  iterable  the format "arrow", and to_iterable_dataset() with a shuffle buffer instead of indices
"""

import sys

import datasets
import turns

_SEED, _SHARDS, _SHUFFLE_ROWS = 17, 8, 10_000


def from_arrow(table):
    return table["numbers"].combine_chunks().flatten().to_numpy().reshape(turns.BATCH, -1)


def main():
    path, cache, kind = sys.argv[1:]
    table = datasets.Dataset.from_parquet(path, cache_dir=cache)
    if kind == "numpy":
        rows, array = table.with_format("numpy").shuffle(seed=_SEED), lambda batch: batch["numbers"]
    else:
        rows, array = table.with_format("arrow"), from_arrow
        if kind == "iterable":
            rows = rows.to_iterable_dataset(num_shards=_SHARDS).shuffle(seed=_SEED, buffer_size=_SHUFFLE_ROWS)
        else:
            rows = rows.shuffle(seed=_SEED)

    def epoch():
        for batch in rows.iter(turns.BATCH, drop_last_batch=True):
            yield array(batch)

    turns.serve("datasets", epoch, "numbers")


if __name__ == "__main__":
    main()
