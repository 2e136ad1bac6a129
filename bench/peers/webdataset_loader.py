"""webdataset: webdataset_loader.py FOLDER WORKERS (see turns.py).

The folder has tar shards of samples with jpg and cls. WebDataset shuffles the shards, and the samples in a buffer. WebLoader
has a persistent worker process for each CPU. Each worker reads its own shards and makes its own batches. The loop does not
mix batches of different workers: that would copy each row again. torch's default_collate writes a batch into shared memory.
"""

import glob
import os
import sys

import torch_photos
import turns
import webdataset
from torch.utils.data import default_collate

_SEED, _SHUFFLE_ROWS = 17, 1000


def main():
    shards = sorted(glob.glob(os.path.join(sys.argv[1], "*.tar")))
    samples = (
        webdataset.WebDataset(shards, shardshuffle=len(shards), seed=_SEED)
        .shuffle(_SHUFFLE_ROWS)
        .to_tuple("jpg", "cls")
        .map_tuple(torch_photos.Recipe(), int)
        .batched(turns.BATCH, collation_fn=default_collate, partial=False)
    )
    batches = webdataset.WebLoader(samples, batch_size=None, num_workers=int(sys.argv[2]), persistent_workers=True)
    torch_photos.serve("webdataset", batches)


if __name__ == "__main__":
    main()
