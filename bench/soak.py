#!/usr/bin/env python3
"""An hour of mixed jobs through one daemon: its memory must stay within the budget, and every row must be the same each time.

    bench/soak.py SHARDS_FOLDER [--minutes 60] [--budget-mib 1024] [--readers 3] [--seed 1]
                  [--decoded-cache-mib N] [--json FILE]

SHARDS_FOLDER: TFRecords of photographs, with image/encoded and image/class/label. `penstock read` reads six jobs (JPEG to
uint8, to normalized float32, an evaluation, mixup and cutmix, 10^6 small records, rows that need no work) in random parts:
whole, by two ranks, by a slow trainer, by a trainer that the script kills or stops for a while. A repeated part must have
the digest of its first read. Every half second the script samples the daemon's own memory (anonymous and shared pages), its
file descriptors and its threads. Prints a line per minute and a summary. Fails if a digest differs, a reader fails, or memory
was ever above 1.05 times the budget. The daemon chooses its cache sizes, unless --decoded-cache-mib sets one. Standard library
only. PENSTOCK_BIN names the programs' folder.
"""

import argparse
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))
ALLOWED = 1.05  # as a fraction of the budget

PHOTOGRAPHS = """
dataset { files: "%(photos)s/*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
"""
CROP = "ops { random_resized_crop { height: 224 width: 224 } }\nops { random_horizontal_flip { probability: 0.5 } }\n"
ORDER = "order { seed: 17 }\n"
JOBS = {
    "train": PHOTOGRAPHS + CROP + ORDER + "batch { size: 64 last: DROP }",
    "floats": PHOTOGRAPHS
    + CROP
    + "ops { normalize { preset: 'imagenet' to: FLOAT32 channels_first: true } }\n"
    + ORDER
    + "batch { size: 128 last: DROP }",
    "evaluate": PHOTOGRAPHS
    + "ops { resize { shorter_side: 256 } }\nops { center_crop { height: 224 width: 224 } }\norder { shuffle: NONE }\n"
    + "batch { size: 100 last: PAD }",
    "mixed": PHOTOGRAPHS
    + CROP
    + ORDER
    + 'batch { size: 64 last: DROP }\nmix { mixup_alpha: 0.8 cutmix_alpha: 1 classes: 1000 }',
    "small": 'dataset { files: "%(small)s/*" }\nfeatures { key: "id" type: INT64 }\nfeatures { key: "label" type: INT64 }\n'
    + ORDER
    + "batch { size: 4096 last: DROP }",
    "ready": 'dataset { files: "%(ready)s/*" }\n'
    + 'features { key: "raw" column: "image" type: BYTES decode_raw: UINT8 shape: [224, 224, 3] }\n'
    + 'features { key: "label" type: INT64 }\n'
    + ORDER
    + "batch { size: 128 last: DROP }",
}
WAYS = ["whole", "ranks", "slow", "killed", "stopped"]


class Daemon:
    def __init__(self, work, data, budget, decoded_mib):
        port = work / "port"
        self.log = work / "penstockd.log"
        roots = [argument for name, folder in data.items() for argument in ("--data-root", f"{name}={folder}")]
        command = [BIN / "penstockd", "standalone", "--listen", "127.0.0.1:0", "--port-file", port, *roots]
        command += ["--state-dir", work / "state", "--memory-budget", str(budget)]
        if decoded_mib is not None:
            command += ["--decoded-cache", f"{decoded_mib}MiB"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        for _ in range(200):
            if port.exists() and port.read_text().strip():
                break
            if self.process.poll() is not None:
                sys.exit(f"penstockd did not come up:\n{self.log.read_text()}")
            time.sleep(0.05)
        os.environ["PENSTOCK_COORDINATOR"] = f"127.0.0.1:{port.read_text().strip()}"

    def memory(self):
        """Returns the size of the process's own pages, without pages of files."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return sum(int(n) << 10 for n in re.findall(r"^Rss(?:Anon|Shmem):\s*(\d+) kB", status, re.MULTILINE))

    def counts(self):
        folder = Path(f"/proc/{self.process.pid}")
        return len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))

    def end(self):
        self.process.terminate()
        self.process.wait(60)


class Memory(threading.Thread):
    """Samples of the daemon's memory."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.watched = daemon
        self.samples = []
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.5):
            self.samples.append(self.watched.memory())


