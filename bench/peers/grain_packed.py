"""Grain on packed documents: grain_packed.py PREFIX WORKERS FirstFit|BestFit (see turns.py).

grain.MapDataset: source, shuffle; then the packing with 64 open rows, batch. WORKERS as in grain_tokens.py. The rows have segment ids
and positions, as those of Penstock. Prints how full the rows of an epoch are.
"""

import sys

import grain
import turns
from token_rows import Documents


def main():
    workers = int(sys.argv[2])
    documents = grain.MapDataset.source(Documents(sys.argv[1])).seed(17).shuffle()
    options = grain.ReadOptions(num_threads=min(workers, 1), prefetch_buffer_size=min(workers, 1) * 16)
    length = {"packed": turns.ROWS["packed"][1]}
    packing = getattr(grain.experimental, f"{sys.argv[3]}PackIterDataset")
    rows = packing(documents.to_iter_dataset(options), length_struct=length, num_packing_bins=64)
    rows = rows.batch(turns.BATCH, drop_remainder=True)
    if workers > 0:
        rows = rows.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=8))

    def epoch():
        for batch in rows:
            yield batch["packed"]

    filled = total = 0
    for batch in rows:
        filled += int((batch["packed_segment_ids"] > 0).sum())
        total += batch["packed_segment_ids"].size
    print(f"Grain: {filled / total:.4f} of the positions are tokens", file=sys.stderr)
    turns.serve("Grain", epoch, "packed")


if __name__ == "__main__":
    main()
