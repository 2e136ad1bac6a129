"""`penstock convert` of a bucket: the shards are those of local files. The formats' own libraries write the files."""

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import lmdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_record.python.array_record_module import ArrayRecordWriter
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


@pytest.fixture(scope="module")
def copied(place):
    """Makes an LMDB and ArrayRecord files on the disk, and the same in the bucket."""
    folder, dice = place.folder / "copied", random.Random(1)
    (folder / "records").mkdir(parents=True)
    with lmdb.open(str(folder / "entries"), map_size=1 << 28) as environment, environment.begin(write=True) as transaction:
        for _ in range(4000):
            transaction.put(f"{dice.random()}".encode(), dice.randbytes(1500))
    for number in range(4):
        writer = ArrayRecordWriter(str(folder / "records" / f"{number}.array_record"), "group_size:8")
        for _ in range(2000):
            writer.write(dice.randbytes(1000))
        writer.close()
    for path in (folder / "entries" / "data.mdb", *(folder / "records").iterdir()):
        place.server.put(f"copied/{path.relative_to(folder)}", path)
    return folder


def test_files_that_libraries_read_are_copied_one_by_one(place, copied):
    scratch = place.folder / "scratch"
    scratch.mkdir()
    for source in ("entries", "entries/data.mdb", "records", "records/*.array_record", "records/3.array_record"):
        name = source.replace("/", "-").replace("*", "all")
        options = ("--shard-bytes", "1MiB", "--processes", 2)
        near = convert(place, f"'{copied / source}'", "--out", f"near-{name}", *options)
        flags = command(f"'{place.at(f'copied/{source}')}'", "--out", f"far-{name}", *options)
        far = place.type(flags, TMPDIR=str(scratch), **ENVIRONMENT)
        assert far.replace("far-", "near-") == near
        assert digests(place.folder / f"far-{name}") == digests(place.folder / f"near-{name}")
        assert not list(scratch.iterdir())


def test_a_run_continues_only_the_same_copies(place, copied):
    for source, file in (("entries", "entries/data.mdb"), ("records", "records/2.array_record")):
        convert(place, place.at(f"copied/{source}"), "--out", f"again-{source}", "--shard-bytes", "1MiB")
        changed = place.folder / "changed.bin"
        changed.write_bytes((copied / file).read_bytes() + b"more")
        place.server.put(f"copied/{file}", changed)
        try:
            said = convert(place, place.at(f"copied/{source}"), "--out", f"again-{source}", "--shard-bytes", "1MiB", code=1)
            assert "content" in said or "no records" in said
        finally:
            place.server.put(f"copied/{file}", copied / file)


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
        (place.at("none/x.parquet"), f"{place.at('none/x.parquet')} is no file, no folder of files that end in .parquet"),
        (place.at("tables/*.arrow"), f"{place.at('tables/*.arrow')} is no file, no folder of files"),
        (place.at("other/photo"), f"{place.at('other/photo')} is neither a Parquet, Arrow, Feather, HDF5 or ArrayRecord"),
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
