"""penstock.convert of files on a web server: the shards are those of local files. The libraries write the files."""

import os

import numpy as np
import pytest
from fixtures import BIN
from killing import content
from storages import Ranges, serving

import penstock
from penstock import ConfigurationError
from penstock._column_options import ColumnOptions
from penstock._sources import open_source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
h5py = pytest.importorskip("h5py")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder, and the URL under which a web server has it."""
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "served"
    folder.mkdir()
    with serving(folder, Ranges) as storage:
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield folder, storage.url


def write_hdf5(path, seed):
    dice = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=dice.normal(size=(3000, 40)), chunks=(100, 40))
        file.create_dataset("text", data=[f"row {i}" for i in range(3000)], dtype=h5py.string_dtype())


def test_shards_are_those_of_local_files(served, tmp_path):
    folder, url = served
    table = pa.table({"id": range(5000), "text": [f"text {i}" * (i % 30) for i in range(5000)]})
    pq.write_table(table, folder / "a.parquet", row_group_size=900)
    with pa.OSFile(str(folder / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=800)
    with pa.OSFile(str(folder / "a.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=800)
    write_hdf5(folder / "a.h5", 1)
    for name in ("a.parquet", "a.arrow", "a.arrows", "a.h5"):
        out, near = tmp_path / f"far-{name}", tmp_path / f"near-{name}"
        result = penstock.convert(f"{url}/{name}", out, processes=2, shard_bytes="200KiB")
        penstock.convert(folder / name, near, processes=1, shard_bytes="200KiB")
        assert result.records == (3000 if name == "a.h5" else 5000)
        assert content(out) == content(near), name


@pytest.mark.parametrize("name", ["a.h5", "a.parquet"])
def test_a_file_that_is_replaced_meanwhile_is_an_error(served, name):
    folder, url = served
    for seed in (1, 2):
        write_hdf5(folder / "a.h5", seed)
        pq.write_table(pa.table({"x": np.full(5000, seed)}), folder / "a.parquet")
        os.utime(folder / name, ns=(seed, seed))
        if seed == 1:
            source = open_source(f"{url}/{name}", ColumnOptions(), "")
            again = source.__class__.__new__(source.__class__)
            state = source.__getstate__()

    def read():  # as a process does that has the source from the first one
        again.__setstate__(state)
        again.frames(again.pieces[0], 0)

    with pytest.raises((penstock.PenstockError, OSError), match="changed since"):
        read()


def test_a_missing_file_is_named(served, tmp_path):
    _, url = served
    with pytest.raises(ConfigurationError, match=f"{url}/none.parquet"):
        penstock.convert(f"{url}/none.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()
