"""Data sets that several files use."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def written(kind, folder):
    """Starts to write a folder of data sets. A process of its own writes them, because it imports torch."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(HERE / "stand_ins" / kind), "HOME": str(folder / "home")}
    command = [sys.executable, str(HERE / "write_samples.py"), kind, str(folder)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="session")
def data_sets(tmp_path_factory):
    """Writes the data sets of both libraries at the same time."""
    for package in ("streaming", "litdata"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    folder = tmp_path_factory.mktemp("samples")
    for run in [written(kind, folder / kind) for kind in ("mosaic", "litdata")]:
        output = run.communicate()[0]
        assert run.returncode == 0, output
    return folder
