"""A coordinator and workers whose programs may be of two releases, and their readers."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
START_SECONDS = 60
READ_SECONDS = 300
EPOCHS = 2


class Release:
    """The programs and the wheel of one release."""

    def __init__(self, side):
        self.side = side
        self.bin = Path(os.environ[f"PENSTOCK_{side.upper()}"]) / "bin"
        self.python = os.environ[f"PENSTOCK_{side.upper()}_PYTHON"]

        self.version = subprocess.check_output([self.bin / "penstock", "--version"], text=True).split()[1]

    def __repr__(self):
        return self.side


OLD, NEW = Release("old"), Release("new")


class Process:
    """A daemon, which may be replaced by one of another release with the same address and state."""

    def __init__(self, folder, name, release, *arguments):
        self.name = name
        self.log = folder / f"{name}.log"
        self.port_file = folder / f"{name}.port"
        self.arguments = [*map(str, arguments), "--state-dir", str(folder / name), "--port-file", str(self.port_file)]
        self.listen = "127.0.0.1:0"
        self.start(release)

    def start(self, release):
        self.port_file.unlink(missing_ok=True)
        with self.log.open("a") as log:
            command = [release.bin / "penstockd", *self.arguments, "--listen", self.listen]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while not (self.port_file.exists() and self.port_file.read_text().strip()):
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < end, self.log.read_text()[-3000:]
            time.sleep(0.02)
        self.listen = f"127.0.0.1:{self.port_file.read_text().strip()}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(START_SECONDS) in (0, -signal.SIGTERM), self.log.read_text()[-3000:]

    def replace(self, release):
        self.stop()
        self.start(release)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Cluster:
    def __init__(self, folder, data, coordinator, workers):
        folder.mkdir(parents=True)
        self.folder = folder
        self.processes = []
        self.coordinator = self.begin("coordinator", coordinator, "coordinator")
        self.address = self.coordinator.listen
        self.workers = [
            self.begin(
                f"w{i}", release, "worker", "--coordinator", self.address, "--name", f"w{i}",
                "--data-root", f"data={data}", "--memory-budget", "256MiB",
            )
            for i, release in enumerate(workers)
        ]  # fmt: skip

    def begin(self, name, release, *arguments):
        process = Process(self.folder, name, release, *arguments)
        self.processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()

    def run(self, release, *arguments):
        """Runs `penstock` of the release."""
        return subprocess.run(
            [release.bin / "penstock", *map(str, arguments), "--coordinator", self.address],
            capture_output=True,
            text=True,
            timeout=READ_SECONDS,
        )

    def command(self, release, *arguments):
        """Runs `penstock` of the release and returns its standard output."""
        run = self.run(release, *arguments)
        assert run.returncode == 0, run.stderr + self.coordinator.log.read_text()[-2000:]
        return run.stdout

    def status(self, release=NEW):
        return json.loads(self.command(release, "status", "--json"))

    def reader(self, release, job, pace_ms=0):
        """Starts `penstock read`."""
        return Reader(
            [release.bin / "penstock", "read", job, "--coordinator", self.address, "--epochs", EPOCHS, "--json",
             "--pace", str(pace_ms)]
        )  # fmt: skip

    def wheel(self, release, job, pace_ms=0, progress=None):
        """Starts a Python loop over penstock.Loader."""
        more = [progress] if progress else []
        return Reader([release.python, HERE / "wheel_reader.py", self.address, job, EPOCHS, pace_ms / 1000, *more])


class Reader:
    def __init__(self, command):
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self):
        try:
            out, errors = self.process.communicate(timeout=READ_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert self.process.returncode == 0, errors
        return json.loads(out.strip().splitlines()[-1])
