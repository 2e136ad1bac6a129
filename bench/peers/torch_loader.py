"""torch's DataLoader with Pillow: torch_loader.py PHOTOS_FOLDER WORKERS RECORDS (see turns.py).

The usual ImageNet training of torchvision: a file is opened with Pillow, RandomResizedCrop (bilinear, antialiased),
RandomHorizontalFlip, uint8 tensors; a worker process for each CPU, kept over the epochs. The photographs are files in the
page cache, gone round until there are RECORDS.
"""

import glob
import os
import sys

import torch
import turns
from PIL import Image
from torchvision import transforms


class Photographs(torch.utils.data.Dataset):
    def __init__(self, folder, records):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.JPEG")))
        self.records = records
        self.transform = transforms.Compose(
            [
                transforms.RandomResizedCrop(turns.IMAGE_SIDE),
                transforms.RandomHorizontalFlip(),
                transforms.PILToTensor(),
            ]
        )

    def __len__(self):
        return self.records

    def __getitem__(self, i):
        label = i % len(self.paths)
        with open(self.paths[label], "rb") as file:
            image = Image.open(file).convert("RGB")
        return self.transform(image), label


def main():
    loader = torch.utils.data.DataLoader(
        Photographs(sys.argv[1], int(sys.argv[3])),
        batch_size=turns.BATCH,
        shuffle=True,
        num_workers=int(sys.argv[2]),
        drop_last=True,
        persistent_workers=True,
    )

    def epoch():
        for images, _ in loader:
            assert images.shape == (turns.BATCH, 3, turns.IMAGE_SIDE, turns.IMAGE_SIDE)
            assert images.dtype == torch.uint8
            yield len(images)

    turns.serve("torch DataLoader", epoch)


if __name__ == "__main__":
    main()
