"""Shards of text lines: the lines that Python reads, in process and served, with any compression, and clear errors."""

import gzip
import json
import random
import zlib

import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

JOB = """
name: "lines"
dataset { files: "*.txt*" source: TEXT }
features { key: "line" type: BYTES }
order { seed: 5 }
batch { size: 8 last: PAD }
"""


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def lines_of(path):
    """Returns the lines of a plain file as Python reads them. Only LF and CRLF end a line."""
    with open(path, encoding="latin-1", newline="\n") as file:
        return [line.removesuffix("\n").removesuffix("\r" if line.endswith("\n") else "").encode("latin-1") for line in file]


def random_text(rng):
    pieces = [b"\n", b"\r\n", b"\r", b"", b" ", b"a", "日本".encode(), b"\xff\xfe", b"\x0b\x0c\x85", b"\0", b"x" * 70000]
    return b"text\n" + b"f" * 600 + b"".join(rng.choices(pieces, [9, 6, 2, 1, 4, 9, 3, 2, 2, 1, 0.05], k=rng.randrange(200)))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rng = random.Random(4)
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_bytes(random_text(rng))
    (tmp_path / "lines.textproto").write_text(JOB)
    return folder


def rows(data, job=None, **arguments):
    loader = penstock.Loader(str(job or data.parent / "lines.textproto"), data_root=str(data), **arguments)
    return [line for batch in loader for line, valid in zip(batch["line"], batch.valid) if valid]


def changed(data, old, new):
    job = data.parent / "changed.textproto"
    assert old in JOB
    job.write_text(JOB.replace(old, new))
    return job


def test_the_lines_are_those_that_python_reads(data):
    for seed in range(20):
        rng = random.Random(seed)
        for path in sorted(data.iterdir()):
            path.write_bytes(random_text(rng))
        expected = [line for path in sorted(data.iterdir()) for line in lines_of(path)]
        assert sorted(rows(data)) == sorted(expected)


def test_a_new_loader_reads_the_files_as_they_are_now(data):
    job = str(data.parent / "lines.textproto")
    earlier = penstock.Loader(job, data_root=str(data))
    next(iter(earlier))
    for path in data.iterdir():
        path.write_bytes(b"another\nfile\n")
    assert sorted(rows(data)) == [b"another"] * 3 + [b"file"] * 3
    earlier.close()


def test_compression_and_line_ends_change_no_row(data):
    plain = rows(data)
    (data / "d.txt").write_bytes(b"\xef\xbb\xbfx\ny\n\nz")
    expected = rows(data)
    assert sorted(expected) == sorted([*plain, b"x", b"y", b"", b"z"])
    (data / "d.txt").write_bytes(b"x\r\ny\r\n\r\nz\r\n")
    (data / "a.txt").write_bytes(gzip.compress((data / "a.txt").read_bytes()))
    assert rows(data) == expected
    whole = (data / "b.txt").read_bytes()
    (data / "b.txt").write_bytes(zlib.compress(whole))
    job = changed(data, '"*.txt*" source: TEXT', '"b.txt" source: TEXT compression: ZLIB')
    compressed = rows(data, job=job)
    (data / "b.txt").write_bytes(whole)
    assert rows(data, job=changed(data, '"*.txt*"', '"b.txt"')) == compressed


def test_served_rows_are_those_of_the_process(data):
    local = rows(data)
    with daemon(data) as address:
        penstock.submit(str(data.parent / "lines.textproto"), coordinator=address)
        loader = penstock.Loader("lines", coordinator=address)
        assert [line for batch in loader for line, valid in zip(batch["line"], batch.valid) if valid] == local
        loader.close()
        read = run("read", "lines", "--coordinator", address, "--steps", "2")
        assert read.returncode == 0, read.stderr


