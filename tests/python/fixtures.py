"""Paths of the package and the programs, and fixtures that both conftest.py files import."""

import logging
import os
import select
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = [str(ROOT / "client" / "python"), str(HERE), str(ROOT / "tests" / "support" / "cluster")]
sys.path[:0] = FOLDERS
os.environ["PYTHONPATH"] = os.pathsep.join(FOLDERS)  # for subprocesses of tests
# The folder of the programs; ctest sets it.
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))


def ended(pid, seconds=5.0):
    """Waits for the end of a process, which need not be a child. Returns False if it has not ended in that time."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(watch)


def eventually(what, seconds=5.0):
    """Polls until `what` returns true: for states without a notification. Returns False after `seconds`."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def labels(loop):
    """Returns the first label of each batch."""
    return [int(batch["label"][0]) for batch in loop]


def held(loader, expected):
    """Returns how many batches the feeder counts as held or sent, after it has had time to count `expected` of them."""
    eventually(lambda: loader.stats()["feeder_held_batches"] == expected)
    return loader.stats()["feeder_held_batches"]


class Notices(logging.Handler):
    """A context that collects the messages of the logger `penstock`. Its wait() returns after the first one."""

    def __init__(self):
        super().__init__()
        self._said = threading.Event()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())
        self._said.set()

    def wait(self, seconds=20):
        return self._said.wait(seconds)

    def __enter__(self):
        logging.getLogger("penstock").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("penstock").removeHandler(self)


def children():
    """Returns the ids of this process's children, including those that ended and were not reaped."""
    while True:
        try:
            lists = [Path(f"/proc/self/task/{task}/children").read_text() for task in os.listdir("/proc/self/task")]
            return [int(name) for names in lists for name in names.split()]
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread has ended meanwhile, and its children have moved to another one


@pytest.fixture(autouse=True)
def no_feeder_is_left():
    """Each test starts its own feeder."""
    yield
    import penstock

    penstock.shutdown()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Makes the fake feeder the program `penstock`. Returns a function from a job's options to a loader."""
    program = tmp_path / "penstock"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "fake_feeder.py"}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(program))
    import penstock

    def make(options="", **arguments):
        return penstock.Loader(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


# ---- The real programs, on generated photographs.

JOB = """
name: "small"
dataset { files: "*" }
features { key: "image/class/label" column: "label" type: INT64 }
features { key: "image/encoded" column: "image" type: BYTES }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 32 width: 32 } }
ops { random_horizontal_flip { probability: 0.5 } }
order { seed: 17 }
batch { size: 20 last: DROP }
"""


class SmallJob(NamedTuple):
    path: str
    data: str


@pytest.fixture(scope="session")
def small_files(tmp_path_factory):
    """100 photographs in 10 shards, and a job of 32x32 crops in batches of 20."""
    folder = tmp_path_factory.mktemp("small")
    subprocess.run([BIN / "make_demo_dataset", folder / "data", "100", "10"], check=True, stdout=subprocess.DEVNULL)
    (folder / "small.textproto").write_text(JOB)
    return SmallJob(str(folder / "small.textproto"), str(folder / "data"))


@pytest.fixture
def small_job(small_files, tmp_path, monkeypatch):
    """A job for the real feeder, with the test's own cache folder."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return small_files
