"""Grain on rows of tokens: grain_tokens.py FILE WORKERS (see turns.py).

grain.MapDataset: source, shuffle, batch. With 0 WORKERS, the loop's thread makes the batches: on two CPUs, one or more read
threads are slower. Otherwise mp_prefetch has WORKERS processes of one thread each, with up to eight batches in shared memory.
"""

import sys

import grain
import turns
from token_rows import TokenRows


def main():
    workers = int(sys.argv[2])
    rows = grain.MapDataset.source(TokenRows(sys.argv[1])).seed(17).shuffle().batch(turns.BATCH, drop_remainder=True)
    if workers == 0:
        dataset = rows.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    else:
        dataset = rows.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=2))
        dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=8))
    turns.serve("Grain", lambda: iter(dataset), "tokens")


if __name__ == "__main__":
    main()
