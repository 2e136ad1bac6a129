"""penstock.convert of Parquet, Arrow and Feather files. pyarrow is the judge."""

import datetime
import decimal
import json
import os
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fixtures import BIN
from killing import check_runs_that_are_killed, content, convert_command
from writer_test import example, records

import penstock
from penstock import ConfigurationError, DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]
TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary(4)]


def arrow(name):
    return {"bool": pa.bool_()}.get(name) or pa.from_numpy_dtype(np.dtype(name))


def random_number(dice, name):
    if name == "bool":
        return dice.random() < 0.5
    if name.startswith("float"):
        return np.dtype(name).type(dice.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, dice.uniform(-9, 9)]))
    limits = np.iinfo(name)
    return dice.choice([limits.min, limits.max, 0, dice.randint(int(limits.min), int(limits.max))])


def random_text(dice, kind):
    text = "".join(dice.choice("aé漢😀\0\n\"'") for _ in range(dice.choice([0, 1, 5, 50])))
    if kind == pa.binary(4):
        return bytes(dice.randrange(256) for _ in range(4))
    is_text = kind in (pa.string(), pa.large_string(), pa.string_view())
    return text if is_text else text.encode("utf-16")


def stored(value, name, listed):
    """Returns the values of a feature that holds numbers of a type."""
    values = value if listed else [value]
    if name == "float32":
        return [float(np.float32(v)) for v in values]
    if name == "int64" or (not listed and name != "uint64" and not name.startswith("float")):
        return [int(v) for v in values]
    return [np.array(values, name).tobytes()]


def random_column(dice, rows, nulls):
    """Returns an Arrow array, and the expected feature of each row, or None."""
    shape = dice.choice(["scalar", "scalar", "list", "large", "fixed", "matrix", "matrices"])
    name = dice.choice(NUMBERS)

    def some(make):
        return [None if nulls and dice.random() < 0.3 else make() for _ in range(rows)]

    if dice.random() < 0.3:
        kind = dice.choice(TEXTS)
        if shape in ("list", "large") and kind != pa.string_view():
            values = some(lambda: [random_text(dice, kind) for _ in range(dice.randrange(4))])
            array = pa.array(values, pa.list_(kind))
            listed = True
        else:
            values = some(lambda: random_text(dice, kind))
            array, listed = pa.array(values, kind), False
            if kind == pa.string() and dice.random() < 0.3:
                array = array.dictionary_encode()
        texts = [None if v is None else v if listed else [v] for v in values]
        return array, [v and [t.encode() if isinstance(t, str) else t for t in v] for v in texts]
    number = lambda: random_number(dice, name)  # noqa: E731
    if shape == "scalar":
        values = some(number)
        return pa.array(values, arrow(name)), [None if v is None else stored(v, name, False) for v in values]
    if shape in ("list", "large"):
        values = some(lambda: [number() for _ in range(dice.randrange(5))])
        kind = pa.list_(arrow(name)) if shape == "list" else pa.large_list(arrow(name))
        return pa.array(values, kind), [None if v is None else stored(v, name, True) for v in values]
    if shape == "fixed":
        values = some(lambda: [number() for _ in range(3)])
        return pa.array(values, pa.list_(arrow(name), 3)), [None if v is None else stored(v, name, True) for v in values]
    count = (lambda: 2) if shape == "matrix" else (lambda: dice.randrange(3))
    values = some(lambda: [[number() for _ in range(3)] for _ in range(count())])
    inner = pa.list_(arrow(name), 3)
    kind = pa.list_(inner, 2) if shape == "matrix" else pa.list_(inner)
    return pa.array(values, kind), [None if v is None else [np.array(v, name).tobytes()] for v in values]


def same(read, expected):
    """Compares features; NaN equals NaN."""
    return repr(read) == repr(expected)


def random_table(dice, rows):
    arrays, expected = {}, [{} for _ in range(rows)]
    for number in range(dice.randint(1, 8)):
        name = f"{dice.choice(['x', 'é', 'a b', 'c/d'])}{number}"
        arrays[name], features = random_column(dice, rows, nulls=dice.random() < 0.5)
        for row, feature in zip(expected, features):
            if feature is not None:
                row[name] = feature
    return pa.table(arrays), expected


