"""penstock.convert of JSON lines: the values are those that datasets reads, also from files of Zstandard and from a bucket."""

import json
import random
import subprocess

import numpy as np
import pytest
from convert_bucket_test import program, serve  # noqa: F401 (fixtures)
from killing import check_runs_that_are_killed, content
from storages import S3

import penstock
from penstock import DataError
from penstock import _json_lines as json_lines

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")


def rows_of(count, seed=1):
    dice = random.Random(seed)
    for number in range(count):
        text = "".join(chr(dice.choice([10, 34, 92, 0x20, 0xE9, 0x4E2D, 0x1F600])) for _ in range(dice.randrange(40)))
        x = dice.uniform(-1e300, 1e300)
        yield {"n": number, "x": x, "text": text, "meta": {"ok": dice.random() < 0.5}, "of": "x" * dice.randrange(500)}


def write(path, rows):
    text = "".join(json.dumps(row, ensure_ascii=row["n"] % 2 == 0) + "\n" for row in rows).encode()
    if path.suffix == ".zst":
        half = len(text) // 2
        text = b"".join(bytes(pa.Codec("zstd").compress(part)) for part in (text[:half], text[half:]))  # two frames
    path.write_bytes(text)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    rows = list(rows_of(3000))
    write(folder / "a.jsonl", rows[:1000])
    write(folder / "b.jsonl.zst", rows[1000:])
    return folder


def test_values_are_those_of_datasets(originals, tmp_path):
    result = penstock.convert(originals, tmp_path / "out", processes=2)
    subprocess.run(["zstd", "-dqf", originals / "b.jsonl.zst", "-o", tmp_path / "b.jsonl"], check=True)
    files = [str(originals / "a.jsonl"), str(tmp_path / "b.jsonl")]
    judge = datasets.load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "hf"))
    text = (tmp_path / "out" / "job.textproto").read_text().replace("shuffle: CHUNKED", "shuffle: NONE")
    (tmp_path / "out" / "in-order.textproto").write_text(text)
    found = 0
    for batch in penstock.Loader(str(tmp_path / "out" / "in-order.textproto"), batch_size=500):
        for slot in range(len(batch["n"])):
            row = judge[found]
            assert (batch["n"][slot], batch["x"][slot], batch["meta.ok"][slot]) == (row["n"], row["x"], row["meta"]["ok"])
            assert batch["text"][slot].decode() == row["text"]
            found += 1
    assert found == len(judge) == result.records
    assert batch["x"].dtype == np.float64


def test_a_bucket_gives_the_shards_of_local_files(originals, serve, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(json_lines, "_PIECE_BYTES", 50_000)
    serve(S3, originals)
    penstock.convert(originals, tmp_path / "local", shard_bytes=200_000)
    for name, processes in (("s3://bucket", 2), ("s3://bucket/*.jsonl*", 1)):
        out = tmp_path / f"out{processes}"
        penstock.convert(name, out, processes=processes, shard_bytes=200_000)
        assert content(out) == content(tmp_path / "local")
    one = penstock.convert("s3://bucket/b.jsonl.zst", tmp_path / "one")
    assert one.records == 2000


def test_a_damaged_file_of_zstandard_is_named(originals, tmp_path):
    data = bytearray((originals / "b.jsonl.zst").read_bytes())
    for name, damaged in (("cut.jsonl.zst", data[: len(data) // 2]), ("bad.jsonl.zst", data[:40] + b"\xff" * 40 + data[80:])):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(DataError, match=name):
            penstock.convert(tmp_path / name, tmp_path / "out")


def test_killed_runs_are_continued(tmp_path):
    write(tmp_path / "x.jsonl.zst", rows_of(40_000))
    check_runs_that_are_killed(tmp_path / "x.jsonl.zst", tmp_path)
