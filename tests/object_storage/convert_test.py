"""`penstock convert` of tables in a bucket: the shards are those of local tables. pyarrow writes the tables."""

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from commands import begin, end_of, wait_with

PACKAGE = Path(__file__).resolve().parents[2] / "client/python"
ENVIRONMENT = {"PYTHONPATH": str(PACKAGE), "PENSTOCK_PROGRAM": os.environ["PENSTOCK_BIN"] + "/penstock"}
ROWS = 3000  # in each table


@pytest.fixture(scope="module")
def tables(place):
    """Makes tables on the disk, and the same in the bucket."""
    folder = place.folder / "tables"
    (folder / "deep" / "er").mkdir(parents=True)
    for number, name in enumerate(("a.parquet", "b.parquet", "deep/c.parquet", "deep/er/d.parquet", "_left_out.parquet")):
        rows = range(ROWS * number, ROWS * (number + 1))
        noise = [random.Random(row).randbytes(640) for row in rows]
        table = pa.table({"id": rows, "text": [f"row {row}" for row in rows], "noise": noise})
        pq.write_table(table, folder / name, row_group_size=700)
        place.server.put(f"tables/{name}", folder / name)
    numbers = pa.table({"id": range(50), "x": [row / 7 for row in range(50)]})
    feather.write_feather(numbers, place.folder / "f.arrow", chunksize=20)
    place.server.put("feather/f.arrow", place.folder / "f.arrow")
    place.server.put("other/photo", place.files[0])
    return folder


def command(*arguments):
    return " ".join([f"'{sys.executable}' -m penstock._convert_command", *map(str, arguments)])


def convert(place, *arguments, code=0):
    return place.type(command(*arguments), code, **ENVIRONMENT)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.tfrecord"))}


def test_shards_are_those_of_local_tables(place, tables):
    wanted = {"folder": 4 * ROWS, "glob": 2 * ROWS, "file": ROWS, "parts": ROWS}
    sources = {
        "folder": ("tables", "tables"),
        "glob": ("tables/[a-z]*.parquet", "tables/[a-z]*.parquet"),
        "file": ("tables/deep/c.parquet", "tables/deep/c.parquet"),
        "parts": ("tables/*/*.parquet", "tables/*/*.parquet"),
    }
    for name, (local, remote) in sources.items():
        said = convert(place, f"'{place.at(remote)}'", "--out", f"far-{name}", "--shard-bytes", "1MiB", "--processes", 2)
        assert f"{wanted[name]:,} records" in said
        convert(place, f"'{local}'", "--out", f"near-{name}", "--shard-bytes", "1MiB")
        assert digests(place.folder / f"far-{name}") == digests(place.folder / f"near-{name}")
    assert len(digests(place.folder / "far-folder")) > 5


def test_an_arrow_file_and_a_bucket_for_the_shards(place, tables):
    convert(place, place.at("feather/f.arrow"), "--out", place.at("converted"))
    convert(place, place.folder / "f.arrow", "--out", "near-arrow")
    assert "converted/job.textproto" in place.server.keys("converted/")
    shards = f"'{place.at('converted/*.tfrecord')}'"
    found = json.loads(place.type(f"penstock select {shards} --filter 'id >= 0' --json"))
    assert (found["records"], found["matches"]) == (50, 50)


def test_a_storage_that_fails_for_a_while_costs_no_row(far, tables, network):
    # Bytes of requests, after which the conversion is in its midst. Those without a signature are shorter.
    network.cut_behind(5_000 if far.server.scheme == "gs" else 15_000)
    settings = " ".join(f"{name}='{value}'" for name, value in ENVIRONMENT.items())
    run = begin(far, f"env {settings} {command(far.at('tables'), '--out', 'cut', '--shard-bytes', '1MiB')}")
    wait_with(run, lambda: network.cut_as)
    network.mend()
    said, code = end_of(run)
    if code != 0:  # the storage was away for too long: the same command continues
        assert "penstock convert: " in said
        said = convert(far, f"'{far.at('tables')}'", "--out", "cut", "--shard-bytes", "1MiB")
    assert f"{4 * ROWS:,} records" in said
    convert(far, "tables", "--out", "uncut", "--shard-bytes", "1MiB")
    assert digests(far.folder / "cut") == digests(far.folder / "uncut")


def test_mistakes_are_named(place, tables):
    for source, words in (
        (place.at("none/x.parquet"), f"{place.at('none/x.parquet')} is no file, and no folder of files that end in .parquet"),
        (place.at("tables/*.arrow"), f"{place.at('tables/*.arrow')} is no file, and no folder of files"),
        (place.at("other/photo"), f"{place.at('other/photo')} is neither a Parquet, Arrow, Feather nor HDF5 file; copy"),
        (f"{place.server.scheme}://no-such-bucket/x.parquet", "no-such-bucket"),
    ):
        assert words in convert(place, f"'{source}'", "--out", "never", code=1)
    assert not (place.folder / "never").exists()


def test_a_run_continues_only_the_same_tables(place, tables):
    source = f"'{place.at('tables/deep/*.parquet')}'"
    convert(place, source, "--out", "changed", "--shard-bytes", "1MiB")
    pq.write_table(pa.table({"id": [1], "text": ["x"], "noise": [b"y"]}), place.folder / "c.parquet")
    place.server.put("tables/deep/c.parquet", place.folder / "c.parquet")
    try:
        said = convert(place, source, "--out", "changed", "--shard-bytes", "1MiB", code=1)
        assert "content" in said
    finally:
        place.server.put("tables/deep/c.parquet", tables / "deep/c.parquet")
