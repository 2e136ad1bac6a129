"""Where the package and the programs are, and what tests share: both conftest.py take it from here."""

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
sys.path.insert(0, str(ROOT / "client" / "python"))
sys.path.insert(0, str(HERE))
# What subprocesses of tests import.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "client" / "python"), str(HERE)])
# Where `build/release/bin` is; ctest says it.
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))


def ended(pid, seconds=5.0):
    """Waits for the end of a process, whoever's child it is. False: it has not ended in that time."""
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
    """Asks until it is true: for what can only be asked for."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Notices(logging.Handler):
    """While it is entered: says when something was waited for so long that the logger `penstock` was told."""

    def __init__(self):
        super().__init__()
        self._said = threading.Event()

    def emit(self, record):
        self._said.set()

    def wait(self, seconds=20):
        return self._said.wait(seconds)

    def __enter__(self):
        logging.getLogger("penstock").addHandler(self)
        return self

    def __exit__(self, *_):
        logging.getLogger("penstock").removeHandler(self)


def children():
    """Processes of this one that are there, ended or not."""
    found = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as names:
            found += [int(name) for name in names.read().split()]
    return found


@pytest.fixture(autouse=True)
def no_feeder_is_left():
    """Each test starts its own feeder."""
    yield
    import penstock

    penstock.shutdown()


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """The fake feeder is the program `penstock`. Returns a function that makes a job's name and a loader."""
    program = tmp_path / "penstock"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "fake_feeder.py"}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(program))
    import penstock

    def make(options="", **arguments):
        return penstock.Loader(f"fake?{options}", coordinator="nowhere:1", **arguments)

    return make


# ---- The real programs, on made-up photographs.

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
    """With the real feeder, and a cache folder of the test's own."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return small_files
