"""FFCV: ffcv_loader.py PHOTOS_FOLDER FILE THREADS RECORDS [--raw] (see turns.py).

Writes FILE first if it does not exist: JPEGs ("jpg", quality 90, FFCV's default) of the photographs, repeated up to RECORDS.
The other loaders read the photographs' own bytes. Reads as FFCV's ImageNet example does: RandomResizedCropRGBImageDecoder
(decodes the whole image, resizes with OpenCV's INTER_AREA), RandomHorizontalFlip, ToTensor, a random order, os_cache because
the file fits in memory, and a thread for each CPU. Batches stay NHWC and on the host.

--raw: the file has uncompressed images of 224x224, which need no work.
"""

import glob
import os
import sys

import numpy as np
import turns
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import (
    IntDecoder,
    RandomResizedCropRGBImageDecoder,
    SimpleRGBImageDecoder,
)
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image


class Photographs:
    def __init__(self, folder, records, resize):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.JPEG")))
        self.records = records
        self.resize = resize

    def __len__(self):
        return self.records

    def __getitem__(self, i):
        label = i % len(self.paths)
        image = Image.open(self.paths[label]).convert("RGB")
        return np.asarray(image.resize((turns.IMAGE_SIDE, turns.IMAGE_SIDE)) if self.resize else image), label


def main():
    photos, path, threads, records = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    raw = "--raw" in sys.argv[5:]
    if not os.path.exists(path):
        mode = {"write_mode": "raw"} if raw else {"write_mode": "jpg", "jpeg_quality": 90}
        fields = {"image": RGBImageField(**mode), "label": IntField()}
        writer = DatasetWriter(path + ".part", fields, num_workers=threads)
        writer.from_indexed_dataset(Photographs(photos, records, resize=raw))
        os.rename(path + ".part", path)
    if raw:
        image = [SimpleRGBImageDecoder(), ToTensor()]
    else:
        image = [
            RandomResizedCropRGBImageDecoder((turns.IMAGE_SIDE, turns.IMAGE_SIDE), scale=(0.08, 1), ratio=(3 / 4, 4 / 3)),
            RandomHorizontalFlip(0.5),
            ToTensor(),
        ]
    loader = Loader(
        path,
        batch_size=turns.BATCH,
        num_workers=threads,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=True,
        pipelines={"image": image, "label": [IntDecoder(), ToTensor()]},
    )

    def epoch():
        for images, _ in loader:
            yield images.numpy()

    turns.serve("FFCV", epoch)


if __name__ == "__main__":
    main()
