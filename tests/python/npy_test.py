"""Shards that are .npy files: the rows that NumPy reads, bit for bit, in process and served, and clear errors."""

import gzip
import io
import json

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

FIELDS = np.dtype([("image", "u1", (4, 3)), ("label", "<i4"), ("weight", "<f8"), ("name", "<U6"), ("größe", "<f2")])
JOB = """
name: "arrays"
dataset { files: "*.npy*" }
features { key: "image" type: BYTES decode_raw: UINT8 shape: [4, 3] }
features { key: "label" type: INT64 }
features { key: "weight" type: BYTES decode_raw: FLOAT64 }
features { key: "name" type: BYTES }
features { key: "größe" column: "size" type: FLOAT }
order { seed: 5 }
batch { size: 8 last: PAD }
"""
NUMBERS = ["?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"]


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def records(count, seed):
    rng = np.random.default_rng(seed)
    table = np.frombuffer(rng.bytes(count * FIELDS.itemsize), FIELDS).copy()
    table["label"] = 1000 * seed + np.arange(count)
    table["name"] = rng.choice(["", "a", "日本", "smörgå", "x\0y"], count)
    table["größe"] = rng.standard_normal(count)
    table["weight"] = rng.standard_normal(count)
    return table


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for number, name in enumerate("abc"):
        np.save(folder / f"{name}.npy", records(30 + number, number))
    (tmp_path / "arrays.textproto").write_text(JOB)
    return folder


def load(path):
    content = path.read_bytes()
    return np.load(io.BytesIO(gzip.decompress(content) if path.suffix == ".gz" else content))


def expected_of(data):
    return np.concatenate([load(path) for path in sorted(data.iterdir())])


def batches(data, job=None, **arguments):
    return list(penstock.Loader(str(job or data.parent / "arrays.textproto"), data_root=str(data), **arguments))


def check(found, expected):
    """Compares the rows of batches with records, in the order of their labels."""
    columns = {name: np.concatenate([batch[name][batch.valid] for batch in found]) for name in found[0]}
    order = np.argsort(columns["label"])
    np.testing.assert_array_equal(columns["image"][order], expected["image"])
    np.testing.assert_array_equal(columns["label"][order], expected["label"])
    assert columns["weight"][order].tobytes() == expected["weight"].tobytes()
    assert [bytes(name).decode() for name in columns["name"][order]] == expected["name"].tolist()
    np.testing.assert_array_equal(columns["size"][order], expected["größe"].astype("f4"))


def changed(data, old, new, text=JOB):
    job = data.parent / "changed.textproto"
    assert old in text
    job.write_text(text.replace(old, new))
    return job


def test_the_fields_of_record_arrays_are_those_that_numpy_reads(data):
    check(batches(data), expected_of(data))
    (data / "c.npy").unlink()
    packed = io.BytesIO()
    np.save(packed, records(40, 7))
    (data / "d.npy.gz").write_bytes(gzip.compress(packed.getvalue()))
    (data / "e.npy").write_bytes(b"".join(dumped(records(9, 8), version=(2, 0))))
    check(batches(data), expected_of(data))


def dumped(array, version):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    yield out.getvalue()


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 5)])
def test_init_keeps_type_and_shape_of_an_array(tmp_path, shape):
    for number in NUMBERS:
        array = np.frombuffer(np.random.default_rng(3).bytes(50 * 8 * 30), number)[: 50 * int(np.prod(shape))]
        if number == "?":
            array = (array.view("u1") % 2).astype("?")
        array = array.reshape((50, *shape))
        np.save(tmp_path / "x.npy", array)
        job = tmp_path / "x.textproto"
        done = run("init", tmp_path / "x.npy", "--eval", "--out", job)
        assert done.returncode == 0, done.stderr
        found = np.concatenate([batch["row"][batch.valid] for batch in penstock.Loader(str(job), batch_size=7)])
        assert found.dtype == array.dtype, job.read_text()
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes()
        job.unlink()


def test_init_writes_a_column_for_each_field(data):
    job = data.parent / "made.textproto"
    done = run("init", f"{data}/*.npy", "--eval", "--out", job)
    assert done.returncode == 0, done.stderr
    assert 'features { key: "image" type: BYTES decode_raw: UINT8 shape: [4, 3] }' in job.read_text()
    made = list(penstock.Loader(str(job)))
    expected = expected_of(data)
    for name in ("image", "label", "weight", "größe"):
        column = np.concatenate([batch[name][batch.valid] for batch in made])
        assert column.dtype == expected[name].dtype
        assert column.tobytes() == np.ascontiguousarray(expected[name]).tobytes()


