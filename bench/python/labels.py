#!/usr/bin/env python3
"""Compares a filter by label with a scan of the same TFRecord shards by tf.data.

    labels.py [--records N] [--rounds N] [--bin DIR]

The shards have photographs, whose labels both sides read: `penstock select --filter`, as a whole process and with the shards' indexes
made before, and tf.data with a batched parse_example and two parallel reads, without the start of its process. The page cache has the
files. The sides take turns in one run. Prints the best and the median of the rounds. Needs TensorFlow.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABEL = "image/class/label"


def scan(shards):
    """Counts the records with labels below 3 by tf.data, twice, and prints the second time and the number."""
    import tensorflow as tf

    features = {LABEL: tf.io.FixedLenFeature([], tf.int64)}
    files = sorted(map(str, Path(shards).iterdir()))
    data = tf.data.TFRecordDataset(files, num_parallel_reads=2).batch(256)
    data = data.map(lambda records: tf.io.parse_example(records, features)[LABEL], num_parallel_calls=2).prefetch(4)
    for _ in range(2):
        begin = time.perf_counter()
        found = sum(int((labels.numpy() < 3).sum()) for labels in data)
        seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "found": found}))


def select(shards, program, state):
    environment = {**os.environ, "XDG_CACHE_HOME": str(state)}
    command = [program, "select", shards, "--filter", f"col('{LABEL}') < 3", "--examples", "0", "--json"]
    begin = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return {"seconds": time.perf_counter() - begin, "found": json.loads(done.stdout)["matches"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help="the folder of the programs")
    parser.add_argument("--records", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scan", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scan:
        scan(options.scan)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards, state = folder / "shards", folder / "state"
        make = [options.bin / "make_demo_dataset", shards, str(options.records), "8"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        select(shards, options.bin / "penstock", state)
        times = {"penstock": [], "tf.data": []}
        for turn in range(options.rounds):
            for side in sorted(times, reverse=turn % 2 == 1):
                if side == "penstock":
                    found = select(shards, options.bin / "penstock", state)
                else:
                    command = [sys.executable, sys.argv[0], "--scan", shards]
                    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
                times[side].append(found)
        assert len({found["found"] for side in times.values() for found in side}) == 1, "the sides found other records"
    seconds = {side: [found["seconds"] for found in all_found] for side, all_found in times.items()}
    for side, values in seconds.items():
        print(f"{side:9} best {options.records / min(values):9.0f} records/s, median {options.records / statistics.median(values):9.0f}")
    pairs = [other / own for own, other in zip(seconds["penstock"], seconds["tf.data"], strict=True)]
    print(f"penstock to tf.data: best {min(seconds['tf.data']) / min(seconds['penstock']):.2f}, median of pairs {statistics.median(pairs):.2f}")


main()
