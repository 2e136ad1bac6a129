"""penstock.convert of data sets in Python: lists, objects with a length and an index, iterables."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import penstock
from fixtures import BIN
from penstock import ConfigurationError
from writer_test import example, records


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(Path(folder).glob("*.tfrecord"))}


def read_in_order(result):
    """Returns all rows as a loader gives them, in order."""
    text = Path(result.job).read_text(encoding="utf-8").replace("shuffle: CHUNKED", "shuffle: NONE")
    job = Path(result.job).with_name("in-order.textproto")
    job.write_text(re.sub("batch {.*", f"batch {{ size: {result.records} }}", text), encoding="utf-8")
    with penstock.Loader(str(job)) as loader:
        (batch,) = list(loader)
        return {name: np.array(batch[name]) for name in batch if isinstance(batch[name], np.ndarray)}


class Squares:
    """A map-style data set."""

    def __init__(self, count=5000, none_before=0):
        self.count = count
        self.none_before = none_before

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if not 0 <= number < self.count:
            raise IndexError(number)
        label = None if number < self.none_before else np.int16(number % 7)
        return {"n": number, "square": np.full((2, 3), number**2, "float64"), "label": label, "data": bytes(number % 3000)}


TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64", "bool"]


def test_values_keep_their_type_and_shape(tmp_path):
    rows = []
    for number in range(4):
        row = {name: np.array(number % 2).astype(name)[()] for name in TYPES}
        row.update({f"{name} array": (np.arange(6) + number).reshape(2, 3).astype(name) for name in TYPES})
        row.update({f"{name} vector": (np.arange(3) + number).astype(name) for name in TYPES})
        row.update({"int": number, "float": number / 3, "flag": number > 1})
        rows.append({**row, "texts": ["a", "é"], "text": "é", "raw": b"\0"})
    result = penstock.convert(rows, tmp_path / "out")
    read = read_in_order(result)
    for name in TYPES:
        for kind in ("", " array", " vector"):
            values = read[name + kind]
            assert values.dtype == name
            assert (values == np.stack([row[name + kind] for row in rows])).all()
    largest = penstock.convert([{"x": np.uint64(0xFFFFFFFFFFFFFFFF), "y": np.uint32(0xFFFFFFFF)}], tmp_path / "largest")
    read_largest = read_in_order(largest)
    assert [read_largest["x"].tolist(), read_largest["y"].tolist()] == [[(1 << 64) - 1], [(1 << 32) - 1]]
    assert read["int"].dtype == "int64"
    assert (read["float"] == [row["float"] for row in rows]).all()
    assert read["flag"].dtype == bool
    first = example(records(tmp_path / "out")[0])
    assert first["texts"] == [b"a", "é".encode()]
    assert first["text"] == ["é".encode()]
    assert first["raw"] == [b"\0"]


def test_nested_rows_lists_and_missing_values(tmp_path):
    rows = [
        {"image": {"bytes": b"x", "path": None}, "list": [1, 2], "halves": [0.5], "any": None},
        {"image": {"bytes": b"y", "path": "p"}, "list": [], "halves": (1.5, 2.5), "any": np.float32(2)},
    ]
    result = penstock.convert(rows, tmp_path / "out")
    assert [example(record) for record in records(tmp_path / "out")] == [
        {"image.bytes": [b"x"], "list": [1, 2], "halves": [np.float64(0.5).tobytes()]},
        {"image.bytes": [b"y"], "image.path": [b"p"], "halves": [np.array([1.5, 2.5]).tobytes()], "any": [2.0]},
    ]
    assert result.missing == {"image.path": 1, "any": 1, "list": 1}
    facts = {c.name: (c.source, c.feature, c.shape) for c in result.columns}
    assert facts["halves"] == ("float64 array", "FLOAT64 as raw bytes", "[*]")
    assert facts["any"] == ("float32", "FLOAT", "[]")
    result = penstock.convert(rows, tmp_path / "fewer", drop=["image", "list"])
    assert {c.name for c in result.columns} == {"halves", "any"}
    with pytest.raises(ConfigurationError, match="has no column 'none'"):
        penstock.convert(rows, tmp_path / "none", drop=["none"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1 << 63, "uint64"),
        (1 << 70, "cannot hold int"),
        (np.uint64(1), "is uint64 .*in this row, and int64 .*in others"),
        (np.zeros(2, "complex64"), "an array of complex64"),
        (np.zeros((2, 0)), "only the first axis may be 0"),
        ([[1], [1, 2]], "not an array of numbers|cannot hold list"),
        (["a", 1], "numbers and texts"),
        (object(), "cannot hold object"),
        (0.5, "is float64 .*in this row, and int64 .*in others"),
    ],
)
def test_a_value_without_a_counterpart_is_named_by_row_and_column(tmp_path, value, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        penstock.convert([{"x": 1}, {"x": value}], tmp_path / "out")
    assert "the list, row 1: column 'x'" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_rows_must_be_dicts(tmp_path):
    for source in ([(1, 2)], iter(["text"])):
        with pytest.raises(ConfigurationError, match="a row is a dict of values"):
            penstock.convert(source, tmp_path / "out")
    for source in (5, {"x": [1]}):
        with pytest.raises(ConfigurationError, match="an iterable of dicts"):
            penstock.convert(source, tmp_path / "out")
    for source in ([], iter([])):
        with pytest.raises(ConfigurationError, match="has no rows"):
            penstock.convert(source, tmp_path / "out")


def test_the_shards_are_the_same_with_1_2_and_5_processes_and_from_an_iterable(tmp_path):
    data = Squares(none_before=3)
    for processes in (1, 2, 5):
        result = penstock.convert(data, tmp_path / str(processes), processes=processes, shard_bytes="1MiB")
        assert result.records == 5000
        assert result.missing == {"label": 3}
    penstock.convert((row for row in data), tmp_path / "iterable", shard_bytes="1MiB")
    made = [content(tmp_path / name) for name in ("1", "2", "5", "iterable")]
    assert made[0] == made[1] == made[2] == made[3]
    assert len(made[0]) > 5
    jobs = [(tmp_path / name / "job.textproto").read_text().replace(str(tmp_path / name), "") for name in "12"]
    assert jobs[0].split("features", 1)[1] == jobs[1].split("features", 1)[1]
    assert read_in_order(penstock.convert(Squares(100), tmp_path / "few"))["label"].dtype == "int16"


class Fails(Squares):
    """Fails at a row, once."""

    failed = False

    def __getitem__(self, number):
        if number == 4000 and not self.failed:
            self.failed = True
            raise ZeroDivisionError("a row")
        return super().__getitem__(number)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_of_the_data_set_is_raised_and_the_next_call_continues(tmp_path, processes):
    penstock.convert(Squares(), tmp_path / "whole", shard_bytes="200KB")
    data = Fails()
    with pytest.raises(ZeroDivisionError, match="a row"):
        penstock.convert(data, tmp_path / "out", processes=processes, shard_bytes="200KB")
    data.failed = True
    result = penstock.convert(data, tmp_path / "out", processes=processes, shard_bytes="200KB")
    assert result.resumed_shards > 3
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_an_iterable_is_replayed_and_compared(tmp_path):
    def rows(end=5000, change=-1):
        for number in range(end):
            yield {**Squares()[number], "n": -1 if number == change else number}
        if end < 5000:
            raise ZeroDivisionError("a row")

    penstock.convert(rows(), tmp_path / "whole", shard_bytes="200KB")
    with pytest.raises(ZeroDivisionError, match="a row"):
        penstock.convert(rows(4000), tmp_path / "out", shard_bytes="200KB")
    with pytest.raises(ConfigurationError, match="the source yields other records than the run that began these shards"):
        penstock.convert(rows(change=5), tmp_path / "out", shard_bytes="200KB")
    result = penstock.convert(rows(), tmp_path / "out", shard_bytes="200KB")
    assert result.resumed_shards > 3
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    with pytest.raises(ConfigurationError, match="the source yields other records"):
        penstock.convert(rows(change=4999), tmp_path / "out", shard_bytes="200KB")


def test_another_data_set_in_the_same_folder_is_refused(tmp_path):
    penstock.convert(Squares(10), tmp_path / "out")
    with pytest.raises(ConfigurationError, match="content: then '10 rows, .*', now '11 rows, "):
        penstock.convert(Squares(11), tmp_path / "out")
    with pytest.raises(ConfigurationError, match="source: then 'the Squares', now 'the list'"):
        penstock.convert([{"n": 1}], tmp_path / "out")


SCRIPT = """
import sys
sys.path[:0] = {path!r}
import penstock
from convert_dataset_test import Squares
data = Squares(20000)
source = (row for row in data) if sys.argv[2] == "iterable" else data
penstock.convert(source, sys.argv[1], processes=2, shard_bytes="500KB")
"""


@pytest.mark.parametrize("kind", ["indexed", "iterable"])
def test_a_killed_run_is_continued_to_the_same_shards(tmp_path, kind):
    penstock.convert(Squares(20000), tmp_path / "whole", shard_bytes="500KB")
    command = [sys.executable, "-c", SCRIPT.format(path=sys.path), str(tmp_path / "out"), kind]
    seen = 0
    for _ in range(3):
        with subprocess.Popen(command) as run:
            while len(content(tmp_path / "out")) <= seen and run.poll() is None:
                time.sleep(0.01)
            os.kill(run.pid, signal.SIGKILL)
        seen = len(content(tmp_path / "out"))
    assert 0 < seen < len(content(tmp_path / "whole"))
    subprocess.run(command, check=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_dry_run_has_the_columns_of_the_first_row(tmp_path):
    result = penstock.convert(Squares(), tmp_path / "out", dry_run=True)
    assert [c.name for c in result.columns] == ["n", "square", "label", "data"]
    assert result.records == 5000
    assert os.listdir(tmp_path) == []