class Readers:
    """State that all readers share."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.digests = {}
        self.rows = 0
        self.done = collections.Counter()
        self.compared = 0
        self.wrong = []
        self.over = threading.Event()

    def draw(self):
        with self.lock:
            job = self.random.choice(sorted(JOBS))
            steps = self.random.choice([4, 12, 40])
            return job, self.random.choice(WAYS), self.random.randrange(3), steps, self.random.uniform(0.1, 3)

    def run(self):
        while not self.over.is_set():
            job, way, epoch, steps, seconds = self.draw()
            if way == "ranks":
                group = f"ranks-{threading.get_ident()}-{time.monotonic_ns()}"
                begun = [start_reader(job, epoch, steps, "--rank", r, "--world-size", 2, "--group", group) for r in range(2)]
            else:
                begun = [start_reader(job, epoch, steps, *(["--pace", 100] if way == "slow" else []))]
            if way == "killed":
                self.over.wait(seconds)
                begun[0].kill()
            elif way == "stopped":
                begun[0].send_signal(signal.SIGSTOP)
                self.over.wait(seconds)
                begun[0].send_signal(signal.SIGCONT)
            for rank, process in enumerate(begun):
                self.take(way, (job, epoch, steps, len(begun), rank), *process.communicate(), process.returncode)

    def take(self, way, part, out, err, code):
        with self.lock:
            self.done[way] += 1
            if code == -signal.SIGKILL and way == "killed":
                return
            if code != 0:
                self.wrong.append(f"{way} {part}: exit {code}: {err.strip()[-500:]}")
                return
            answer = json.loads(out.splitlines()[-1])
            self.rows += answer["rows"]
            before = self.digests.setdefault(part, answer["digest"])
            self.compared += before is not answer["digest"]
            if before != answer["digest"]:
                self.wrong.append(f"{way} {part}: digest {answer['digest']}, before {before}")


def start_reader(job, epoch, steps, *flags):
    command = [BIN / "penstock", "read", job, "--epoch", epoch, "--steps", steps, "--json", *flags]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shards")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--budget-mib", type=int, default=1024)
    parser.add_argument("--readers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decoded-cache-mib", type=int)
    parser.add_argument("--json")
    return parser.parse_args()


def submit_jobs(work, data):
    for name, text in JOBS.items():
        path = work / f"{name}.textproto"
        path.write_text(f'name: "{name}"\n' + text % data)
        done = subprocess.run([BIN / "penstock", "submit", path], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)


def soak(args, work):
    data = {"photos": Path(args.shards).resolve(), "small": work / "small", "ready": work / "ready"}
    for name, numbers in (("small", (1000000, 16)), ("ready", (6000, 4, 150528))):
        subprocess.run([BIN / "make_small_records", data[name], *map(str, numbers)], check=True, stdout=subprocess.DEVNULL)
    budget = args.budget_mib << 20
    daemon = Daemon(work, data, budget, args.decoded_cache_mib)
    submit_jobs(work, data)
    memory, readers = Memory(daemon), Readers(args.seed)
    threads = [threading.Thread(target=readers.run) for _ in range(args.readers)]
    for thread in threads:
        thread.start()
    begin, minute, counts = time.monotonic(), 0, []
    while time.monotonic() < begin + args.minutes * 60 and not readers.wrong and daemon.process.poll() is None:
        time.sleep(1)
        if time.monotonic() >= begin + (minute + 1) * 60:
            minute += 1
            counts.append(daemon.counts())
            recent = memory.samples[-120:]
            print(
                f"minute {minute}: memory {statistics.median(recent) / budget:.3f} of the budget, at most {max(recent) / budget:.3f}; "
                f"{counts[-1][0]} descriptors, {counts[-1][1]} threads; {readers.rows:,} rows, {readers.compared} digests compared",
                flush=True,
            )
    readers.over.set()
    for thread in threads:
        thread.join()
    memory.over.set()
    memory.join()
    died = daemon.process.poll()
    if died is None:
        daemon.end()
    else:
        readers.wrong.append(f"penstockd ended with {died}:\n{daemon.log.read_text()[-2000:]}")
    third = len(memory.samples) // 3
    return {
        "minutes": (time.monotonic() - begin) / 60,
        "budget": budget,
        "memory_most": max(memory.samples) / budget,
        "memory_second_third": statistics.median(memory.samples[third : 2 * third] or [0]) / budget,
        "memory_last_third": statistics.median(memory.samples[2 * third :]) / budget,
        "descriptors_and_threads": counts[-1:] and [*counts[0], *counts[-1]],
        "reads": dict(readers.done),
        "rows": readers.rows,
        "digests_compared": readers.compared,
        "wrong": readers.wrong,
    }


def main():
    args = parse()
    with tempfile.TemporaryDirectory() as folder:
        result = soak(args, Path(folder))
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    print(
        f"{result['minutes']:.0f} minutes, {sum(result['reads'].values())} reads, {result['rows']:,} rows, "
        f"{result['digests_compared']} digests compared. Memory: at most {result['memory_most']:.3f} of the budget, in the median "
        f"{result['memory_second_third']:.3f} in the second third and {result['memory_last_third']:.3f} in the last."
    )
    for line in result["wrong"]:
        print(f"WRONG: {line}")
    if result["wrong"] or result["memory_most"] > ALLOWED:
        sys.exit(1)


if __name__ == "__main__":
    main()
