"""Grain: grain_loader.py PHOTOS_FOLDER WORKERS RECORDS (see turns.py).

grain.MapDataset: source, shuffle, random_map, batch, and mp_prefetch with a worker process for each CPU, which puts batches
into shared memory. Grain has no decoder: Pillow decodes, and crops and resizes (bilinear, antialiased) in one call. NHWC. The
photographs are files in the page cache, repeated up to RECORDS.
"""

import glob
import os
import sys

import grain
import numpy as np
import turns
from crops import random_crop
from PIL import Image

SIZE = (turns.IMAGE_SIDE, turns.IMAGE_SIDE)


class Draws:
    """A numpy.random.Generator with the methods of random.Random."""

    def __init__(self, generator):
        self.uniform = generator.uniform
        self.randint = lambda low, high: int(generator.integers(low, high + 1))


class Photographs:
    def __init__(self, folder, records):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.JPEG")))
        self.records = records

    def __len__(self):
        return self.records

    def __getitem__(self, i):
        return self.paths[i % len(self.paths)], i % len(self.paths)


def augment(record, rng):
    path, label = record
    with open(path, "rb") as file:
        image = Image.open(file).convert("RGB")
    x, y, width, height = random_crop(Draws(rng), *image.size)
    image = image.resize(SIZE, Image.Resampling.BILINEAR, box=(x, y, x + width, y + height))
    if rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return {"image": np.asarray(image), "label": label}


def main():
    workers, records = int(sys.argv[2]), int(sys.argv[3])
    dataset = (
        grain.MapDataset.source(Photographs(sys.argv[1], records))
        .seed(17)
        .shuffle()
        .random_map(augment)
        .batch(turns.BATCH, drop_remainder=True)
        .to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=2))
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    )

    def epoch():
        for batch in dataset:
            yield batch["image"]

    turns.serve("Grain", epoch)


if __name__ == "__main__":
    main()
