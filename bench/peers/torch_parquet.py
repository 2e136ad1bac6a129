"""torch's DataLoader and pyarrow on a Parquet file of photographs: torch_parquet.py FILE WORKERS (see turns.py).

It has a persistent worker process for each CPU. A worker reads its share of the shuffled row groups, some at once. It shuffles
their rows, and decodes and augments each row.
"""

import sys

import numpy as np
import torch
import torch_photos
from pyarrow import parquet

_SEED, _GROUPS_AT_ONCE = 17, 4


class Rows(torch.utils.data.IterableDataset):
    def __init__(self, path):
        self.path = path
        self.recipe = torch_photos.Recipe()
        self.epoch = 0  # a worker's copy counts for itself

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        random = np.random.default_rng([_SEED, self.epoch])
        self.epoch += 1
        with parquet.ParquetFile(self.path, memory_map=True) as file:
            groups = random.permutation(file.num_row_groups)[worker.id :: worker.num_workers]
            for at in range(0, len(groups), _GROUPS_AT_ONCE):
                table = file.read_row_groups(groups[at : at + _GROUPS_AT_ONCE], use_threads=False)
                images, labels = table["image"], table["label"].to_numpy()
                for i in random.permutation(len(table)):
                    yield self.recipe(images[i].as_buffer()), labels[i]


def main():
    torch_photos.serve("pyarrow", torch_photos.loader(Rows(sys.argv[1]), int(sys.argv[2])))


if __name__ == "__main__":
    main()
