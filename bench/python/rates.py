#!/usr/bin/env python3
"""Compares a Python loop with the C++ client on the same job, in turns in one run. Measures a trainer's CPU time per batch.

    rates.py [--bin DIR] [--records N] [--rounds N] [--seconds S] [--shards DIR] [--only rates|costs]

Rates: the standard recipe (random_resized_crop 224, flip, uint8, batch 64) on generated photographs, or on --shards. It
compares a loop in this process with `penstock bench`, and a loop served by one `penstockd standalone` with `penstock read`.
The loop takes each batch and reads a byte of every row. The CPU time per row is that of trainer and feeder, or of the
program, without the daemon.
Costs: batches of 4 numbers, so that a trainer's CPU time is the interpreter's own and it rarely waits. It measures the time
of the looping thread, and of the whole process, for NumPy and each of torch, jax and tensorflow that Python can import.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FEATURES = {
    "standard": """features { key: "image/encoded" column: "image" type: BYTES }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 224 width: 224 } }
ops { random_horizontal_flip { probability: 0.5 } }""",
    "tiny": "",
}
JOB = """name: "%s"
dataset { files: "%s/*" }
features { key: "image/class/label" column: "label" type: INT64 }
%s
order { seed: 17 }
batch { size: %d last: DROP }
"""
LOADERS = {"numpy": "penstock", "torch": "penstock.torch", "jax": "penstock.jax", "tensorflow": "penstock.tf"}


# ---- Functions that run in separate processes


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loop_rate(arguments, batches, seconds):
    """Returns a loop's rows/s after its first batches, over some batches or seconds, and CPU seconds per row, with the feeder."""
    import penstock
    from penstock._feeder import current_feeder

    loop = iter(penstock.Loader(arguments.pop("job"), epochs=0, **arguments))
    for _ in range(3):
        next(loop)
    both = (os.getpid(), current_feeder().process_id)
    used = sum(map(cpu_seconds, both))
    rows, begin = 0, time.perf_counter()
    for number, batch in enumerate(loop):
        image = batch["image"]
        image[:, 0, 0, 0].max()
        rows += len(batch["label"])
        if number + 1 >= batches or time.perf_counter() - begin >= seconds:
            break
    return rows / (time.perf_counter() - begin), (sum(map(cpu_seconds, both)) - used) / rows


