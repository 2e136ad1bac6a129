"""Where the package and the programs are, and what the tests share."""

import os
import stat
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "client" / "python"))
sys.path.insert(0, str(HERE))
# What subprocesses of tests import.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "client" / "python"), str(HERE)])
# Where `build/release/bin` is; ctest says it.
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))


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
