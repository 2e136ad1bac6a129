#!/usr/bin/env python3
"""Trains 4 ranks while workers, coordinator, trainers and feeders are killed and stopped at random, and compares every batch.

    bench/chaos.py [--data photographs|packs] [--minutes 20] [--seed 1] [--records 3000] [--away 15]

Three workers serve one job. With `photographs`, the data of one worker have damaged records. `packs` is a blend of two packed
sets of texts, with a filter and weights that change. The ranks run in lockstep, as training does: a
step begins when all ranks have finished the previous one. Every few seconds the script kills (SIGKILL) or stops (SIGSTOP) a
process, which returns within --away seconds. A killed trainer also ends the others, and all restore the state of the last
common step, as with a launcher. Afterwards a loader without a daemon reads the same steps from intact data. The run fails if
a batch differs, if a trainer ends by itself, or if no step ends for two minutes. Needs NumPy. PENSTOCK_BIN names the
programs' folder.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))
WORLD = 4
BATCH = 64
LONGEST_WAIT = 120  # seconds without a step after which a trainer counts as stuck
JOBS = {
    "photographs": """
dataset { files: "demo-*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 64 width: 64 } }
errors { policy: MASK max_bad_fraction: 0.1 }
""",
    "packs": """
dataset {
  name: "web" files: "web/*.tfrecord" weight: 7
  select { filter: "len(tokens) > 4" }
  select { pack { length: 256 features: "tokens" longer: SPLIT align: 8 } }
}
dataset {
  name: "code" files: "code/*.tfrecord" weight: 3
  select { pack { length: 256 features: "tokens" concatenate: true overlap: 1 } }
}
blend { epoch_rows: 6400 change { at_rows: 20000 over_rows: 12800 weights { key: "code" value: 14 } } }
features { key: "tokens" type: INT64 variable_length: true pad { value: -1 } }
""",
}
COMMON = f"""
name: "chaos"
order {{ seed: 17 }}
batch {{ size: {BATCH} last: DROP }}
"""


def digest_of(batch, rows):
    """Returns the digest of a range of a batch's rows, with their ids and flags."""
    digest = hashlib.sha256()
    for values in (*(batch[name] for name in sorted(batch)), batch.ids, batch.valid):
        digest.update(values[rows].tobytes())
    return digest.hexdigest()


def import_penstock():
    os.environ["PENSTOCK_PROGRAM"] = str(BIN / "penstock")
    sys.path.insert(0, str(ROOT / "client" / "python"))
    import penstock

    return penstock


def train(rank):
    """Runs a trainer: it reads, prints a line for each step, and waits for a line before the next step."""
    penstock = import_penstock()
    state = sys.stdin.readline().strip()
    loader = penstock.Loader("chaos", rank=rank, world_size=WORLD, epochs=0)
    if state:
        loader.load_state_dict(json.loads(state))
    while True:
        try:
            for batch in loader:
                digest = digest_of(batch, slice(None))
                print(batch.epoch, batch.position, digest, json.dumps(loader.state_dict()), sep="\t", flush=True)
                if not sys.stdin.readline():
                    return
        except (penstock.FeederDied, penstock.TimeoutError) as error:
            print(f"rank {rank} continues after {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def write_texts(folder, records):
    """Writes two sets of records with tokens. Their lengths are log-normal."""
    penstock = import_penstock()
    draw = random.Random(1)
    for number, name in enumerate(("web", "code")):
        with penstock.ShardWriter(folder / name, shard_size="256KiB") as writer:
            for _ in range(records):
                length = int(draw.lognormvariate(4 + number / 2, 1)) + 1
                writer.write({"tokens": [draw.randrange(50_000) for _ in range(length)]})


def damage_records(folder):
    """Flips a bit in every 50th record."""
    for path in sorted(folder.glob("demo-*")):
        data = bytearray(path.read_bytes())
        at, number = 0, 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            if number % 50 == 0:
                data[at + 12 + length // 2] ^= 0x20
            at += 16 + length
            number += 1
        path.write_bytes(data)


class Run:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.random = random.Random(args.seed)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.daemons = {}  # name: process
        self.trainers = []
        self.state = ""  # the state of the last step that all ranks have finished
        self.digests = {}  # (epoch, position, rank): digest
        self.returning = []  # (time, action)
        self.counts = collections.Counter()
        self.stopped = set()
        os.environ["PENSTOCK_COORDINATOR"] = f"127.0.0.1:{self.port}"

    def log(self, name):
        return (self.work / f"{name}.log").open("a")

    def start_daemon(self, name):
        command = [BIN / "penstockd"]
        if name == "coordinator":
            command += ["coordinator", "--listen", f"127.0.0.1:{self.port}"]
        else:
            is_damaged = name == "worker-2" and self.args.data == "photographs"
            root = self.work / ("damaged" if is_damaged else "intact")
            command += ["worker", "--coordinator", f"127.0.0.1:{self.port}", "--listen", "127.0.0.1:0", "--data-root", f"data={root}", "--memory-budget", "512MiB"]
        command += ["--state-dir", self.work / name]
        self.daemons[name] = subprocess.Popen(list(map(str, command)), stdout=self.log(name), stderr=subprocess.STDOUT)

    def start_trainers(self):
        self.trainers = [
            subprocess.Popen(
                [sys.executable, __file__, "--train", str(rank)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log(f"trainer-{rank}"),
            )
            for rank in range(WORLD)
        ]
        for trainer in self.trainers:
            self.answer(trainer, self.state)

    @staticmethod
    def answer(trainer, line=""):
        trainer.stdin.write(line.encode() + b"\n")
        trainer.stdin.flush()

    def kill_trainers(self):
        for trainer in self.trainers:
            trainer.kill()
        for trainer in self.trainers:
            trainer.wait()

    def feeders(self):
        """Returns the `penstock feed` processes of the trainers."""
        parents = {trainer.pid for trainer in self.trainers}
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) in parents:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def later(self, seconds, action):
        self.returning.append((time.monotonic() + seconds, action))

    def disturb(self):
        """Kills or stops one process, which returns within `--away` seconds."""
        kind = self.random.choice(["worker", "worker", "coordinator", "trainer", "feeder"])
        way = self.random.choice(["kill", "stop"])
        away = self.random.uniform(0.5, self.args.away)
        if kind in ("worker", "coordinator"):
            name = kind if kind == "coordinator" else f"worker-{self.random.randrange(3)}"
            process = self.daemons[name]
            if process.poll() is not None or process.pid in self.stopped:
                return
            if way == "kill":
                process.kill()
                process.wait()
                self.later(away, lambda: self.start_daemon(name))
            else:
                self.stop(process.pid, away)
        elif kind == "feeder":
            feeders = [pid for pid in self.feeders() if pid not in self.stopped]
            if not feeders:
                return
            pid = self.random.choice(sorted(feeders))
            if way == "kill":
                os.kill(pid, signal.SIGKILL)
            else:
                self.stop(pid, away)
        elif way == "kill":
            self.kill_trainers()
            time.sleep(self.random.uniform(0, 2))
            self.start_trainers()
        else:
            self.stop(self.random.choice(self.trainers).pid, away)
        self.counts[f"{kind} {way}"] += 1

    def stop(self, pid, seconds):
        os.kill(pid, signal.SIGSTOP)
        self.stopped.add(pid)

        def go_on():
            self.stopped.discard(pid)
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

        self.later(seconds, go_on)

    def step(self):
        """Waits until all ranks finish a step, and disturbs processes. Returns False if the trainers restarted."""
        trainers = self.trainers
        lines = {}
        selector = selectors.DefaultSelector()
        for rank, trainer in enumerate(trainers):
            selector.register(trainer.stdout, selectors.EVENT_READ, rank)
        begun = time.monotonic()
        while len(lines) < WORLD:
            for key, _ in selector.select(0.1):
                line = key.fileobj.readline().decode()
                selector.unregister(key.fileobj)
                if not line:
                    sys.exit(f"WRONG: the trainer of rank {key.data} ended by itself; logs are in {self.work}")
                lines[key.data] = line.rstrip("\n").split("\t")
            now = time.monotonic()
            for entry in [entry for entry in self.returning if entry[0] <= now]:
                self.returning.remove(entry)
                entry[1]()
            if now >= self.next_fault:
                self.next_fault = now + self.random.uniform(1, 8)
                self.disturb()
                if self.trainers is not trainers:
                    return False
            if now - begun > LONGEST_WAIT:
                missing = sorted(set(range(WORLD)) - set(lines))
                sys.exit(f"WRONG: ranks {missing} got nothing for {LONGEST_WAIT} s; logs are in {self.work}")
        self.longest = max(self.longest, time.monotonic() - begun)
        if len({(epoch, position) for epoch, position, _, _ in lines.values()}) != 1:
            sys.exit(f"WRONG: ranks are at unlike positions: {lines}")
        for rank, (epoch, position, digest, state) in lines.items():
            known = self.digests.setdefault((int(epoch), int(position), rank), digest)
            if known != digest:
                sys.exit(f"WRONG: epoch {epoch}, position {position}, rank {rank}: {digest}, before {known}")
            self.state = state
        for trainer in trainers:
            try:
                self.answer(trainer)
            except BrokenPipeError:
                sys.exit(f"WRONG: a trainer ended by itself; logs are in {self.work}")
        return True

    def run(self):
        if self.args.data == "photographs":
            subprocess.run([BIN / "make_demo_dataset", self.work / "intact", str(self.args.records), "10"], check=True)
            subprocess.run(["cp", "-r", self.work / "intact", self.work / "damaged"], check=True)
            damage_records(self.work / "damaged")
        else:
            write_texts(self.work / "intact", self.args.records)
        (self.work / "chaos.textproto").write_text(COMMON + JOBS[self.args.data])
        for name in ("coordinator", "worker-0", "worker-1", "worker-2"):
            self.start_daemon(name)
        submit = [BIN / "penstock", "submit", self.work / "chaos.textproto"]
        deadline = time.monotonic() + 30
        while subprocess.run([BIN / "penstock", "status"], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > deadline:
                sys.exit(f"the coordinator did not come up; logs are in {self.work}")
        subprocess.run(submit, check=True, timeout=120)
        self.longest = 0
        self.start_trainers()
        begun = time.monotonic()
        self.next_fault = begun + 5
        steps = 0
        while time.monotonic() < begun + self.args.minutes * 60:
            steps += self.step()
            time.sleep(self.args.pace)
        self.kill_trainers()
        bad = subprocess.run([BIN / "penstock", "quarantine", "chaos"], check=False, capture_output=True, text=True, timeout=60)
        print(f"{steps} steps of {WORLD} ranks, {sum(self.counts.values())} faults: {dict(sorted(self.counts.items()))}")
        print(f"longest step {self.longest:.1f} s; quarantine: {bad.stdout.strip() or bad.stderr.strip()}")
        self.compare()

    def compare(self):
        """Compares every batch with that of a loader without a daemon on the intact data."""
        penstock = import_penstock()
        left = collections.defaultdict(dict)
        for (epoch, position, rank), digest in self.digests.items():
            left[(epoch, position)][rank] = digest
        wrong, compared = [], 0
        rows = BATCH // WORLD
        loader = penstock.Loader(str(self.work / "chaos.textproto"), data_root=str(self.work / "intact"), rank=0, world_size=1, epochs=0)
        for batch in loader:
            for rank, digest in left.pop((batch.epoch, batch.position), {}).items():
                compared += 1
                if digest != digest_of(batch, slice(rank * rows, (rank + 1) * rows)):
                    wrong.append((batch.epoch, batch.position, rank))
            if not left:
                break
        print(f"{compared} batches compared with an undisturbed run, {len(wrong)} differ")
        if wrong:
            sys.exit(f"WRONG: {wrong[:20]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", choices=JOBS, default="photographs")
    parser.add_argument("--records", type=int, default=3000, help="number in each data set")
    parser.add_argument("--away", type=float, default=15, help="seconds that a process is away at most")
    parser.add_argument("--pace", type=float, default=0.02, help="seconds between steps")
    parser.add_argument("--train", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train is not None:
        return train(args.train)
    work = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    run = Run(args, work)
    try:
        run.run()
    finally:
        for process in [*run.daemons.values(), *run.trainers]:
            process.kill()
    subprocess.run(["rm", "-rf", work], check=True)


if __name__ == "__main__":
    main()
