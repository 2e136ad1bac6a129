"""penstock.convert of MDS and LitData. Their libraries write the data sets, and are the judges of what is in them."""

import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fixtures import BIN
from killing import check_runs_that_are_killed, content, convert_command
from PIL import Image

import penstock
from penstock import ConfigurationError, DataError

HERE = Path(__file__).parent
# Columns whose features are bytes that the library decodes, and how it does.
DECODED = {"json": json.loads, "str": bytes.decode, "str_decimal": bytes.decode, "pair.1": bytes.decode}


@pytest.fixture(scope="module")
def mds(data_sets):
    """Returns a folder of data sets, and the rows in them."""
    return data_sets / "mosaic", pickle.loads((data_sets / "mosaic" / "rows.pickle").read_bytes())


@pytest.fixture(scope="module")
def lit(data_sets):
    """Returns a folder of data sets, and the rows in them."""
    return data_sets / "litdata", pickle.loads((data_sets / "litdata" / "rows.pickle").read_bytes())


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(HERE / "stand_ins" / "litdata"))
    monkeypatch.setenv("PYTHONPATH", f"{HERE / 'stand_ins' / 'litdata'}:{os.environ['PYTHONPATH']}")


def rows_of(result):
    """Returns all rows as a loader gives them, in order, with each value as the loader's array."""
    text = Path(result.job).read_text(encoding="utf-8").replace("shuffle: CHUNKED", "shuffle: NONE")
    # Without the recipe for images, they stay bytes.
    text = re.sub(r"\nops \{ (?!column: .* cast ).*", "", text).replace(' column: "image"', "")
    job = Path(result.job).with_name("in-order.textproto")
    job.write_text(re.sub("batch {.*", f"batch {{ size: {result.records} }}", text), encoding="utf-8")
    with penstock.Loader(str(job)) as loader:
        (batch,) = list(loader)
        return [{name: batch[name][row] for name in batch} for row in range(result.records)]


def check(name, value, expected):
    """Checks value, type and shape of a column in a row."""
    if isinstance(expected, (bytes, str)):
        assert bytes(value) == (expected if isinstance(expected, bytes) else expected.encode()), name
        return
    if isinstance(expected, list) and expected and isinstance(expected[0], bytes):
        assert [bytes(one) for one in value] == expected, name
        return
    expected = np.asarray(expected)
    value = np.asarray(value)
    assert (value.dtype, value.shape) == (expected.dtype, expected.shape), name
    assert value.tobytes() == expected.tobytes(), name


def check_rows(result, expected):
    read = rows_of(result)
    assert len(read) == len(expected) == result.records
    for row, original in zip(read, expected):
        assert set(row) == set(original)
        for name, value in original.items():
            check(name, row[name], value)


# ---- MDS

FILES = ["jpeg", "png", "jpegarray", "jpeg_array"]  # written as bytes, which stay


def test_mds_keeps_every_value_type_and_shape(mds, tmp_path):
    folder, rows = mds
    result = penstock.convert(folder / "all", tmp_path / "out", processes=2)
    read = rows_of(result)
    assert len(read) == 60
    for number, (row, judged) in enumerate(zip(read, rows["all"])):
        assert set(row) == set(judged)
        for name, expected in judged.items():
            if name in FILES:
                check(name, row[name], rows["original"][number][name])
            elif name in ("jpegs", "pngs"):
                images = [np.asarray(Image.open(io.BytesIO(bytes(one)))) for one in row[name]]
                assert len(images) == len(expected) == number % 3
                assert all((image == one).all() for image, one in zip(images, expected))
            elif name in ("json", "str_decimal"):
                assert bytes(row[name]).decode() == (json.dumps(expected) if name == "json" else str(expected))
            else:
                check(name, row[name], expected)
    facts = {column.name: (column.source, column.feature, column.shape) for column in result.columns}
    assert facts["fixed int16"] == ("ndarray:int16:2,3", "INT16 as raw bytes", "[*, 3]")
    assert facts["jpeg"] == ("jpeg", "BYTES", "[]")
    assert result.missing == {"jpegs": 20, "pngs": 20}
    assert "streaming" not in sys.modules