def test_init_names_the_types_of_text_and_times(tmp_path):
    np.save(tmp_path / "t-00000.npy", np.zeros(3, [("s", "S3", (2, 3)), ("u", "U6"), ("at", "M8[s]", (2, 1)), ("v", "V4", 2)]))
    job = tmp_path / "t.textproto"
    assert run("init", tmp_path / "t-*.npy", "--out", job).returncode == 0
    text = job.read_text()
    assert 'name: "t"' in text
    assert 'features { key: "s" type: BYTES shape: [2, 3] }' in text
    assert 'features { key: "u" type: BYTES }' in text
    assert 'features { key: "at" type: INT64 shape: [2, 1] }' in text
    assert 'features { key: "v" type: BYTES }  # 8 bytes each: decode_raw: UINT8 shape: 8' in text
    assert len(next(iter(penstock.Loader(str(job), batch_size=3)))["s"]) == 3


def test_a_job_in_python_names_the_kind(data):
    job = penstock.Job(dataset={"files": ["*.npy"], "source": "NPY"}, features={"label": "INT64"}, batch=93)
    (batch,) = penstock.Loader(job, data_root=str(data))
    assert sorted(batch["label"].tolist()) == expected_of(data)["label"].tolist()


def test_aligned_records_times_and_bytes(tmp_path):
    fields = np.dtype([("flag", "?"), ("at", "<M8[ms]"), ("code", "S3", 2), ("z", "<c8")], align=True)
    table = np.zeros(5, fields)
    table["at"] = np.arange("2026-11-01", "2026-11-06", dtype="M8[D]")
    table["code"] = [[b"ab", b""], [b"abc", b"\0x"], [b"a", b"b"], [b"", b""], [b"xyz", b"q"]]
    table["z"] = np.arange(5) * 1j
    np.save(tmp_path / "t.npy", table)
    (tmp_path / "t.textproto").write_text("""name: "t" dataset { files: "t.npy" source: NPY }
        features { key: "at" type: INT64 } features { key: "code" type: BYTES shape: 2 } features { key: "z" type: BYTES }
        order { shuffle: NONE } batch { size: 5 }""")
    (batch,) = penstock.Loader(str(tmp_path / "t.textproto"), data_root=str(tmp_path))
    np.testing.assert_array_equal(batch["at"].astype("M8[ms]"), table["at"])
    assert [[bytes(code) for code in row] for row in np.asarray(batch["code"]).reshape(5, 2)] == table["code"].tolist()
    assert b"".join(bytes(z) for z in batch["z"]) == table["z"].tobytes()


def test_a_resumed_loader_gives_the_rest(data):
    job = str(data.parent / "arrays.textproto")
    whole = [batch["label"].tolist() for batch in penstock.Loader(job, data_root=str(data))]
    for steps in range(len(whole)):
        loader = penstock.Loader(job, data_root=str(data))
        loop = iter(loader)
        for _ in range(steps):
            next(loop)
        state = loader.state_dict()
        loader.close()
        resumed = penstock.Loader(job, data_root=str(data))
        resumed.load_state_dict(state)
        assert [batch["label"].tolist() for batch in resumed] == whole[steps:]
        resumed.close()


def test_served_rows_are_those_of_the_process(data):
    select = "select { filter: \"label < 2010 and col('größe') > -1 and name != ''\" } select { balance { by: \"name\" } }"
    job = changed(data, '"*.npy*" }', f'"*.npy*" {select} }}')
    local = batches(data, job=job)
    with daemon(data) as address:
        penstock.submit(str(job), coordinator=address)
        loader = penstock.Loader("arrays", coordinator=address)
        served = list(loader)
        loader.close()
    assert len(served) == len(local) > 1
    for one, other in zip(served, local):
        for name in ("image", "label", "weight", "size"):
            assert one[name].tobytes() == other[name].tobytes()
        assert [bytes(name) for name in one["name"]] == [bytes(name) for name in other["name"]]
    names = {bytes(name).decode() for batch in local for name in batch["name"]}
    assert names == {"a", "日本", "smörgå", "x\0y"}


def test_commands_read_arrays(data):
    count = len(expected_of(data))
    done = run("verify", f"{data}/*", "--json")
    assert json.loads(done.stdout)["readable_records"] == count
    done = run("index", f"{data}/*")
    assert f"{count} records in 3 shards" in done.stdout
    job = data.parent / "arrays.textproto"
    for command in ("preview", "bench"):
        done = run(command, job, "--data-root", data, *(["--seconds", "1"] if command == "bench" else []))
        assert done.returncode == 0, done.stderr
    done = run("select", f"{data}/*", "--filter", "label < 1010")
    assert f"40 of {count} records in 3 files match" in done.stdout, done.stderr
    done = run("bake", job, "--data-root", data, "--out", data.parent / "baked")
    assert done.returncode == 0, done.stderr


