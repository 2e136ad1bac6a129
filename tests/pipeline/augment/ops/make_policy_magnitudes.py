#!/usr/bin/env python3
"""Writes the magnitudes of torchvision's policies, and the results of their ops on a picture at each magnitude.

    pip install torch==2.15.0 torchvision==0.29.2
    make_policy_magnitudes.py POLICY_MAGNITUDES.txt POLICY_PIXELS.txt

A line of POLICY_MAGNITUDES.txt: the policy, the op, the number of bins, the image's width and height, then CRC-32 of the
magnitudes as little-endian float32, all bins in order. A line of POLICY_PIXELS.txt: the policy, the op, the number of
bins, the bin, + or -, CRC-32 of the resulting picture, NEAREST, black outside.

torch's linspace fuses product and sum if the CPU can (AVX2, AVX-512, NEON). Without that (ATEN_CPU_CAPABILITY=default)
some magnitudes differ in their last bit.
"""
import sys, zlib
import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment

assert torch.backends.cpu.get_cpu_capability() != "DEFAULT", "this CPU does not fuse"
SIZES = [(224, 224), (331, 662), (32, 32), (97, 1031)]  # width, height
POLICIES = {
    "auto_augment": (autoaugment.AutoAugment(), [10]),
    "rand_augment": (autoaugment.RandAugment(), [31, 10, 11, 64]),
    "trivial_augment_wide": (autoaugment.TrivialAugmentWide(), [31, 10, 2, 3, 7, 16, 100, 1024]),
    "augmix": (autoaugment.AugMix(), [10]),
}

with open(sys.argv[1], "w") as out:
    print("# by make_policy_magnitudes.py: policy, op, bins, width, height, CRC-32 of float32 magnitudes", file=out)
    for name, (policy, all_bins) in POLICIES.items():
        sized = name != "trivial_augment_wide"
        for bins in all_bins:
            for width, height in SIZES if sized else SIZES[:1]:
                space = policy._augmentation_space(bins, (height, width)) if sized else policy._augmentation_space(bins)
                for op, (magnitudes, _) in space.items():
                    if magnitudes.ndim == 0:
                        continue
                    crc = zlib.crc32(magnitudes.numpy().astype("<f4").tobytes())
                    print(name, op, bins, width, height, f"{crc:08x}", file=out)

WIDTH, HEIGHT = 61, 47
picture = Image.frombytes("RGB", (WIDTH, HEIGHT), bytes((x * x * (c + 1) + y * (31 + 7 * c) + x * y) // 8 % 256
                                                         for y in range(HEIGHT) for x in range(WIDTH) for c in range(3)))
with open(sys.argv[2], "w") as out:
    print("# by make_policy_magnitudes.py: policy, op, bins, bin, sign, CRC-32 of RGB", file=out)
    for name, bins in (("auto_augment", 10), ("rand_augment", 31), ("trivial_augment_wide", 31), ("augmix", 10)):
        policy = POLICIES[name][0]
        size = () if name == "trivial_augment_wide" else ((HEIGHT, WIDTH),)
        for op, (magnitudes, signed) in policy._augmentation_space(bins, *size).items():
            for bin in range(bins if magnitudes.ndim else 1):
                for sign in (1, -1) if signed else (1,):
                    magnitude = sign * float(magnitudes[bin].item() if magnitudes.ndim else 0.0)
                    if op == "Posterize" and magnitude == 0:
                        continue  # Pillow 13 rejects 0 bits; earlier versions returned black
                    made = autoaugment._apply_op(picture, op, magnitude, InterpolationMode.NEAREST, None)
                    print(name, op, bins, bin, "+" if sign > 0 else "-", f"{zlib.crc32(made.tobytes()):08x}", file=out)
