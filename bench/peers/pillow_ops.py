"""Pillow's own ops on a 224 x 224 RGB image, for ops_bench. Prints a line "OP NANOSECONDS-PER-PIXEL" for each."""

import io
import time

from PIL import Image, ImageEnhance, ImageFilter, ImageOps

SIDE = 224
image = Image.frombytes("RGB", (SIDE, SIDE), bytes(min(255, i % (SIDE * 3) // 6 + i // (SIDE * 6) + i * 7919 % 20)
                                                   for i in range(SIDE * SIDE * 3)))


def hue(turn):
    h, s, v = image.convert("HSV").split()
    h = h.point([(x + int(turn * 255)) % 256 for x in range(256)])
    return Image.merge("HSV", (h, s, v)).convert("RGB")


def jpeg(quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    Image.open(buffer).load()


def shuffle():
    r, g, b = image.split()
    return Image.merge("RGB", (b, g, r))


OPS = {
    "brightness": lambda: ImageEnhance.Brightness(image).enhance(1.4),
    "contrast": lambda: ImageEnhance.Contrast(image).enhance(1.4),
    "saturation": lambda: ImageEnhance.Color(image).enhance(1.4),
    "sharpness": lambda: ImageEnhance.Sharpness(image).enhance(1.5),
    "hue": lambda: hue(0.1),
    "grayscale": lambda: image.convert("L").convert("RGB"),
    "posterize": lambda: ImageOps.posterize(image, 4),
    "solarize": lambda: ImageOps.solarize(image, 128),
    "invert": lambda: ImageOps.invert(image),
    "equalize": lambda: ImageOps.equalize(image),
    "autocontrast": lambda: ImageOps.autocontrast(image),
    "gamma": lambda: image.point([int(255 * (x / 255) ** 0.7 + 0.5) for x in range(256)] * 3),
    "channel_shuffle": shuffle,
    "gaussian_blur": lambda: image.filter(ImageFilter.GaussianBlur(1.3)),
    "jpeg_distortion": lambda: jpeg(50),
    "rotate": lambda: image.rotate(13.5, Image.BILINEAR),
    "affine": lambda: image.transform((SIDE, SIDE), Image.AFFINE, (0.97, 0.3, -30, -0.23, 0.97, 29), Image.BILINEAR),
    "perspective": lambda: image.transform((SIDE, SIDE), Image.PERSPECTIVE,
                                           (1.1, 0.05, -9, 0.04, 1.05, -5, 0.0004, 0.0002), Image.BILINEAR),
    "zoom_out": lambda: ImageOps.expand(image, (30, 30, 82, 82)),
    "random_crop": lambda: ImageOps.expand(image, 4).crop((10, 12, 210, 212)),
    "center_crop": lambda: image.crop((12, 12, 212, 212)),
    "random_horizontal_flip": lambda: image.transpose(Image.FLIP_LEFT_RIGHT),
    "random_vertical_flip": lambda: image.transpose(Image.FLIP_TOP_BOTTOM),
    "resize": lambda: image.resize((160, 160), Image.BILINEAR),
    "random_resized_crop": lambda: image.crop((30, 30, 190, 190)).resize((SIDE, SIDE), Image.BILINEAR),
}

for name, op in OPS.items():
    op()
    best = 1e9
    for _ in range(15):
        begin = time.thread_time()
        for _ in range(10):
            op()
        best = min(best, (time.thread_time() - begin) / 10)
    print(name, best * 1e9 / SIDE**2)