def test_mistakes_are_named(data):
    with pytest.raises(penstock.PenstockError, match=r'has a key "labels" \(did you mean \'?"?label'):
        batches(data, job=changed(data, 'key: "label"', 'key: "labels"'))
    with pytest.raises(penstock.PenstockError, match=r'"label" holds INT64 \(a NumPy array of i4\), but .* FLOAT'):
        batches(data, job=changed(data, "type: INT64", "type: FLOAT"))
    raw = 'name: "r" dataset { files: "*.npy" format: RAW } features { key: "x" type: BYTES } batch { size: 1 }'
    with pytest.raises(penstock.PenstockError, match="RAW, but the shards are .npy files: leave it out"):
        batches(data, job=changed(data, raw, raw, raw))
    with pytest.raises(penstock.PenstockError, match=r"this is a \.npy file, but dataset\.source is TAR"):
        batches(data, job=changed(data, '"*.npy*" }', '"*.npy*" source: TAR }'))
    content = (data / "b.npy").read_bytes()
    (data / "b.npy").write_bytes(content[:-1])
    with pytest.raises(penstock.PenstockError, match=r"b\.npy: record 30 at offset \d+ .*: the file ends inside its data"):
        batches(data)
    (data / "b.npy").write_bytes(content + content)
    with pytest.raises(penstock.PenstockError, match=r"b\.npy: .*it has 31 rows; save each array in a file of its own"):
        batches(data)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(["a", {}], object), "its elements are Python objects"),
        (np.arange(6, dtype=">i4"), r"big-endian; save array\.astype"),
        (np.asfortranarray(np.eye(3)), r"Fortran order.*save numpy\.ascontiguousarray"),
        (np.float32(3), "one number, not an array with rows"),
        (np.zeros((3, 0)), "its rows are empty"),
        (np.zeros(3, [("a", [("b", "f4")])]), "field .*a.*: its elements have the type"),
    ],
)
def test_arrays_that_cannot_be_read_name_the_remedy(tmp_path, array, message):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    job = tmp_path / "x.textproto"
    job.write_text('name: "x" dataset { files: "x.npy" } features { key: "row" type: BYTES } batch { size: 1 }')
    with pytest.raises(penstock.PenstockError, match=r"x\.npy: the rows of this array cannot be read: .*" + message):
        list(penstock.Loader(str(job), data_root=str(tmp_path)))
    done = run("verify", tmp_path / "x.npy")
    assert done.returncode == 1
    assert "the rows of this array cannot be read" in done.stdout + done.stderr


def test_pickled_objects_run_no_code(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    np.save(tmp_path / "x.npy", np.array([Bomb()], object), allow_pickle=True)
    done = run("verify", tmp_path / "x.npy")
    assert "Python objects" in done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


def test_import_makes_examples_of_arrays(data):
    """A .npy file is rows of an array for `import`, which names fields in its own way."""
    for path in list(data.iterdir()):
        path.unlink()
    array = np.arange(12, dtype="<f4").reshape(4, 3)
    np.save(data / "x.npy", array)
    (data / "x.npy").rename(data / "x.rows")  # the suffix would choose the import of arrays
    done = run("import", f"{data}/*", "--untouched", "--out", data.parent / "shards")
    assert done.returncode == 0, done.stderr
    job = data.parent / "imported.textproto"
    job.write_text("""name: "i" dataset { files: "*.tfrecord" } features { key: "row" type: FLOAT shape: 3 }
        order { shuffle: NONE } batch { size: 4 }""")
    (batch,) = penstock.Loader(str(job), data_root=str(data.parent / "shards"))
    np.testing.assert_array_equal(batch["row"], array)


def test_rows_of_different_types_fail_the_job(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    np.save(folder / "a.npy", np.ones((5, 3), "<f4"))
    np.save(folder / "b.npy", np.ones((0, 7), "<i2"))  # no rows: any type
    np.save(folder / "c.npy", np.ones((4, 3), "<f4"))
    row = {"type": "BYTES", "decode_raw": "FLOAT32", "shape": [3]}
    job = penstock.Job(name="rows", files="*.npy", features={"row": row}, batch=1)
    with penstock.Loader(job, data_root=folder) as loader:
        assert sum(1 for _ in loader) == 9
    np.save(folder / "d.npy", np.ones((4, 3), "<i4"))  # as many bytes in a row
    with pytest.raises(penstock.PenstockError, match=r"a\.npy and .*d\.npy have rows of different types;"):
        next(iter(penstock.Loader(job, data_root=folder)))
    with daemon(folder) as address:
        (tmp_path / "rows.textproto").write_text(job.to_text())
        failed = run("submit", tmp_path / "rows.textproto", "--coordinator", address)
        assert failed.returncode != 0
        assert "a.npy and data/d.npy have rows of different types;" in failed.stderr
