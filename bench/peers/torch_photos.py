"""The common part of the peers that decode with torchvision: decode_image, and transforms.v2 on uint8 tensors."""

import torch
import turns
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import v2


def open_as_tensor(path):
    return decode_image(read_file(path), ImageReadMode.RGB)


def augmentation():
    return v2.Compose([v2.RandomResizedCrop(turns.IMAGE_SIDE, antialias=True), v2.RandomHorizontalFlip(0.5)])


class Recipe:
    """Makes a row's image of the bytes of a photograph. Workers can unpickle it."""

    def __init__(self):
        self.augment = augmentation()

    def __call__(self, data):
        writable = bytearray(data)  # torch warns about other memory
        return self.augment(decode_image(torch.frombuffer(writable, dtype=torch.uint8), ImageReadMode.RGB))


def loader(dataset, workers, **options):
    """Returns a DataLoader of whole batches with persistent worker processes."""
    return torch.utils.data.DataLoader(
        dataset, batch_size=turns.BATCH, num_workers=workers, drop_last=True, persistent_workers=True, **options
    )


def serve(name, batches, column=0):
    """Answers as turns.serve. Each iteration of `batches` is an epoch. `column` is the index or key of a batch's images."""

    def epoch():
        for batch in batches:
            yield batch[column].numpy()

    turns.serve(name, epoch)
