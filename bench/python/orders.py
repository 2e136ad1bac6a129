#!/usr/bin/env python3
"""Compares the rates of jobs that order the same photographs in several ways, in turns in one run.

    orders.py [--decode] [--rounds N] ...

The sides are a plain job; a blend of 10 data sets, whose weights are 1 to 10; a filter that keeps half of the records; and a
balance over 1,000 classes of unequal sizes. Each side is a loop in a process of its own, which reads whole epochs from a warm
page cache, without caches of its own. Without --decode, rows are the bytes of the photographs, so the orders differ most.
"""

import contextlib
import os
import random
import tempfile
from pathlib import Path

import turns

SHARDS, CLASSES = 10, 1000
DECODE = "ops { decode_image { } } ops { random_resized_crop { height: 224 width: 224 } }"
JOB = """name: "%s" %s
features { key: "image" type: BYTES }
features { key: "label" type: INT64 }
%s order { seed: 17 } batch { size: 64 }
"""


def write(shards, folder):
    """Writes the photographs into shards with labels. Returns their number."""
    import penstock

    draw = random.Random(1)
    number = 0
    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(penstock.ShardWriter(folder / f"part-{n}")) for n in range(SHARDS)]
        for number, image in enumerate(turns.photographs(shards), 1):
            parts[number % SHARDS].write({"image": image, "label": int(CLASSES * draw.random() ** 2)})
    return number


def sides_of(count):
    """Returns the data sets of each side. A balance reads each class; the median of the labels is CLASSES / 4."""
    files = 'dataset { files: "part-*/*.tfrecord" %s }'
    sets = [f'dataset {{ name: "s{n}" files: "part-{n}/*.tfrecord" weight: {n + 1} }}' for n in range(SHARDS)]
    return {
        "plain": files % "",
        "blend": " ".join([*sets, f"blend {{ epoch_rows: {count} }}"]),
        "filter": files % f'select {{ filter: "label < {CLASSES // 4}" }}',
        "balance": files % 'select { balance { by: "label" } }',
    }


def main():
    parser = turns.parser_of(__doc__, records=4096)
    parser.add_argument("--decode", action="store_true")
    options = parser.parse_args()
    if turns.began(options):
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        count = write(turns.generated(options, folder), folder)
        print(f"{count} photographs")
        sides = sides_of(count)
        for side, datasets in sides.items():
            (folder / f"{side}.textproto").write_text(JOB % (side, datasets, DECODE if options.decode else ""))
        turns.compare(list(sides), folder, options)


if __name__ == "__main__":
    main()
