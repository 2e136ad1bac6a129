"""RandomResizedCrop's rectangle, as torchvision draws it, for loaders without it."""

import math


def random_crop(rng, width, height, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """Returns (left, top, width, height). `rng` has uniform and randint of random.Random, which include both ends."""
    for _ in range(10):
        area = width * height * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, width - w), rng.randint(0, height - h), w, h
    w, h = min(width, round(height * ratio[1])), min(height, round(width / ratio[0]))
    return (width - w) // 2, (height - h) // 2, w, h