def write(table, path, kind, rows):
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    elif kind == "feather":
        pa.feather.write_feather(table, path, chunksize=rows)
    else:
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as sink:
            sink.write_table(table, max_chunksize=rows)


@pytest.mark.parametrize("seed", range(60))
def test_every_value_of_a_random_table_is_in_the_shards(tmp_path, seed):
    import pyarrow.feather  # noqa: F401

    dice = random.Random(seed)
    table, expected = random_table(dice, dice.choice([1, 7, 100]))
    kind = ["arrow", "stream", "feather", "parquet"][seed % 4]
    if kind == "parquet":  # Parquet has no float16 in lists of old versions, and no such views
        names = [f.name for f in table.schema if "view" not in str(f.type) and "halffloat" not in str(f.type)]
        if not names:
            pytest.skip("no column that Parquet has")
        table = table.select(names)
        expected = [{k: v for k, v in row.items() if k in names} for row in expected]
    if kind == "feather" and any("view" in str(field.type) for field in table.schema):
        kind = "arrow"
    write(table, tmp_path / "x", kind, dice.choice([1, 3, 1000]))
    arguments = {"processes": 1, "shard_bytes": dice.choice([100, 1 << 20])}
    if not any(expected):
        with pytest.raises(penstock.PenstockError, match="no record has a value"):
            penstock.convert(tmp_path / "x", tmp_path / "out", **arguments)
        return
    result = penstock.convert(tmp_path / "x", tmp_path / "out", **arguments)
    assert result.records == len(expected)
    assert same([example(record) for record in records(tmp_path / "out")], [dict_in_order(row, result) for row in expected])
    missing = {c.name: sum(c.name not in row for row in expected) for c in result.columns}
    assert result.missing == {name: count for name, count in missing.items() if count}
    done = subprocess.run([str(BIN / "penstock"), "check-config", result.job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def dict_in_order(row, result):
    """Orders the features as the records do: values of fixed size come first."""
    names = [c.name for c in result.columns]
    fixed = [c.name for c in result.columns if "*" not in c.shape and c.feature != "BYTES"]
    return {name: row[name] for name in sorted(row, key=lambda name: (name not in fixed, names.index(name)))}


def columns_read(result):
    """Returns the columns of all rows in order, as a loader gives them."""
    text = Path(result.job).read_text(encoding="utf-8").replace("shuffle: CHUNKED", "shuffle: NONE")
    job = Path(result.job).with_name("in-order.textproto")
    job.write_text(re.sub("batch {.*", f"batch {{ size: {result.records} }}", text), encoding="utf-8")
    with penstock.Loader(str(job)) as loader:
        (batch,) = list(loader)
        return {name: np.array(batch[name]) for name in batch if isinstance(batch[name], np.ndarray)}


def test_a_loader_returns_types_and_shapes(tmp_path):
    values = {name: np.array([0, 1, 3, 5]).astype(name) for name in NUMBERS}
    table = {name: pa.array(value) for name, value in values.items()}
    for name in ("float32", "int16", "float64", "bool", "uint32", "uint64"):
        table[f"list of {name}"] = pa.FixedSizeListArray.from_arrays(pa.array(np.tile(values[name], 3)), 3)
    tensors = np.arange(24, dtype="int32").reshape(4, 2, 3)
    table["tensor"] = pa.FixedShapeTensorArray.from_numpy_ndarray(tensors)
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    result = penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    read = columns_read(result)
    for name, value in values.items():
        assert read[name].dtype == value.dtype
        assert (read[name] == value).all()
    for name in ("float32", "int16", "float64", "bool", "uint32", "uint64"):
        assert read[f"list of {name}"].dtype == name
        assert (read[f"list of {name}"] == np.tile(values[name], 3).reshape(4, 3)).all()
    assert read["tensor"].dtype == "int32"
    assert (read["tensor"] == tensors).all()


def test_structs_times_and_null_columns(tmp_path):
    when = datetime.datetime(2024, 5, 6, 7, 8, 9, 10)
    rows = [
        {"image": {"bytes": b"\xff\xd8", "path": "a"}, "when": when, "day": when.date(), "none": None},
        {"image": None, "when": None, "day": when.date(), "none": None},
        {"image": {"bytes": b"", "path": None}, "when": when, "day": None, "none": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    result = penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    stamp = int((when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    days = (when.date() - datetime.date(1970, 1, 1)).days
    assert [example(record) for record in records(tmp_path / "out")] == [
        {"image.bytes": [b"\xff\xd8"], "image.path": [b"a"], "when": [stamp], "day": [days]},
        {"day": [days]},
        {"image.bytes": [b""], "when": [stamp]},
    ]
    facts = {c.name: (c.feature, c.shape) for c in result.columns}
    assert facts["when"] == ("INT64, us since 1970", "[]")
    assert facts["none"] == ("", "[]")


UNKNOWN = {
    "decimal": pa.array([decimal.Decimal("1.5")]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "lists": pa.array([[[1]]]),
    "structs": pa.array([[{"a": 1}]]),
}


def test_columns_without_a_counterpart_are_refused_together_and_can_be_dropped(tmp_path):
    pq.write_table(pa.table({"a": [1], "s": pa.array([{"x": 1, "y": decimal.Decimal(1)}]), **UNKNOWN}), tmp_path / "x.parquet")
    with pytest.raises(ConfigurationError) as caught:
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:-1]] == ["s.y", *UNKNOWN]
    result = penstock.convert(tmp_path / "x.parquet", tmp_path / "out", drop=["s.y", *UNKNOWN])
    assert [c.name for c in result.columns] == ["a", "s.x"]
    with pytest.raises(ConfigurationError, match="has no column 'b'"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "other", drop=["b"])


def test_a_null_in_a_list_is_named_by_file_row_and_column(tmp_path):
    pq.write_table(pa.table({"x": [[1], None, [2, None]]}), tmp_path / "x.parquet")
    with pytest.raises(ConfigurationError, match=r"x\.parquet, row 2: column 'x' has a list with a null"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    assert os.listdir(tmp_path) == ["x.parquet"]


def test_an_empty_table_is_refused(tmp_path):
    for name, table in (("rows", pa.table({"x": pa.array([], pa.int64())})), ("columns", pa.table({"x": [None]}))):
        pq.write_table(table, tmp_path / name)
        with pytest.raises(ConfigurationError, match="has no rows|no column with values"):
            penstock.convert(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_of_other_columns_are_named(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1"]}), tmp_path / "b.parquet")
    with pytest.raises(ConfigurationError, match=r"b\.parquet: column 'x' has type string, but .*a\.parquet has type int64"):
        penstock.convert(tmp_path, tmp_path / "out")


def test_a_damaged_file_is_named(tmp_path):
    pq.write_table(pa.table({"x": list(range(100000))}), tmp_path / "x.parquet", compression="none")
    data = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"x\.parquet"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")


# ---- several files and processes; killed runs


def blobs(folder, files=3, rows=4000):
    """Writes tables of a number and 2 KB of bytes."""
    dice = random.Random(1)
    folder.mkdir()
    for number in range(files):
        data = [dice.randbytes(dice.randrange(4000)) for _ in range(rows)]
        table = pa.table({"n": np.arange(rows) + number * rows, "data": data, "some": [None, 1] * (rows // 2)})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=500, compression="none")
    return files * rows


def test_the_shards_are_the_same_with_1_2_and_5_processes(tmp_path):
    rows = blobs(tmp_path / "in")
    made = []
    for processes in (1, 2, 5):
        result = penstock.convert(
            str(tmp_path / "in" / "*.parquet"), tmp_path / str(processes), processes=processes, shard_bytes="1MiB"
        )
        assert result.records == rows
        assert result.missing == {"some": rows // 2}
        made.append(content(tmp_path / str(processes)))
    assert made[0] == made[1] == made[2]
    assert len(made[0]) > 10
    assert [example(record)["n"][0] for record in records(tmp_path / "1")] == list(range(rows))


def test_a_run_that_is_killed_20_times_makes_the_same_shards(tmp_path):
    blobs(tmp_path / "in")
    check_runs_that_are_killed(tmp_path / "in", tmp_path, kills=20)


def test_a_complete_run_is_not_repeated(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "x.parquet")
    first = penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    assert penstock.convert(tmp_path / "x.parquet", tmp_path / "out") == first._replace(resumed_shards=1)


def test_another_source_or_option_in_the_same_folder_is_refused(tmp_path):
    pq.write_table(pa.table({"x": [1, 2], "y": [1, 2]}), tmp_path / "x.parquet")
    pq.write_table(pa.table({"x": [1, 2], "y": [1, 2]}), tmp_path / "z.parquet")
    penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"source: then '.*x\.parquet', now '.*z\.parquet'"):
        penstock.convert(tmp_path / "z.parquet", tmp_path / "out")
    with pytest.raises(ConfigurationError, match="shard-size: then '134217728', now '1000'"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out", shard_bytes=1000)
    with pytest.raises(ConfigurationError, match="drop: then not given, now 'y'"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out", drop=["y"])
    pq.write_table(pa.table({"x": [1, 3], "y": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(ConfigurationError, match="content: then '1 file, 2 rows, "):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="is not empty"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "mine")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(penstock.PenstockError, match=r"/proc/nothing"):
        penstock.convert(tmp_path / "x.parquet", "/proc/nothing")


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    rows = blobs(tmp_path / "in", files=1)
    command = " ".join(convert_command(tmp_path / "in", "--out", tmp_path / "out", "--processes 2 --shard-bytes 1MiB"))
    done = subprocess.run(["bash", "-c", f"ulimit -f 700; {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "data-00000" in done.stderr
    assert not (tmp_path / "out").exists()
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(records(tmp_path / "out")) == rows


def test_shards_that_were_finished_before_a_failure_stay(tmp_path):
    blobs_ = [bytes([number]) * 50_000 for number in range(20)]
    pq.write_table(pa.table({"blob": [*blobs_, b"large" * 300_000]}), tmp_path / "x.parquet")
    command = " ".join(convert_command(tmp_path / "x.parquet", "--out", tmp_path / "out", "--shard-bytes 200KiB"))
    done = subprocess.run(["bash", "-c", f"ulimit -f 700; {command}"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "data-00005" in done.stderr
    finished = {path.name: path.read_bytes() for path in sorted((tmp_path / "out").glob("data-*"))}
    assert [*finished] == [f"data-{number:05}.tfrecord" for number in range(5)]
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "5 of the shards are from an earlier run" in done.stdout
    for name, data in finished.items():
        assert (tmp_path / "out" / name).read_bytes() == data


def test_a_table_of_null_values_only_is_an_error(tmp_path):
    pq.write_table(pa.table({"x": pa.array([None, None], pa.int64())}), tmp_path / "x.parquet")
    with pytest.raises(penstock.PenstockError, match="no record has a value"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_dry_run_prints_the_columns_and_writes_nothing(tmp_path):
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int8()), "text": ["a", "b"]}), tmp_path / "x.parquet")
    done = subprocess.run(convert_command(tmp_path / "x.parquet", "--dry-run"), capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "column  type in the source  feature              shape",
        "x       int8                INT64, cast to INT8  []",
        "text    string              BYTES                []",
        "2 rows; --dry-run: nothing was written",
    ]
    assert penstock.convert(tmp_path / "x.parquet", tmp_path / "out", dry_run=True).shards == 0
    assert os.listdir(tmp_path) == ["x.parquet"]


def test_the_command_prints_the_result(tmp_path):
    pq.write_table(pa.table({"x": [1, None]}), tmp_path / "x.parquet")
    arguments = (tmp_path / "x.parquet", "--out", tmp_path / "out")
    done = subprocess.run(convert_command(*arguments), capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines[2].startswith("2 records in 1 shards, 0.0 MB: ")
    assert lines[3] == "1 of the rows that were read have no value for 'x' (null): the column is ragged"
    assert lines[4] == f"next: penstock bench {tmp_path}/out/job.textproto"
    done = subprocess.run(convert_command(*arguments, "--json"), capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["records"] == 2