def loop_cost(framework, job, batches):
    """Returns the CPU microseconds per batch of parts of 25 batches, sorted, for the looping thread and for the process.

    Parts are short, so that during some of them no other process uses the CPU's caches.
    """
    import importlib

    module = importlib.import_module(LOADERS[framework])
    if framework == "tensorflow":
        dataset = module.dataset(job, epochs=0)
        loop = iter(dataset)
    else:
        loop = iter(module.Loader(job, epochs=0))

    def part(batches=25):
        begin, used = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(batches):
            next(loop)["label"]
        now = resource.getrusage(resource.RUSAGE_SELF)
        process = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return (time.thread_time() - begin) / batches * 1e6, process / batches * 1e6

    part(100)
    parts = [part() for _ in range(batches // 25)]
    return [sorted(part[which] for part in parts) for which in (0, 1)]


# ---- The turns


def run(command, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True, **more)
    return done.stdout.strip().splitlines()[-1]


def python(function, *arguments):
    """Runs that function of this file in a new process and returns its JSON."""
    program = f"import json, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import rates\n"
    program += f"print(json.dumps(rates.{function}(*json.loads(sys.argv[1]))))"
    return json.loads(run([sys.executable, "-c", program, json.dumps(arguments)]))


def client_rate(*command):
    """Returns rows/s and CPU seconds per row of a program that prints JSON."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(run(command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result["rows_per_second"], used / result["rows"]


def rounds(what, number, loop, client):
    """Runs both sides in turns. Each is first in half of the turns. Returns the loop's median rate."""
    pairs = []
    for turn in range(number):
        order = (loop, client) if turn % 2 else (client, loop)
        results = {side: side() for side in order}
        pairs.append((results[loop], results[client]))
        (rate, cpu), (client_rows, client_cpu) = pairs[-1]
        text = f"loop {rate:.0f}, C++ {client_rows:.0f} rows/s; CPU {cpu * 1e3:.2f}, {client_cpu * 1e3:.2f} ms a row"
        print(f"  {what}: {text}", flush=True)
    for unit, which, best in (("rows/s", 0, max), ("CPU a row", 1, min)):
        found = [ours[which] / theirs[which] for ours, theirs in pairs]
        print(f"{what}: {unit}, loop to C++: best {best(found):.3f}, median {statistics.median(found):.3f} of {number} rounds")
    return statistics.median(rate for (rate, _), _ in pairs)


def in_process(given, job):
    return rounds(
        "in process",
        given.rounds,
        lambda: python("loop_rate", {"job": str(job), "record_cache": 0, "decoded_cache": 0}, 1 << 40, given.seconds),
        lambda: client_rate(given.bin / "penstock", "bench", job, "--no-stages", "--seconds", given.seconds, "--json"),
    )


def served(given, work, job, rate):
    batches = max(4, int(rate * given.seconds / 64))
    port = work / "port"
    with open(work / "daemon.log", "w") as log:
        daemon = subprocess.Popen(
            [given.bin / "penstockd", "standalone", "--listen", "127.0.0.1:0", "--port-file", port, "--state-dir",
             work / "state", "--record-cache", "0", "--decoded-cache", "0", "--data-root", given.shards], stdout=log, stderr=log)
    try:
        while not (port.exists() and port.read_text().strip()):
            if daemon.poll() is not None:
                sys.exit((work / "daemon.log").read_text())
            time.sleep(0.05)
        address = f"127.0.0.1:{port.read_text().strip()}"
        run([given.bin / "penstock", "submit", job, "--coordinator", address, "--json"])
        read = [given.bin / "penstock", "read", "standard", "--coordinator", address, "--no-digest", "--json"]
        rounds(
            "served",
            given.rounds,
            lambda: python("loop_rate", {"job": "standard", "coordinator": address}, batches, 1e9),
            lambda: client_rate(*read, "--steps", batches),
        )
    finally:
        daemon.terminate()
        daemon.wait()


def costs(given, job):
    print("CPU of a batch of 4 numbers, us: of the looping thread best and median, of the process best and median")
    for framework, module in LOADERS.items():
        there = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
        if there.returncode != 0:
            continue
        try:
            thread, process = python("loop_cost", framework, str(job), given.batches)
        except subprocess.CalledProcessError as error:
            print(f"  {framework}: failed ({error.returncode})")
            continue
        numbers = [f"{of[0]:.0f} {statistics.median(of):.0f}" for of in (thread, process)]
        print(f"  {framework}: {', '.join(numbers)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "release" / "bin", help="where penstock and penstockd are")
    parser.add_argument("--records", type=int, default=2000, help="made-up photographs")
    parser.add_argument("--shards", type=Path, help="TFRecord shards with image/encoded and image/class/label instead")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="length of a turn")
    parser.add_argument("--batches", type=int, default=1000, help="batches for each cost")
    parser.add_argument("--only", choices=["rates", "costs"])
    given = parser.parse_args()
    os.environ["PENSTOCK_PROGRAM"] = str(given.bin / "penstock")
    os.environ["PYTHONPATH"] = str(ROOT / "client" / "python")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ["RANK"], os.environ["WORLD_SIZE"] = "0", "1"
    with tempfile.TemporaryDirectory(prefix="penstock-rates-") as folder:
        work = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(work / "cache")
        if given.shards is None:
            given.shards = work / "shards"
            run([given.bin / "make_demo_dataset", given.shards, given.records, 8])
        given.shards = given.shards.resolve()
        jobs = {}
        for name, features in FEATURES.items():
            jobs[name] = work / f"{name}.textproto"
            jobs[name].write_text(JOB % (name, given.shards, features, 64 if features else 4))
        if given.only != "costs":
            served(given, work, jobs["standard"], in_process(given, jobs["standard"]))
        if given.only != "rates":
            costs(given, jobs["tiny"])


if __name__ == "__main__":
    main()
