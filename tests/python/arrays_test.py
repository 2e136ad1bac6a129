"""Loaders of arrays in memory: the rows of the arrays, bit for bit, and files that never stay."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import penstock
from fixtures import BIN
from penstock import _arrays

NUMBERS = ["?", "i1", "<i2", ">i4", "<i8", "u1", "<u2", "<u4", ">u8", "<f2", "<f4", ">f8"]


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_arrays, "_SHARED_MEMORY", str(tmp_path))


def files(folder):
    return sorted(folder.glob("penstock-arrays-*/arrays.npy"))


def test_each_row_comes_once_in_an_epoch_in_another_order(tmp_path):
    x = np.random.default_rng(1).standard_normal((100, 2, 3), dtype="f4")
    loader = penstock.Loader(arrays={"x": x, "number": np.arange(100)}, batch_size=30)
    orders = []
    for _ in range(2):
        numbers = []
        for batch in loader:
            np.testing.assert_array_equal(batch["x"], x[batch["number"]])
            numbers += batch["number"].tolist()
        assert sorted(numbers) == list(range(100))
        orders.append(numbers)
    assert orders[0] != orders[1]
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 5)])
def test_columns_have_type_and_shape_of_the_arrays(shape):
    numbers = np.random.default_rng(2)
    arrays = {}
    for number in NUMBERS:
        size = 9 * int(np.prod(shape)) * np.dtype(number).itemsize
        raw = numbers.integers(0, 2 if number == "?" else 256, size, dtype="u1")
        arrays[f"as {number}"] = raw.view(number).reshape(9, *shape)
    arrays["fortran"] = np.asfortranarray(np.arange(9 * int(np.prod(shape))).reshape(9, *shape))
    job = penstock.Job(order={"shuffle": "NONE"}, batch=9)
    (batch,) = penstock.Loader(job, arrays=arrays)
    assert list(batch) == list(arrays)
    for name, array in arrays.items():
        assert batch[name].dtype == array.dtype.newbyteorder("=")
        assert batch[name].shape == array.shape
        assert batch[name].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


def test_text_and_times(tmp_path):
    names = np.array(["a", "", "日本", "x\0y"])
    when = np.arange("2026-11-01", "2026-11-05", dtype="M8[D]")
    job = penstock.Job(order={"shuffle": "NONE"}, batch=4)
    (batch,) = penstock.Loader(job, arrays={"name": names, "code": np.array([b"1", b"22", b"", b"4"]), "when": when})
    assert [bytes(name).decode() for name in batch["name"]] == names.tolist()
    assert [bytes(code) for code in batch["code"]] == [b"1", b"22", b"", b"4"]
    np.testing.assert_array_equal(batch["when"].astype("M8[D]"), when)


def test_a_job_may_select_and_transform():
    job = penstock.Job(
        dataset={"select": [{"filter": "label >= 5"}]},
        features={"image": {"type": "BYTES", "decode_raw": "UINT8", "shape": [8, 8, 3]}, "label": "INT64"},
        ops=[penstock.ops.random_horizontal_flip()],
        batch={"size": 50, "last": "PAD"},
    )
    images = np.random.default_rng(3).integers(0, 256, (40, 8, 8, 3), dtype="u1")
    (batch,) = penstock.Loader(job, arrays={"image": images, "label": np.arange(40, dtype="i4") % 10})
    assert batch.valid.sum() == 20
    assert set(batch["label"][batch.valid].tolist()) == set(range(5, 10))
    assert not job.dataset[0].files, "the job stays as it was"


def test_a_state_fits_a_loader_of_equal_arrays():
    arrays = {"x": np.arange(64, dtype="f4")}
    whole = [batch["x"].tolist() for batch in penstock.Loader(arrays=arrays, batch_size=8)]
    first = penstock.Loader(arrays=arrays, batch_size=8)
    loop = iter(first)
    seen = [next(loop)["x"].tolist() for _ in range(3)]
    second = penstock.Loader(arrays=arrays, batch_size=8)
    second.load_state_dict(first.state_dict())
    assert seen + [batch["x"].tolist() for batch in second] == whole
    other = penstock.Loader(arrays={"x": np.arange(1, 65, dtype="f4")}, batch_size=8)
    other.load_state_dict(first.state_dict())
    with pytest.raises(penstock.PenstockError):
        next(iter(other))


def test_ranks_share_the_rows():
    job = penstock.Job(order={"shuffle": "FULL"}, batch={"size": 8, "last": "PAD"})
    numbers = []
    for rank in range(2):
        for batch in penstock.Loader(job, arrays={"n": np.arange(41)}, rank=rank, world_size=2):
            numbers += batch["n"][batch.valid].tolist()
    assert sorted(numbers) == list(range(41))
    with pytest.raises(penstock.ConfigurationError, match="PARTIAL, which is for one rank only.*use PAD"):
        next(iter(penstock.Loader(arrays={"n": np.arange(41)}, batch_size=8, rank=0, world_size=2)))


def test_the_file_ends_with_its_loader(tmp_path):
    one = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=5)
    two = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=5)
    assert len(files(tmp_path)) == 2
    next(iter(one))
    del one
    gc.collect()
    assert len(files(tmp_path)) == 1
    three = penstock.Loader(arrays={"x": np.arange(10, 20)}, batch_size=5)
    assert min(next(iter(three))["x"]) >= 10
    assert len(list(tmp_path.glob("penstock-arrays-*"))) == 2, "a free folder is used again"
    del two, three
    gc.collect()
    assert files(tmp_path) == []


def test_the_file_of_a_killed_process_is_removed(tmp_path):
    program = f"""
        import os, signal, numpy as np, penstock
        from penstock import _arrays
        _arrays._SHARED_MEMORY = {str(tmp_path)!r}
        loaders = [penstock.Loader(arrays={{"x": np.arange(1000)}}, batch_size=10) for _ in range(3)]
        next(iter(loaders[1]))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    path = os.pathsep.join([str(Path(penstock.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": path}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(files(tmp_path)) == 3
    loader = penstock.Loader(arrays={"x": np.arange(5)}, batch_size=5)
    assert len(files(tmp_path)) == 1
    assert sorted(next(iter(loader))["x"].tolist()) == list(range(5))


def test_a_fork_leaves_the_file(tmp_path):
    loader = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    child = os.fork()
    if child == 0:
        loader = None
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(files(tmp_path)) == 1
    assert len(next(iter(loader))["x"]) == 10


def test_a_closed_loader_has_no_file(tmp_path):
    loader = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    batch = next(iter(loader))
    loader.close()
    loader.close()
    assert files(tmp_path) == []
    assert sorted(batch["x"].tolist()) == list(range(10))


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_without_room_in_shared_memory_the_file_is_temporary(tmp_path, monkeypatch, scratch):
    stale = tmp_path / f"penstock-arrays-{os.getuid()}-0"
    stale.mkdir(mode=0o700)
    (stale / "arrays.npy").write_bytes(b"of a killed process")
    monkeypatch.setattr(_arrays, "_SPARE", 1 << 60)
    loader = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    assert len(files(scratch)) == 1
    assert len(next(iter(loader))["x"]) == 10
    assert files(tmp_path) == [], "an old file is removed even if this loader needs more room"

    def full(fd, offset, size):
        raise OSError(122, "Disk quota exceeded")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(penstock.MachineError, match=r"80 bytes cannot be stored: .* no room; .*quota exceeded.*Set TMPDIR"):
        penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    assert len(files(scratch)) == 1


def test_an_interrupted_copy_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(fd, offset, size):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.posix_fallocate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    assert files(tmp_path) == []
    loader = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    assert [path.parent.name for path in files(tmp_path)] == [f"penstock-arrays-{os.getuid()}-0"]
    loader.close()


def test_a_folder_of_another_user_is_left_alone(tmp_path):
    (tmp_path / f"penstock-arrays-{os.getuid()}-0").symlink_to(tmp_path)
    loader = penstock.Loader(arrays={"x": np.arange(10)}, batch_size=10)
    assert [path.parent.name for path in files(tmp_path)] == [f"penstock-arrays-{os.getuid()}-1"]
    assert len(next(iter(loader))["x"]) == 10
    loader.close()


@pytest.mark.filterwarnings("error")
def test_names_may_have_any_letters():
    arrays = {"größe": np.arange(4), "高さ": np.arange(4.0)}
    (batch,) = penstock.Loader(arrays=arrays, batch_size=4)
    assert list(batch) == list(arrays)


X = np.arange(4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a job or arrays= is missing"),
        ({"arrays": {"x": X}}, "batch_size is missing"),
        ({"arrays": {}, "batch_size": 2}, "a dict of arrays by name is expected"),
        ({"arrays": [X], "batch_size": 2}, "a dict of arrays by name is expected"),
        ({"arrays": {"x": X, "y": np.arange(5)}, "batch_size": 2}, "different numbers of rows: x: 4, y: 5"),
        ({"arrays": {"x": X[:0]}, "batch_size": 2}, "arrays have no rows"),
        ({"arrays": {"x": np.zeros((4, 0))}, "batch_size": 2}, r"rows without values: its shape is \(4, 0\)"),
        ({"arrays": {"x": np.float32(1)}, "batch_size": 2}, "one value, not an array with rows"),
        ({"arrays": {"x": np.array([{}, []], object)}, "batch_size": 2}, "has the type object; give numbers, times, str"),
        ({"arrays": {"x": X * 1j}, "batch_size": 2}, "has the type complex128"),
        ({"arrays": {"x": np.ma.masked_equal(X, 2)}, "batch_size": 2}, "has a mask"),
        ({"arrays": {"x": [[1], [2, 3]]}, "batch_size": 2}, "arrays\\['x'\\]"),
        ({"arrays": {f"{i} of many": X for i in range(4000)}, "batch_size": 2}, "the names of 4000 arrays take more than"),
        ({"arrays": {"a'b": X}, "batch_size": 2}, "is no name of a column"),
        ({"arrays": {"": X}, "batch_size": 2}, "is no name of a column"),
        ({"arrays": {"x": X}, "batch_size": 2, "coordinator": "prep:7070"}, "leave coordinator and data_root out"),
        ({"arrays": {"x": X}, "batch_size": 2, "job": "train.textproto"}, "a penstock.Job without files, not of str"),
        ({"arrays": {"x": X}, "job": penstock.Job(files="a-*", batch=2)}, "the job has files"),
    ],
)
def test_mistakes_are_named(arguments, message, tmp_path):
    with pytest.raises(penstock.ConfigurationError, match=message):
        penstock.Loader(**arguments)
    gc.collect()
    assert files(tmp_path) == []


def test_a_loader_of_arrays_cannot_be_pickled():
    loader = penstock.Loader(arrays={"x": X}, batch_size=2)
    with pytest.raises(penstock.ConfigurationError, match="cannot be pickled: make it in the process that reads it"):
        pickle.dumps(loader)