def test_commands_take_the_source(data):
    count = sum(len(lines_of(path)) for path in data.iterdir())
    made = data.parent / "made.textproto"
    done = run("init", f"{data}/*.txt", "--source", "TEXT", "--out", made)
    assert done.returncode == 0, done.stderr
    assert "  source: TEXT\n" in made.read_text()
    assert 'features { key: "line" type: BYTES }' in made.read_text()
    assert len(rows(data, job=made)) > 0
    done = run("verify", f"{data}/*", "--source", "TEXT", "--json")
    assert json.loads(done.stdout)["readable_records"] == count
    done = run("index", f"{data}/*", "--source", "TEXT")
    assert f"{count} records in 3 shards" in done.stdout
    for command in ("preview", "bench"):
        done = run(command, made, "--data-root", data, *(["--seconds", "1"] if command == "bench" else []))
        assert done.returncode == 0, done.stderr
    done = run("select", f"{data}/*", "--source", "TEXT", "--filter", "bytes(line) == 0")
    empty = sum(line == b"" for path in data.iterdir() for line in lines_of(path))
    assert f"{empty} of {count} records in 3 files match" in done.stdout, done.stderr
    done = run("import", f"{data}/*", "--source", "TEXT", "--untouched", "--out", data.parent / "shards")
    assert done.returncode == 0, done.stderr
    job = changed(data, '"*.txt*" source: TEXT', '"*.tfrecord"')
    assert sorted(rows(data.parent / "shards", job=job)) == sorted(rows(data))
    done = run("bake", data.parent / "lines.textproto", "--data-root", data, "--out", data.parent / "baked")
    assert done.returncode == 0, done.stderr
    done = run("index", f"{data}/*", "--source", "LINES")
    assert "--source: 'LINES' is none of TFRECORD, TAR, JSONL, NPY, TEXT" in done.stderr


def test_a_selection_counts_in_lines(data):
    for path in data.iterdir():
        path.unlink()
    (data / "a.txt").write_text("".join(f"{i % 7}-{i}\n" for i in range(100)))
    job = changed(data, "source: TEXT", "source: TEXT select { filter: \"startswith(line, '3')\" } select { skip: 2 }")
    assert sorted(rows(data, job=job)) == sorted(f"3-{i}".encode() for i in range(17, 100, 7))


def test_wrong_keys_kinds_and_files_are_named(data):
    with pytest.raises(penstock.PenstockError, match=r'has a key "text".*they have: line'):
        rows(data, job=changed(data, 'key: "line"', 'key: "text"'))
    with pytest.raises(penstock.PenstockError, match='feature "line" is a line of text, so its type must be BYTES'):
        rows(data, job=changed(data, "BYTES", "INT64"))
    with pytest.raises(penstock.PenstockError, match="`format` is SAMPLE, which only tar archives have; leave one out"):
        rows(data, job=changed(data, "source: TEXT", "source: TEXT format: SAMPLE"))
    (data / "b.txt").write_bytes("text".encode("utf-16"))
    with pytest.raises(penstock.PenstockError, match=r"b\.txt: dataset\.source is TEXT, but the file does not begin with text"):
        rows(data)


def test_a_cut_compressed_file_is_named(data):
    (data / "b.txt").write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(10000)))[:5000])
    with pytest.raises(penstock.PenstockError, match=r"b\.txt: record \d+ at offset \d+"):
        rows(data)


def test_files_without_lines_and_long_lines(data):
    for path in data.iterdir():
        path.unlink()
    (data / "a.txt").write_bytes(b"")
    with pytest.raises(penstock.PenstockError, match="no record"):
        rows(data)
    (data / "b.txt").write_bytes(b"\n" + b"x" * (1 << 20))
    assert sorted(rows(data)) == [b"", b"x" * (1 << 20)]
    with pytest.raises(penstock.PenstockError, match=r"b\.txt: record 1 at offset 1.*the limit is 1000"):
        rows(data, job=changed(data, "order {", "limits { max_record_bytes: 1000 } order {"))