def test_mds_of_every_compression_is_read(mds, tmp_path):
    folder, rows = mds
    names = [path.name for path in folder.glob("few-*")]
    assert len(names) == 7
    made = []
    for number, name in enumerate([*names, "kept"]):
        result = penstock.convert(folder / name, tmp_path / str(number), processes=1)
        made.append(content(tmp_path / str(number)))
        assert result.records == 60
    assert all(one == made[0] for one in made)
    expected = [{**row, "jpeg": original["jpeg"]} for row, original in zip(rows["few-None"], rows["original"])]
    check_rows(result, expected)
    assert len(list((folder / "few-zstd").glob("*.mds.zstd"))) > 5


def test_mds_has_splits(mds, tmp_path):
    folder, _ = mds
    with pytest.raises(ConfigurationError, match="splits has the splits train, val; give one as split"):
        penstock.convert(folder / "splits", tmp_path / "none")
    assert penstock.convert(folder / "splits", tmp_path / "train", split="train").records == 9
    assert penstock.convert(folder / "splits" / "val", tmp_path / "val").records == 5
    shutil.copytree(folder / "splits" / "val", tmp_path / "one" / "val")
    assert penstock.convert(tmp_path / "one", tmp_path / "only").records == 5
    with pytest.raises(ConfigurationError, match="split='val': .*few-None has no splits"):
        penstock.convert(folder / "few-None", tmp_path / "none", split="val")


