"""penstock.convert of HDF5, LMDB, ArrayRecord and Hugging Face's data sets. The format's own library is the judge."""

import io
import pickle
import random
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fixtures import BIN
from killing import check_runs_that_are_killed, content
from writer_test import example, records

import penstock
from penstock import ConfigurationError, DataError


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def rows_in(folder):
    return [example(record) for record in records(folder)]


# ---- HDF5

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]
NUMBERS += [">i4", ">f8"]


def test_hdf5_keeps_every_value(tmp_path):
    h5py = pytest.importorskip("h5py")
    dice = np.random.default_rng(1)
    count = 50
    shapes = [(), (3,), (2, 2), (1,)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name in NUMBERS:
            for number, shape in enumerate(shapes):
                path = f"{name.strip('>')}{'b' * (name[0] == '>')}/{number}"
                file[path] = dice.integers(0, 100, (count, *shape)).astype(name)
        file["text"] = [f"é{i}" for i in range(count)]
        file.create_dataset("fixed text", data=[f"t{i}".encode() for i in range(count)], dtype="S5")
        lists = file.create_dataset("lists", (count,), h5py.vlen_dtype("int16"), chunks=(7,))
        for i in range(count):
            lists[i] = np.arange(i % 5)
        pair = np.zeros(count, [("a", "int32"), ("b", "float64", (2,))])
        pair["a"], pair["b"] = np.arange(count), dice.random((count, 2))
        file["pair"] = pair
    result = penstock.convert(tmp_path / "x.h5", tmp_path / "out", shard_bytes=5000)
    read = rows_in(tmp_path / "out")
    with h5py.File(tmp_path / "x.h5") as file:
        for column in result.columns:
            path, _, field = column.name.partition(".")
            values = file[path][:][field] if field else file[path][:]
            for row, value in zip(read, values):
                assert row[column.name] == stored(value), column
    facts = {c.name: (c.feature, c.shape) for c in result.columns}
    assert facts["int32/0"] == ("INT64, cast to INT32", "[]")
    assert facts["float64/2"] == ("FLOAT64 as raw bytes", "[2, 2]")
    assert facts["lists"] == ("INT16 as raw bytes", "[*]")
    done = subprocess.run([str(BIN / "penstock"), "check-config", result.job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def stored(value):
    """Returns the values of the feature that holds a value of a column."""
    if isinstance(value, bytes):
        return [value]
    value = np.asarray(value)
    value = value.astype(value.dtype.newbyteorder("<"))
    if value.ndim == 0 and value.dtype.kind in "biu" and value.dtype.name != "uint64":
        return [int(value)]
    if value.ndim < 2 and value.dtype.name in ("int64", "float32"):
        return value.reshape(-1).tolist()
    return [value.tobytes()]


def test_hdf5_refuses_what_a_record_cannot_hold(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.arange(3)
        file["c"] = np.zeros(3, "complex64")
        file["one"] = 1
    with pytest.raises(ConfigurationError) as caught:
        penstock.convert(tmp_path / "x.h5", tmp_path / "out")
    assert [line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:-1]] == ["c", "one"]
    assert penstock.convert(tmp_path / "x.h5", tmp_path / "out", drop=["c", "one"]).records == 3
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["x"] = np.arange(3)
        file["y"] = np.arange(4)
    with pytest.raises(ConfigurationError, match="data sets differ in their rows: x has 3, y has 4"):
        penstock.convert(tmp_path / "y.h5", tmp_path / "other")
    (tmp_path / "z.h5").write_bytes((tmp_path / "x.h5").read_bytes()[:600])
    with pytest.raises(DataError, match=r"z\.h5"):
        penstock.convert(tmp_path / "z.h5", tmp_path / "other")


def test_hdf5_is_continued(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = np.random.default_rng(1).integers(0, 255, (20000, 50, 50), "uint8")
        file.create_dataset("x", data=data, chunks=(100, 50, 50))
    check_runs_that_are_killed(tmp_path / "x.h5", tmp_path)


# ---- LMDB


def test_lmdb_keeps_keys_and_values(tmp_path):
    lmdb = pytest.importorskip("lmdb")
    dice = random.Random(1)
    with lmdb.open(str(tmp_path / "x"), map_size=1 << 28) as environment, environment.begin(write=True) as transaction:
        for number in range(5000):
            transaction.put(f"{dice.random()}".encode(), pickle.dumps({"n": number, "data": dice.randbytes(2000)}))
    result = penstock.convert(tmp_path / "x", tmp_path / "all", processes=2)
    with lmdb.open(str(tmp_path / "x"), readonly=True, lock=False) as environment, environment.begin() as transaction:
        expected = [{"key": [key], "value": [value]} for key, value in transaction.cursor()]
    assert rows_in(tmp_path / "all") == expected
    assert result.records == 5000
    assert penstock.convert(tmp_path / "x" / "data.mdb", tmp_path / "file", drop=["key"]).records == 5000
    check_runs_that_are_killed(tmp_path / "x", tmp_path, shard_bytes="100KB")


# ---- ArrayRecord


def write_array_record(path, rows, options="group_size:4"):
    module = pytest.importorskip("array_record.python.array_record_module")
    writer = module.ArrayRecordWriter(str(path), options)
    for row in rows:
        writer.write(row)
    writer.close()


def test_array_record_keeps_examples_and_other_records(tmp_path):
    dice = random.Random(2)
    rows = [{"x": number, "y": [0.5, number], "z": f"{number}"} for number in range(400)]
    shards = penstock.convert(rows, tmp_path / "shards")
    examples = list(records(tmp_path / "shards"))
    assert shards.records == len(examples) == 400
    (tmp_path / "examples").mkdir()
    for part in range(4):
        write_array_record(tmp_path / "examples" / f"{part}.array_record", examples[100 * part : 100 * part + 100])
    result = penstock.convert(tmp_path / "examples", tmp_path / "from-examples", processes=2)
    assert list(records(tmp_path / "from-examples")) == examples
    assert {column.name: column.feature for column in result.columns} == {"x": "INT64", "y": "BYTES", "z": "BYTES"}
    read = [number for batch in penstock.Loader(result.job, batch_size=100) for number in batch["x"].tolist()]
    assert sorted(read) == list(range(400))

    others = [pickle.dumps({"n": number, "data": dice.randbytes(2000)}) for number in range(3000)]
    write_array_record(tmp_path / "others.array_record", others, "group_size:64")
    result = penstock.convert(tmp_path / "others.array_record", tmp_path / "from-others", processes=2)
    assert [column.name for column in result.columns] == ["record"]
    assert rows_in(tmp_path / "from-others") == [{"record": [record]} for record in others]
    check_runs_that_are_killed(tmp_path / "others.array_record", tmp_path, shard_bytes="100KB")


def test_damaged_array_records_are_named(tmp_path):
    path = tmp_path / "x.array_record"
    write_array_record(path, [b"a record"] * 1000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"x\.array_record has no records, or was cut off"):
        penstock.convert(path, tmp_path / "cut")
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(DataError, match=r"x\.array_record: records 0 to .*hash mismatch"):
        penstock.convert(path, tmp_path / "changed")
    path.write_bytes(whole)
    with pytest.raises(ConfigurationError, match="has no column 'x'"):
        penstock.convert(path, tmp_path / "dropped", drop=["x"])


# ---- Hugging Face


@pytest.fixture
def saved(tmp_path):
    """A saved data set with images, of which one is a file, and arrays."""
    datasets = pytest.importorskip("datasets")
    image = pytest.importorskip("PIL.Image")
    pictures = []
    for number in range(30):
        made = io.BytesIO()
        image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(made, "PNG")
        pictures.append(made.getvalue())
    (tmp_path / "file.png").write_bytes(pictures[0])
    rows = {
        "image": [{"bytes": None, "path": str(tmp_path / "file.png")}, *({"bytes": p, "path": None} for p in pictures[1:])],
        "label": [number % 3 for number in range(30)],
        "matrix": [[[number, 1.5], [2.5, 3.5]] for number in range(30)],
        "tokens": [list(range(number)) for number in range(30)],
    }
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=["a", "b", "c"]),
            "matrix": datasets.Array2D((2, 2), "float32"),
            "tokens": datasets.Sequence(datasets.Value("int32")),
        }
    )
    made = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict({"train": made, "test": made.select(range(5))}).save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved", made, pictures


def test_a_saved_data_set_keeps_images_and_arrays(saved, tmp_path):
    folder, made, pictures = saved
    with pytest.raises(ConfigurationError, match="has the splits train, test; give one as split"):
        penstock.convert(folder, tmp_path / "out")
    result = penstock.convert(folder, tmp_path / "out", split="train", processes=2)
    read = rows_in(tmp_path / "out")
    assert [row["image.bytes"] for row in read] == [[picture] for picture in pictures]
    assert [row["label"] for row in read] == [[label] for label in made["label"]]
    assert [row["matrix"] for row in read] == [[np.array(m, "float32").tobytes()] for m in made["matrix"]]
    assert [row["tokens"] for row in read] == [[np.array(t, "int32").tobytes()] for t in made["tokens"]]
    assert {c.name: c.shape for c in result.columns}["matrix"] == "[2, 2]"
    assert "decode_image" in Path(result.job).read_text(encoding="utf-8")
    penstock.convert(folder / "train", tmp_path / "again")
    assert content(tmp_path / "again") == content(tmp_path / "out")
    penstock.convert(made.select(range(29, -1, -1)), tmp_path / "turned")
    assert [row["label"] for row in rows_in(tmp_path / "turned")] == [row["label"] for row in read[::-1]]


def test_a_data_set_of_the_hub_is_one_of_the_library(tmp_path):
    datasets = pytest.importorskip("datasets")
    (tmp_path / "set").mkdir()
    datasets.Dataset.from_dict({"n": list(range(10))}).to_parquet(tmp_path / "set" / "train.parquet")
    result = penstock.convert(f"hf://{tmp_path}/set", tmp_path / "out")
    assert [row["n"] for row in rows_in(tmp_path / "out")] == [[n] for n in range(10)]
    assert result.records == 10
    with pytest.raises(ConfigurationError, match="hf://no/such-set: "):
        penstock.convert("hf://no/such-set", tmp_path / "none")


def test_a_library_that_runs_scripts_of_data_sets_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.__version__", "3.6.0")
    with pytest.raises(ConfigurationError, match=r"datasets 3\.6\.0 may run a script of hf://no/such-set: pip install"):
        penstock.convert("hf://no/such-set", tmp_path / "none")


def test_a_saved_data_set_is_continued(tmp_path):
    datasets = pytest.importorskip("datasets")
    data = np.random.default_rng(1)
    datasets.Dataset.from_dict({"x": [data.bytes(1000) for _ in range(30000)]}).save_to_disk(str(tmp_path / "saved"))
    check_runs_that_are_killed(tmp_path / "saved", tmp_path)
