#!/usr/bin/env python3
"""Writes tests/judges/zips.json: two groups of files whose records are joined by position, as tf.data.Dataset.zip does.

A test of every run, tests/pipeline/import/judged_zips_test.cc, compares Penstock with the file. Each case has the records
of each file of both groups, and the pairs that tf.data makes of them.

    python3 tests/judges/zips.py                       # writes the file again
    python3 tests/judges/zips.py --cases 200 --seed 7 --out FILE

Penstock differs by design if the groups have different numbers of records: tf.data ends with the shorter one, and Penstock
rejects them. Such a case has the pairs of tf.data too, and the test expects the error.
"""

import argparse
import json
import pathlib
import random

import tensorflow as tf


def cut(rng: random.Random, numbers: list[int]) -> list[list[int]]:
    """Cuts numbers into one to four files with at least one number each."""
    cuts = sorted(rng.sample(range(1, len(numbers)), min(rng.randint(0, 3), len(numbers) - 1)))
    return [numbers[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(numbers)], strict=True)]


def dataset(files: list[list[int]]) -> tf.data.Dataset:
    parts = [tf.data.Dataset.from_tensor_slices(tf.constant(numbers, tf.int64)) for numbers in files]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.concatenate(part)
    return joined


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default=pathlib.Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    cases = []
    for number in range(arguments.cases):
        records = rng.randint(1, 12)
        others = records if number % 4 else records + rng.randint(1, 3)
        first = cut(rng, [rng.randint(-99, 99) for _ in range(records)])
        second = cut(rng, [rng.randint(-99, 99) for _ in range(others)])
        pairs = tf.data.Dataset.zip((dataset(first), dataset(second))).as_numpy_iterator()
        cases.append({"first": first, "second": second, "pairs": [[int(a), int(b)] for a, b in pairs]})
    lines = ",\n".join(json.dumps(case) for case in cases)
    pathlib.Path(arguments.out).write_text(f'{{"tensorflow": "{tf.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
