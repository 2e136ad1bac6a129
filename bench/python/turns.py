"""Rates of jobs that take turns in one run. Each turn reads whole epochs in a process of its own."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parser_of(text, **defaults):
    """Returns the parser of a benchmark that compares jobs."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help="the folder of the programs")
    for name, value in {"records": 2048, "rounds": 5, "seconds": 4, "threads": 2, **defaults}.items():
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"default: {value}")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser


def began(options):
    """Sets the programs of this process. If this process is a turn, prints its rate, and returns True."""
    sys.path.insert(0, str(ROOT / "client" / "python"))
    os.environ["PENSTOCK_PROGRAM"] = str(options.bin / "penstock")
    if options.side is None:
        return False
    print(json.dumps(_rate(f"{options.folder}/{options.side}.textproto", options.folder, options.threads, options.seconds)))
    return True


def generated(options, folder):
    """Makes TFRecord shards with `--records` photographs, and returns their folder."""
    shards = folder / "generated"
    make = [options.bin / "make_demo_dataset", shards, str(options.records), "8"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return shards


def photographs(shards):
    """Yields the bytes of each photograph of such shards, in their order."""
    import penstock

    job = penstock.Job(name="all", dataset={"files": str(shards / "*")}, order={"shuffle": "NONE"},
                       batch={"size": 64, "last": "PARTIAL"},
                       features={"image/encoded": {"column": "image", "type": "BYTES"}})
    with penstock.Loader(job) as loader:
        for batch in loader:
            yield from batch["image"]


def _rate(job, root, threads, seconds):
    """Returns the rows/s of whole epochs after a first one, which take at least `seconds`, without caches."""
    import penstock

    caches = dict.fromkeys(("record_cache", "decoded_cache", "row_cache"), 0)
    with penstock.Loader(job, data_root=root, threads=threads, **caches) as loader:
        for _ in loader:
            pass
        rows, passed, begin = 0, 0.0, time.perf_counter()
        while passed < seconds:
            rows += sum(len(batch.ids) for batch in loader)
            passed = time.perf_counter() - begin
    return rows / passed


def compare(sides, folder, options):
    """Runs the jobs `SIDE.textproto` of the folder in turns, and prints their rates. The first side is the base."""
    command = [sys.executable, sys.argv[0], "--bin", options.bin, "--folder", folder, "--threads", str(options.threads),
               "--seconds", str(options.seconds)]
    rates = {side: [] for side in sides}
    for turn in range(options.rounds):
        for side in sides if turn % 2 == 0 else sides[::-1]:
            done = subprocess.run([*command, "--side", side], check=True, stdout=subprocess.PIPE, text=True)
            rates[side].append(json.loads(done.stdout))
    base = rates[sides[0]]
    for side, values in rates.items():
        ratios = [value / other for value, other in zip(values, base, strict=True)]
        print(f"{side:9} best {max(values):8.0f} rows/s, of {sides[0]}: best {max(values) / max(base):.3f}, "
              f"median of pairs {statistics.median(ratios):.3f}")
