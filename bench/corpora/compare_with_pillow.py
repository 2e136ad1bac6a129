#!/usr/bin/env python3
"""Runs Penstock and Pillow over folders of images and prints every file that they read differently.

    pip install pillow==13.0.0 numpy
    cmake --build build/release --target decode_files
    compare_with_pillow.py build/release/bin/decode_files FOLDER...

It downloads no images. FOLDER may have, for example, the test images of another project (docs/dev/image-corpora.md has the
results for 16 projects). It reads every file with the content or the name of a JPEG, PNG, WebP, BMP or GIF file. A file is

    equal           both read it, to the same pixels of convert("RGB") (of 16-bit gray: Pillow's high byte)
    both refuse     both reject it
    penstock only   Pillow rejects it
    pillow only     Penstock rejects it, with its message; "damaged": whether `lenient` reads the pixels that Pillow reads
    pixels          both read it, to different pixels
    upright         the orientation option and ImageOps.exif_transpose turn it differently
    indexed         restart indexing (penstock import) changes Pillow's result: pixels, number of frames, ICC profile

Exits with 1 if any file is "pixels", "upright" or "indexed".
"""

import argparse
import collections
import io
import os
import subprocess
import sys
import warnings

import numpy as np
from PIL import Image, ImageOps

NAMES = (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".bmp", ".dib", ".gif")


def is_ours(path):
    with open(path, "rb") as file:
        start = file.read(12)
    return (start[:3] == b"\xff\xd8\xff" or start[:8] == b"\x89PNG\r\n\x1a\n" or start[:2] == b"BM"
            or start[:6] in (b"GIF87a", b"GIF89a") or (start[:4] == b"RIFF" and start[8:] == b"WEBP")
            or path.lower().endswith(NAMES))


def files_of(folder):
    for where, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(where, name)
            if "\n" not in path and os.path.isfile(path) and is_ours(path):
                yield path


class Penstock:
    """Calls decode_files as a function."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def line(self):
        return self.process.stdout.readline().decode("utf-8", "replace").rstrip("\n")

    def picture(self, width, height, size):
        return np.frombuffer(self.process.stdout.read(int(size)), np.uint8).reshape(int(height), int(width), 3)

    def __call__(self, path):
        """Returns (state, message, pixels, orientation, upright pixels, restart-indexed file)."""
        self.process.stdin.write(os.fsencode(path) + b"\n")
        self.process.stdin.flush()
        state, _, rest = self.line().partition(" ")
        message, pixels, orientation, upright, indexed = rest, None, 1, None, None
        if state in ("ok", "damaged"):
            width, height, orientation, size, *words = rest.split(" ", 4)
            message = "".join(words)
            pixels = self.picture(width, height, size)
        line = self.line().split()
        if line[0] == "upright":
            upright = self.picture(*line[1:])
        line = self.line().split()
        if line[0] == "indexed":
            indexed = self.process.stdout.read(int(line[1]))
        return state, message, pixels, int(orientation), upright, indexed


def rgb(image):
    if image.mode.startswith("I;16"):
        raw = np.frombuffer(image.tobytes(), "<u2" if image.mode != "I;16B" else ">u2")
        image = Image.fromarray((raw >> 8).astype(np.uint8).reshape(image.height, image.width), "L")
    return np.asarray(image.convert("RGB"))


def pillow(source):
    """Returns (pixels, upright pixels, frames, ICC profile), or the exception's text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(source) as image:
                if image.format not in ("JPEG", "MPO", "PNG", "WEBP", "BMP", "DIB", "GIF"):
                    raise ValueError(f"Pillow takes it for {image.format}")
                frames, profile = getattr(image, "n_frames", 1), image.info.get("icc_profile")
                image.seek(0)
                image.load()
                return rgb(image), rgb(ImageOps.exif_transpose(image)), frames, profile
    except Exception as error:  # noqa: BLE001 - any exception of Pillow is a rejection
        return f"{type(error).__name__}: {error}".replace("\n", " ")


def unlike(ours, theirs):
    """Returns the difference between two pictures in words, or "" if they are equal."""
    if ours.shape != theirs.shape:
        return f"{ours.shape[1]} x {ours.shape[0]} pixels, in Pillow {theirs.shape[1]} x {theirs.shape[0]}"
    difference = np.abs(ours.astype(int) - theirs)
    if not difference.any():
        return ""
    return f"{np.count_nonzero(difference.max(axis=2))} of {ours.shape[0] * ours.shape[1]} pixels, by up to {difference.max()}"


def compare(path, penstock):
    """Returns (kind, text to print)."""
    state, message, pixels, orientation, upright, indexed = penstock(path)
    theirs = pillow(path)
    if isinstance(theirs, str):
        return ("penstock only", theirs) if state == "ok" else ("both refuse", "")
    if state == "damaged":
        how = unlike(pixels, theirs[0])
        return "pillow only", f"damaged: {message}; lenient: " + (how or "equal")
    if state == "refused":
        return "pillow only", message
    if how := unlike(pixels, theirs[0]):
        return "pixels", how
    if how := unlike(upright, theirs[1]):
        return "upright", f"orientation {orientation} here: {how}"
    if indexed is not None:
        again = pillow(io.BytesIO(indexed))
        if isinstance(again, str):
            return "indexed", f"Pillow refuses it then: {again}"
        if how := unlike(again[0], theirs[0]):
            return "indexed", how
        if again[2] != theirs[2]:
            return "indexed", f"{theirs[2]} frames become {again[2]}"
        if again[3] != theirs[3]:
            return "indexed", "it has another ICC profile then"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="decode_files")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    Image.MAX_IMAGE_PIXELS = 178956970  # Penstock's limit; Pillow rejects images from twice that size on
    penstock = Penstock(arguments.program)
    bad = 0
    for folder in arguments.folders:
        counts = collections.Counter()
        for path in files_of(folder):
            kind, words = compare(path, penstock)
            counts[kind] += 1
            if words:
                print(f"{kind}: {os.path.relpath(path, folder)}: {words}")
        bad += counts["pixels"] + counts["upright"] + counts["indexed"]
        print(f"{folder}: {sum(counts.values())} files; " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common()),
              flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
