"""torch's DataLoader: torch_loader.py PHOTOS_FOLDER WORKERS RECORDS [--tensors] (see turns.py).

It has a persistent worker process for each CPU. The photographs are files in the page cache, repeated up to RECORDS.
RandomResizedCrop (bilinear, antialiased), RandomHorizontalFlip, uint8 tensors. Without --tensors it follows torchvision's usual
ImageNet training: Pillow and transforms. With --tensors it follows torchvision's advice for speed: decode_image, and
transforms.v2 on uint8 tensors.
"""

import glob
import os
import sys

import torch
import torch_photos
import turns
from PIL import Image
from torchvision import transforms


def open_with_pillow(path):
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class Photographs(torch.utils.data.Dataset):
    def __init__(self, folder, records, tensors):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.JPEG")))
        self.records = records
        if tensors:
            self.open = torch_photos.open_as_tensor
            self.transform = torch_photos.augmentation()
        else:
            self.open = open_with_pillow
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
        return self.transform(self.open(self.paths[label])), label


def main():
    photographs = Photographs(sys.argv[1], int(sys.argv[3]), "--tensors" in sys.argv[4:])
    torch_photos.serve("torch DataLoader", torch_photos.loader(photographs, int(sys.argv[2]), shuffle=True))


if __name__ == "__main__":
    main()
