"""torch's DataLoader on rows of tokens: torch_tokens.py FILE WORKERS [--stack] (see turns.py).

The default sampler shuffles the rows. With 0 WORKERS, the loop's thread makes the batches. Otherwise persistent worker processes
make them. The default collate function makes a tensor of each row first. --stack replaces it by one call of NumPy.
"""

import sys

import numpy as np
import torch
import turns
from token_rows import TokenRows


def stack(rows):
    return torch.from_numpy(np.stack(rows))


def main():
    workers = int(sys.argv[2])
    loader = torch.utils.data.DataLoader(
        TokenRows(sys.argv[1]),
        batch_size=turns.BATCH,
        shuffle=True,
        num_workers=workers,
        drop_last=True,
        persistent_workers=workers > 0,
        collate_fn=stack if "--stack" in sys.argv[3:] else None,
    )

    def epoch():
        for batch in loader:
            yield batch.numpy()

    turns.serve("torch DataLoader", epoch, "tokens")


if __name__ == "__main__":
    main()
