#!/usr/bin/env python3
"""Compares the rates of one job over the same photographs in several formats, in turns in one run.

    formats.py [--shards DIR] [--decode] [--rounds N] ...

The photographs are those of TFRecord shards (default: generated ones). They are written as tar shards, as files in class
folders with a manifest, and as one file with a manifest of parts. Each side is a loop in a process of its own, which reads
whole epochs from a warm page cache, without caches of its own. Without --decode, rows are the bytes of the photographs, so
formats differ most.
"""

import contextlib
import io
import os
import tarfile
import tempfile
from pathlib import Path

import turns

SIDES = {
    "tfrecord": ('files: "tfrecord/*"', "image/encoded"),
    "tar": ('files: "tar/*.tar"', "jpg"),
    "folders": ('files: "folders.csv" source: MANIFEST', "contents"),
    "parts": ('files: "parts.csv" source: MANIFEST manifest { file: "file" offset: "at" length: "bytes" }', "contents"),
}
DECODE = "ops { decode_image { } } ops { random_resized_crop { height: 224 width: 224 } }"
JOB = 'name: "%s" dataset { %s } features { key: "%s" column: "image" type: BYTES } %s order { seed: 17 } batch { size: 64 }'


def write(shards, folder):
    """Writes the photographs of the shards in each format. Returns their number and their bytes."""
    (folder / "tfrecord").symlink_to(shards)
    (folder / "tar").mkdir()
    at, folders, parts = 0, ["file\n"], ["file,at,bytes\n"]
    archives = [folder / "tar" / f"{shard}.tar" for shard in range(8)]
    with contextlib.ExitStack() as stack, open(folder / "all.bin", "wb") as whole:
        tars = [stack.enter_context(tarfile.open(path, "w")) for path in archives]
        for number, image in enumerate(turns.photographs(shards)):
            member = tarfile.TarInfo(f"{number:08}.jpg")
            member.size = len(image)
            tars[number % 8].addfile(member, io.BytesIO(image))
            path = Path("folders") / f"class{number % 50:02}" / f"{number:08}.jpg"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(image)
            folders.append(f"{path}\n")
            whole.write(image)
            parts.append(f"all.bin,{at},{len(image)}\n")
            at += len(image)
    (folder / "folders.csv").write_text("".join(folders))
    (folder / "parts.csv").write_text("".join(parts))
    return len(parts) - 1, at


def main():
    parser = turns.parser_of(__doc__)
    parser.add_argument("--shards", type=Path)
    parser.add_argument("--decode", action="store_true")
    options = parser.parse_args()
    if turns.began(options):
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        shards = turns.generated(options, folder) if options.shards is None else options.shards
        count, size = write(shards.resolve(), folder)
        print(f"{count} photographs, {size / count / 1000:.0f} KB each")
        for side, (dataset, key) in SIDES.items():
            (folder / f"{side}.textproto").write_text(JOB % (side, dataset, key, DECODE if options.decode else ""))
        turns.compare(list(SIDES), folder, options)


if __name__ == "__main__":
    main()