class Boom:
    """Unpickling it creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_mds_is_unpickled_only_with_trust(mds, tmp_path):
    folder, rows = mds
    with pytest.raises(ConfigurationError, match=r"pickles: the library would unpickle 'any', 'other.one', .*--drop any") as no:
        penstock.convert(folder / "pickles", tmp_path / "none")
    assert "--drop other.one), or give trust=True (--trust) if you trust the author of the files" in str(no.value)
    done = subprocess.run(convert_command(folder / "pickles", "--dry-run"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "(--trust)" in done.stderr
    command = convert_command(folder / "pickles", "--out", tmp_path / "command", "--trust")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    dropped = penstock.convert(folder / "pickles", tmp_path / "dropped", drop=["any", "other.one"])
    check_rows(dropped, [{"int": row["int"]} for row in rows["pickles"]])
    trusted = penstock.convert(folder / "pickles", tmp_path / "trusted", trust=True)
    expected = [{"int": n, "any.a": n, "any.b": np.array([n], "float32"), "other.one": f"{n}"} for n in range(9)]
    check_rows(trusted, expected)
    assert penstock.convert(folder / "pickles", tmp_path / "part", drop=["any.b"], trust=True).records == 9
    shard = folder / "pickles" / "shard.00000.mds"
    shutil.copytree(shard.parent, tmp_path / "evil")
    whole = shard.read_bytes()
    payload = pickle.dumps({"a": 0, "b": [np.float32(0)]})
    boom = pickle.dumps(Boom(str(tmp_path / "boom")))
    assert len(boom) <= len(payload)
    (tmp_path / "evil" / shard.name).write_bytes(whole.replace(payload, boom + b"." * (len(payload) - len(boom)), 1))
    penstock.convert(tmp_path / "evil", tmp_path / "safe", drop=["any", "other.one"])
    assert not (tmp_path / "boom").exists()
    with pytest.raises(ConfigurationError, match=r"shard\.00000\.mds, row 0: column 'any': .*drop \(--drop COLUMN\)"):
        penstock.convert(tmp_path / "evil", tmp_path / "unsafe", trust=True)
    assert (tmp_path / "boom").exists()


def test_what_a_record_cannot_hold_names_file_and_column(mds, tmp_path):
    folder, _ = mds
    with pytest.raises(ConfigurationError, match=r"images: list\[pil\] \(lists of arrays\)"):
        penstock.convert(folder / "lists", tmp_path / "out")
    assert penstock.convert(folder / "lists", tmp_path / "lists", drop=["images"]).records == 1
    with pytest.raises(ConfigurationError, match=r"shard\.00000\.mds, row 5: column 'a' is uint8 array \[\*, 4\] in"):
        penstock.convert(folder / "shapes", tmp_path / "shapes")
    with pytest.raises(DataError, match=r"row 0: column 'n' cannot be decoded: 9223372036854775808 does not fit int64; drop"):
        penstock.convert(folder / "huge", tmp_path / "huge")
    with pytest.raises(ConfigurationError, match="has no column 'none'; it has array, int, jpeg, str"):
        penstock.convert(folder / "few-None", tmp_path / "none", drop=["none"])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("few-None", lambda data: data[:-1], "the file has .* bytes, but .* in the index; copy it again"),
        ("few-None", lambda data: b"\xff" * 4 + data[4:], "does not have the .* samples that the index names"),
        ("few-None", lambda data: data[:8] + b"\xff" * 4 + data[12:], "the offsets of its samples are damaged"),
        ("few-zstd", lambda data: data[:-9], "cannot be unpacked: .*; copy the file again"),
        ("few-gz", lambda data: data[:30] + b"\0" * 9 + data[39:], "cannot be unpacked: .*; copy the file again"),
        ("few-None", lambda data: None, "is missing, but .*index.json lists it"),
    ],
)
def test_damaged_shards_are_named(mds, tmp_path, name, change, message):
    folder, _ = mds
    shutil.copytree(folder / name, tmp_path / "x")
    shard = sorted((tmp_path / "x").glob("shard.*"))[2]
    data = change(shard.read_bytes())
    if data is None:
        shard.unlink()
    else:
        shard.write_bytes(data)
    with pytest.raises(DataError, match=rf"{re.escape(str(shard))}.*{message}"):
        penstock.convert(tmp_path / "x", tmp_path / "out")


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        ('{"shards": [{"version": 2}]}', DataError, "index.json: not an index of MDS: KeyError 'format'"),
        ('{"shards": [{"version": 2, "format": "csv"}]}', ConfigurationError, "shard 0 is csv of version 2, and convert"),
        ('{"shards": []}', ConfigurationError, "has no rows"),
        ('{"shards": ', ConfigurationError, "index.json cannot be read"),
        ('{"chunks": [{}], "config": {}}', DataError, "index.json: not an index of LitData: KeyError 'data_spec'"),
        ('{"chunks": [], "config": {"encryption": {"x": 1}}}', ConfigurationError, "the chunks are encrypted"),
        ('{"chunks": [], "config": {"item_loader": "ParquetLoader"}}', ConfigurationError, "lists Parquet files; convert them"),
    ],
)
def test_an_index_of_another_kind_is_refused(mds, lit, tmp_path, index, error, message):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "index.json").write_text(index)
    with pytest.raises(error, match=message):
        penstock.convert(tmp_path / "x", tmp_path / "out")


@pytest.mark.parametrize(("folder", "package"), [("few-None", "mosaicml-streaming"), ("all", "litdata")])
def test_a_missing_library_is_named(mds, lit, tmp_path, monkeypatch, folder, package):
    place = mds[0] if package != "litdata" else lit[0]
    for module in [name for name in sys.modules if name.split(".")[0] == "litdata"]:
        monkeypatch.delitem(sys.modules, module)
    for module in ("penstock._mds", "penstock._litdata"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (Path(path) / package.split("-")[-1]).is_dir()])
    importlib.invalidate_caches()
    extra = "litdata" if package == "litdata" else "mds"
    with pytest.raises(ConfigurationError, match=rf"needs {package}, which is not installed: pip install penstock\[{extra}\]"):
        penstock.convert(place / folder, tmp_path / "out")


def test_mds_that_is_killed_20_times_makes_the_same_shards(mds, tmp_path):
    assert len(list((mds[0] / "large").glob("*.mds"))) > 5
    check_runs_that_are_killed(mds[0] / "large", tmp_path, kills=20)


# ---- LitData


def flat(row, path=""):
    """Returns a row with a name for each value."""
    out = {}
    items = row.items() if isinstance(row, dict) else enumerate(row)
    for key, value in items:
        nested = isinstance(value, (dict, tuple))
        out.update(flat(value, f"{path}{key}.") if nested else {f"{path}{key}": value})
    return out


def judged(lit):
    """Returns the rows of the data set "all", with the bytes of files."""
    _, rows = lit
    return [{**flat(row), **original} for row, original in zip(rows["all"], rows["original"])]


def test_litdata_keeps_every_value_type_and_shape(lit, tmp_path):
    result = penstock.convert(lit[0] / "all", tmp_path / "out", processes=2)
    check_rows(result, judged(lit))
    facts = {column.name: (column.source, column.feature) for column in result.columns}
    assert facts["meta.width"] == ("int", "INT64")
    assert facts["jpeg"] == ("jpeg", "BYTES")
    assert not (tmp_path / "home").exists()
    for level in ("chunk", "batch", "sample"):
        penstock.convert(lit[0] / level, tmp_path / level, processes=1)
        assert content(tmp_path / level) == content(tmp_path / "out")
    fewer = penstock.convert(lit[0] / "all", tmp_path / "fewer", drop=["meta", "pair.0"], processes=1)
    assert not {"meta.width", "meta.list", "pair.0"} & {column.name for column in fewer.columns}


def test_litdata_of_tables_tokens_and_single_values_is_read(lit, tmp_path):
    folder, rows = lit
    expected = [{**row, "list": row["list"] or np.zeros(0, "int64")} for row in rows["table"]]
    for name in ("table", "table zstd"):
        result = penstock.convert(folder / name, tmp_path / name.split()[-1], processes=1)
        assert result.missing == {"list": 20}
        check_rows(result, expected)
    fewer = penstock.convert(folder / "table", tmp_path / "fewer", drop=["list"], processes=1)
    check_rows(fewer, [{"n": row["n"], "text": row["text"]} for row in rows["table"]])
    tokens = penstock.convert(folder / "tokens", tmp_path / "tokens", processes=1)
    check_rows(tokens, [{"item": np.arange(n + 1)} for n in range(60)])
    values = penstock.convert(folder / "values", tmp_path / "values", processes=1)
    check_rows(values, [{"item": value} for value in rows["values"]])


def test_litdata_is_unpickled_only_with_trust(lit, tmp_path):
    folder, _ = lit
    with pytest.raises(ConfigurationError, match=r"the library would unpickle 'any', 'more.x', .*--drop any --drop more.x"):
        penstock.convert(folder / "pickles", tmp_path / "none")
    dropped = penstock.convert(folder / "pickles", tmp_path / "dropped", drop=["any", "more"])
    check_rows(dropped, [{"n": n} for n in range(9)])
    with pytest.raises(ConfigurationError, match=r"chunk-0-0.bin, row 0: column 'any': a record cannot hold set"):
        penstock.convert(folder / "pickles", tmp_path / "set", trust=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("all", r"chunk-0-1\.bin: row 0: "),
        ("chunk", r"chunk-0-1\.zstd\.bin: it cannot be unpacked: "),
        ("batch", r"chunk-0-1\.bin: it cannot be unpacked: "),
        ("sample", r"chunk-0-1\.bin: row 0: the sample cannot be unpacked: "),
        ("table", r"chunk-0-0\.bin: it cannot be unpacked: its table is damaged"),
    ],
)
def test_damaged_chunks_are_named(lit, tmp_path, name, message):
    shutil.copytree(lit[0] / name, tmp_path / "x")
    index = json.loads((tmp_path / "x" / "index.json").read_text())
    chunk = index["chunks"][min(1, len(index["chunks"]) - 1)]
    path = tmp_path / "x" / chunk["filename"]
    data = path.read_bytes()
    # After the offsets of the samples comes the first one, or a table of frames.
    at = 0 if name == "chunk" else 4 * (chunk["chunk_size"] + 2) + (24 if name == "batch" else 0)
    path.write_bytes(data[:at] + b"\xff" * 24 + data[at + 24 :])
    with pytest.raises(DataError, match=message):
        penstock.convert(tmp_path / "x", tmp_path / "out", processes=1)


def test_litdata_is_continued(lit, tmp_path):
    check_runs_that_are_killed(lit[0] / "large", tmp_path)
