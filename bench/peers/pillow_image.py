"""Pillow's side of image_bench: answers each line on the standard input with CPU seconds per image.

  pillow_image.py CROPS      CROPS: lines of "x y width height path"

  crops                opens, converts, crops and resizes to 224x224 (bilinear) the image of every line
  resize FILTER MODE   resizes a 350x350 image to 224x224, in MODE RGB or L
  version              prints Pillow's version
"""

import io
import sys
import time
from pathlib import Path

import PIL
from PIL import Image

SIZE = (224, 224)


def main():
    crops, contents = [], {}
    with open(sys.argv[1]) as lines:
        for line in lines:
            x, y, width, height, path = line.rstrip("\n").split(" ", 4)
            x, y, width, height = map(int, (x, y, width, height))
            crops.append((path, (x, y, x + width, y + height)))
            if path not in contents:
                contents[path] = Path(path).read_bytes()
    noise = {mode: Image.effect_noise((350, 350), 60).convert(mode) for mode in ("RGB", "L")}

    def run_crops():
        for path, box in crops:
            image = Image.open(io.BytesIO(contents[path])).convert("RGB")
            image.crop(box).resize(SIZE, Image.Resampling.BILINEAR)
        return len(crops)

    def run_resize(name, mode):
        image, resampling = noise[mode], Image.Resampling[name]
        for _ in range(50):
            image.resize(SIZE, resampling)
        return 50

    for line in sys.stdin:
        words = line.split()
        if words == ["version"]:
            print(PIL.__version__, flush=True)
            continue
        begin = time.process_time()
        images = run_crops() if words == ["crops"] else run_resize(*words[1:])
        print((time.process_time() - begin) / images, flush=True)


if __name__ == "__main__":
    main()
