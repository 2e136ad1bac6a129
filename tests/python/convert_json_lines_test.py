"""penstock.convert of JSON lines, plain and compressed with gzip. tests/frameworks/data has zstd, which pyarrow reads."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock
from convert_dataset_test import content, program, read_in_order  # noqa: F401 (a fixture)
from penstock import ConfigurationError, DataError
from penstock import _json_lines as json_lines

ROWS = [
    {"number": n, "share": n / 8, "text": f"text {n} äß", "inside": {"flag": n % 2 == 0, "list": [n, n + 1]}} for n in range(50)
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def check(result, rows=ROWS):
    found = read_in_order(result)
    np.testing.assert_array_equal(found["number"], [row["number"] for row in rows])
    np.testing.assert_array_equal(found["share"], [row["share"] for row in rows])
    assert found["share"].dtype == np.float64
    assert [text.decode() for text in found["text"]] == [row["text"] for row in rows]
    assert found["inside.flag"].dtype == np.bool_


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.txt"])
def test_rows_keep_every_value(tmp_path, name):
    check(penstock.convert(write(tmp_path / name, lines(ROWS)), tmp_path / "out", drop=["inside.list"]))


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    write(source / "b.jsonl", lines(ROWS[20:]))
    write(source / "a.jsonl.gz", lines(ROWS[:20]))
    write(source / "notes.txt", "no rows")
    write(source / ".hidden.jsonl", "no rows")
    check(penstock.convert(source, tmp_path / "out", drop=["inside.list"]))


def test_marks_ends_of_lines_and_lines_without_text_are_no_rows(tmp_path):
    text = "\ufeff" + "\r\n \n\t\r\n".join(lines(ROWS).splitlines())  # the last line has no end
    check(penstock.convert(write(tmp_path / "x.jsonl", text), tmp_path / "out", drop=["inside.list"]))


def test_members_of_gzip_follow_each_other(tmp_path):
    source = tmp_path / "x.jsonl.gz"
    source.write_bytes(gzip.compress(lines(ROWS[:7]).encode()) + gzip.compress(lines(ROWS[7:]).encode()))
    check(penstock.convert(source, tmp_path / "out", drop=["inside.list"]))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_the_shards_are_the_same_with_1_2_and_5_processes(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(json_lines, "_PIECE_BYTES", 500)
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        rows = ROWS[number * 9 : number * 16 + 18]
        write(source / f"{number}.jsonl{suffix}", lines(rows))
    found = []
    for processes in (1, 2, 5):
        out = tmp_path / f"out{processes}"
        result = penstock.convert(source, out, processes=processes, shard_bytes=1500)
        assert result.shards > 3
        found.append(content(out))
    assert found[0] == found[1] == found[2]


def test_keys_that_appear_later_are_columns_and_missing_ones_are_counted(tmp_path):
    rows = [{"a": 1}] * 300 + [{"b": "x"}] * 100 + [{"a": None, "c": 0.5}] * 3
    result = penstock.convert(write(tmp_path / "x.jsonl", lines(rows)), tmp_path / "out")
    text = (tmp_path / "out" / "job.textproto").read_text()
    assert re.findall(r'features { key: "(\w)"', text) == ["a", "b", "c"]
    assert result.records == 403


def test_a_line_that_is_no_object_is_named(tmp_path):
    for bad, words in [
        ('{"n": 1', "the line is not valid JSON"),
        ('{"n": NaN}', "the line is not valid JSON: NaN is not a number in JSON"),
        ("[1]", "the line is not a JSON object"),
        ("[" * 100_000, "the line is not valid JSON"),
        (b'{"n": "\xff"}', "the line is not valid JSON"),
    ]:
        data = lines([{"n": 1}] * 3).encode() + b"\n" + (bad if isinstance(bad, bytes) else bad.encode()) + b"\n"
        source = write(tmp_path / "x.jsonl", data)
        with pytest.raises(DataError, match=rf"x\.jsonl, line 5: {words}"):
            penstock.convert(source, tmp_path / "out")


def test_a_value_of_another_type_is_named_by_line_and_column(tmp_path):
    source = write(tmp_path / "x.jsonl", lines([{"n": 1, "m": 1}, {"n": 1, "m": 2}, {"n": 1, "m": "two"}]))
    with pytest.raises(ConfigurationError, match=r"x\.jsonl, line 3: .*'?m'?.*--drop"):
        penstock.convert(source, tmp_path / "out")
    assert penstock.convert(source, tmp_path / "out2", drop=["m"]).records == 3


def test_a_file_that_is_none_is_named(tmp_path):
    write(tmp_path / "a.jsonl", lines(ROWS))
    for text in ("", "\n\n", "[1]\n", "name,number\n"):
        write(tmp_path / "b.jsonl", text)
        with pytest.raises(ConfigurationError, match=r"b\.jsonl has no JSON object in its first line"):
            penstock.convert(tmp_path / "*.jsonl", tmp_path / "out")


def test_a_column_that_no_row_has_is_named(tmp_path):
    source = write(tmp_path / "x.jsonl", lines(ROWS))
    with pytest.raises(ConfigurationError, match="nothing"):
        penstock.convert(source, tmp_path / "out", drop=["nothing"])


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_gzip_is_an_error_that_names_the_file(tmp_path, damage):
    source = write(tmp_path / "x.jsonl.gz", lines(ROWS * 100))
    data = bytearray(source.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[len(data) // 2] ^= 0xFF
    source.write_bytes(data)
    with pytest.raises(DataError, match=r"x\.jsonl\.gz"):
        penstock.convert(source, tmp_path / "out")


def test_a_line_over_the_limit_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_MOST_LINE", 100)
    source = write(tmp_path / "x.jsonl", lines([{"a": 1}, {"a": "x" * 200}]))
    with pytest.raises(DataError, match=r"x\.jsonl: the line at byte 9 has over 100 bytes"):
        penstock.convert(source, tmp_path / "out")


def test_a_file_that_changes_is_refused_by_a_continued_run(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_PIECE_BYTES", 500)
    rows = [{"number": number} for number in range(300)]
    source = write(tmp_path / "x.jsonl", lines([*rows, {"number": "text"}]))
    with pytest.raises(ConfigurationError, match="line 301"):
        penstock.convert(source, tmp_path / "out", shard_bytes=1000)
    assert list((tmp_path / "out").glob("*.tfrecord"))
    write(source, lines(rows))
    with pytest.raises(ConfigurationError, match="301 rows.*300 rows|300 rows.*301 rows"):
        penstock.convert(source, tmp_path / "out", shard_bytes=1000)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_killed_run_is_continued_to_the_same_shards(tmp_path, suffix):
    rows = [{"number": n, "text": "x" * (n % 3000)} for n in range(20_000)]
    source = write(tmp_path / f"x.jsonl{suffix}", lines(rows))
    penstock.convert(source, tmp_path / "whole", shard_bytes="1MiB")
    command = [sys.executable, "-m", "penstock._convert_command", source, "--out", tmp_path / "out", "--shard-bytes", "1MiB"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while run.poll() is None and not (tmp_path / "out" / "data-00002.tfrecord").exists():
        time.sleep(0.002)
    assert run.poll() is None
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out") == content(tmp_path / "whole")
