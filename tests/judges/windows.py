#!/usr/bin/env python3
"""Writes tests/judges/windows.json: windows of numbered rows, as Keras and tf.data make them.

A test of every run, tests/pipeline/plan/judged_windows_test.cc, compares Penstock with the file. The judges are
keras.utils.timeseries_dataset_from_array, which calls the stride `sequence_stride` and the step `sampling_rate`, and
tf.data.Dataset.window with drop_remainder=True, which calls them `shift` and `stride`. The script fails if they differ.

    python3 tests/judges/windows.py                       # writes the file again
    python3 tests/judges/windows.py --cases 500 --seed 7 --out FILE

Penstock differs by design in these cases, which the script leaves out: Keras rejects a stride or a step of all rows, and
without drop_remainder, tf.data has shorter windows at the end.
"""

import argparse
import json
import pathlib
import random

import numpy as np
import tensorflow as tf


def by_keras(rows: int, size: int, stride: int, step: int) -> list[list[int]]:
    windows = tf.keras.utils.timeseries_dataset_from_array(
        np.arange(rows), None, sequence_length=size, sequence_stride=stride, sampling_rate=step, batch_size=None)
    return [window.tolist() for window in windows.as_numpy_iterator()]


def by_tf_data(rows: int, size: int, stride: int, step: int) -> list[list[int]]:
    windows = tf.data.Dataset.range(rows).window(size, shift=stride, stride=step, drop_remainder=True)
    windows = windows.flat_map(lambda window: window.batch(size, drop_remainder=True))
    return [window.tolist() for window in windows.as_numpy_iterator()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default=pathlib.Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    cases = []
    while len(cases) < arguments.cases:
        options = {"size": rng.randint(1, 7), "stride": rng.randint(1, 9), "step": rng.randint(1, 4)}
        rows = (options["size"] - 1) * options["step"] + rng.randint(1, 15)  # at least one window
        if rows <= max(options["stride"], options["step"]):
            continue  # Keras rejects these
        windows = by_keras(rows, **options)
        if windows != by_tf_data(rows, **options):
            raise SystemExit(f"the judges differ: {rows} rows, {options}")
        cases.append({"rows": rows, **options, "windows": windows})
    lines = ",\n".join(json.dumps(case) for case in cases)
    pathlib.Path(arguments.out).write_text(
        f'{{"tensorflow": "{tf.__version__}", "keras": "{tf.keras.__version__}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
