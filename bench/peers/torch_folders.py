"""torch's DataLoader and torchvision's ImageFolder: torch_folders.py FOLDER WORKERS (see turns.py).

The folder has a folder of photographs for each class. A persistent worker process for each CPU reads, decodes and augments.
"""

import sys

import torch_photos
from torchvision.datasets import ImageFolder


def main():
    folder = ImageFolder(sys.argv[1], torch_photos.augmentation(), loader=torch_photos.open_as_tensor)
    torch_photos.serve("ImageFolder", torch_photos.loader(folder, int(sys.argv[2]), shuffle=True))


if __name__ == "__main__":
    main()
