"""examples/python/write_*.py, if their packages are installed: the written shards are read back."""

import json
import runpy
import subprocess
import sys

import numpy as np
import pytest
from fixtures import BIN, ROOT
from writer_test import example, records

EXAMPLES = ROOT / "examples" / "python"


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def run(name, *arguments):
    return runpy.run_path(str(EXAMPLES / name))["main"](*map(str, arguments))


def checked(result):
    """Returns the records and the job file, after a check of every CRC and of the job."""
    done = subprocess.run([str(BIN / "penstock"), "verify", "--json", result.files], capture_output=True, text=True)
    assert json.loads(done.stdout)["readable_records"] == result.records, done.stderr
    done = subprocess.run([str(BIN / "penstock"), "check-config", result.job], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    with open(result.job, encoding="utf-8") as job:
        return [example(record) for record in records(result.files.rsplit("/", 1)[0])], job.read()


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    images = np.arange(3000 * 12).reshape(3000, 2, 2, 3).astype("uint8")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["image"] = images
        file["label"] = np.arange(3000)
    read, job = checked(run("write_hdf5.py", tmp_path / "x.h5", tmp_path / "out"))
    assert sorted(row["label"][0] for row in read) == list(range(3000))
    assert all(row["image"] == [images[row["label"][0]].tobytes()] for row in read)
    assert "decode_raw: UINT8 shape: [2, 2, 3]" in job


def test_pandas(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "x.csv").write_text("n,weight,name\n1,0.5,a\n2,,b\n3,1.5,\n")
    read, job = checked(run("write_pandas.py", tmp_path / "x.csv", tmp_path / "out"))
    assert sorted(read, key=lambda row: row["n"]) == [
        {"n": [1], "weight": [0.5], "name": [b"a"]},
        {"n": [2], "name": [b"b"]},
        {"n": [3], "weight": [1.5]},
    ]
    assert 'key: "weight" type: FLOAT variable_length: true' in job


def test_hugging_face(tmp_path):
    datasets = pytest.importorskip("datasets")
    jpeg = b"\xff\xd8\xff\xe0 no whole picture"
    rows = {"image": [{"bytes": jpeg, "path": None}] * 40, "label": list(range(40))}
    features = datasets.Features({"image": datasets.Image(decode=False), "label": datasets.Value("int64")})
    (tmp_path / "set").mkdir()
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "set" / "train.parquet")
    # The example runs in its own process, because it starts processes.
    command = [sys.executable, str(EXAMPLES / "write_hf.py"), str(tmp_path / "set"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read = [example(record) for record in records(tmp_path / "out")]
    assert sorted(row["label"][0] for row in read) == list(range(40))
    assert all(row["image"] == [jpeg] for row in read)
    assert "decode_image" in (tmp_path / "out" / "job.textproto").read_text()
