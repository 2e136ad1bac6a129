"""Shards of CSV and TSV rows: the fields that Python's csv reads, in process and served, and clear errors."""

import csv
import gzip
import io
import json
import random

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

JOB = """
name: "table"
dataset { files: "*.csv*" source: CSV }
features { key: "id" type: INT64 }
features { key: "score" type: FLOAT default { floats: -1 } }
features { key: "note, long" column: "note" type: BYTES }
order { seed: 5 }
batch { size: 8 last: PAD }
"""
NAMES = ["id", "score", "note, long"]
PIECES = ["a", "日本", '"', ",", "\t", "\n", "\r\n", " ", "'", ";", "x" * 3000]


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def random_table(rng, first, count):
    """Returns rows as Python's csv writes them: id, number or nothing, text of any characters."""
    rows = []
    for number in range(first, first + count):
        score = rng.choice(["", repr(rng.uniform(-9, 9)), str(rng.randrange(100)), "1e-3"])
        note = "".join(rng.choices(PIECES, [9, 3, 3, 3, 2, 2, 1, 3, 1, 1, 0.1], k=rng.randrange(12)))
        rows.append([str(number), score, note])
    return rows


def text_of(rows, names=NAMES, **dialect):
    out = io.StringIO()
    csv.writer(out, **dialect).writerows([names, *rows])
    return out.getvalue().encode()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    rng = random.Random(4)
    for number, name in enumerate("abc"):
        (folder / f"{name}.csv").write_bytes(text_of(random_table(rng, 100 * number, 30 + number)))
    (tmp_path / "table.textproto").write_text(JOB)
    return folder


def expected_of(data):
    """Returns the rows that Python's csv reads, with the job's numbers, in the order of their ids."""
    rows = []
    for path in sorted(data.iterdir()):
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        table = csv.DictReader(text, delimiter="\t" if ".tsv" in path.name else ",")
        rows += [(int(row["id"]), float(np.float32(row["score"] or -1)), row["note, long"].encode()) for row in table]
    return sorted(rows)


def rows(data, job=None, **arguments):
    loader = penstock.Loader(str(job or data.parent / "table.textproto"), data_root=str(data), **arguments)
    found = []
    for batch in loader:
        columns = zip(batch["id"].tolist(), batch["score"].tolist(), batch["note"], batch.valid)
        found += [(number, score, note) for number, score, note, valid in columns if valid]
    return found


def changed(data, old, new, text=JOB):
    job = data.parent / "changed.textproto"
    assert old in text
    job.write_text(text.replace(old, new))
    return job


def test_the_fields_are_those_that_python_reads(data):
    dialects = [{}, {"lineterminator": "\n"}, {"quoting": csv.QUOTE_ALL}, {"quoting": csv.QUOTE_NONNUMERIC}]
    for seed in range(12):
        rng = random.Random(seed)
        for path in data.iterdir():
            path.write_bytes(text_of(random_table(rng, 1000 * ord(path.name[0]), rng.randrange(1, 60)), **rng.choice(dialects)))
        assert sorted(rows(data)) == expected_of(data)


def test_compression_line_ends_and_columns_of_other_files_change_no_row(data):
    table = random_table(random.Random(9), 500, 20)
    (data / "d.csv").write_bytes(text_of(table))
    plain = rows(data)
    assert sorted(plain) == expected_of(data)
    unix = text_of(table, lineterminator="\n").replace(b"\n500", b"\n\n500")
    (data / "d.csv").write_bytes(b"\xef\xbb\xbf" + unix)
    assert rows(data) == plain
    (data / "d.csv").write_bytes(gzip.compress(unix))
    assert rows(data) == plain
    swapped = [[note, "-", score, number] for number, score, note in table]
    (data / "d.csv").write_bytes(text_of(swapped, ["note, long", "more", "score", "id"]))
    assert rows(data) == plain


def test_tabs_separate_the_fields_of_tsv(data):
    for path in list(data.iterdir()):
        path.write_bytes(text_of(random_table(random.Random(3), 10 * ord(path.name[0]), 9), delimiter="\t"))
        path.rename(path.with_suffix(".tsv"))
    assert sorted(rows(data, job=changed(data, '"*.csv*" source: CSV', '"*.tsv" source: TSV'))) == expected_of(data)
    (data / "d.tsv").write_text("id\tscore\tnote\n1\t2\t3\n")
    with pytest.raises(penstock.PenstockError, match=r'has a key "id".*they have: '):
        rows(data, job=changed(data, '"*.csv*"', '"d.tsv"'))


def test_a_resumed_loader_gives_the_rest(data):
    job = str(data.parent / "table.textproto")
    whole = [batch["id"].tolist() for batch in penstock.Loader(job, data_root=str(data))]
    for steps in range(len(whole)):
        loader = penstock.Loader(job, data_root=str(data))
        batches = iter(loader)
        for _ in range(steps):
            next(batches)
        state = loader.state_dict()
        loader.close()
        resumed = penstock.Loader(job, data_root=str(data))
        resumed.load_state_dict(state)
        assert [batch["id"].tolist() for batch in resumed] == whole[steps:]
        resumed.close()


def test_served_rows_are_those_of_the_process(data):
    (data / "d.csv").write_bytes(gzip.compress(text_of(random_table(random.Random(9), 500, 20))))
    job = changed(data, "source: CSV", "source: CSV select { filter: \"score >= 0 and bytes(col('note, long')) > 2\" }")
    local = rows(data, job=job)
    wanted = [row for row in expected_of(data) if row[1] >= 0 and len(row[2]) > 2]
    assert 0 < len(wanted) < len(expected_of(data))
    assert sorted(local) == wanted
    with daemon(data) as address:
        penstock.submit(str(job), coordinator=address)
        loader = penstock.Loader("table", coordinator=address)
        served = [number for batch in loader for number, valid in zip(batch["id"].tolist(), batch.valid) if valid]
        assert served == [number for number, _, _ in local]
        loader.close()


def test_commands_take_the_source(data):
    count = len(expected_of(data))
    made = data.parent / "made.textproto"
    done = run("init", f"{data}/*.csv", "--source", "CSV", "--out", made)
    assert done.returncode == 0, done.stderr
    text = made.read_text()
    assert "  source: CSV\n" in text
    assert 'features { key: "id" type: INT64 }' in text
    assert 'features { key: "score" type: FLOAT default { floats: 0 } }' in text
    assert 'features { key: "note, long" type: BYTES }' in text
    assert sum(int(batch.valid.sum()) for batch in penstock.Loader(str(made))) > 0
    done = run("verify", f"{data}/*", "--source", "CSV", "--json")
    assert json.loads(done.stdout)["readable_records"] == count
    done = run("index", f"{data}/*", "--source", "CSV")
    assert f"{count} records in 3 shards" in done.stdout
    for command in ("preview", "bench"):
        done = run(command, made, "--data-root", data, *(["--seconds", "1"] if command == "bench" else []))
        assert done.returncode == 0, done.stderr
    done = run("select", f"{data}/*", "--source", "CSV", "--filter", "id < 110")
    assert f"40 of {count} records in 3 files match" in done.stdout, done.stderr
    done = run("import", f"{data}/*", "--source", "CSV", "--untouched", "--out", data.parent / "shards")
    assert done.returncode == 0, done.stderr
    job = data.parent / "imported.textproto"
    job.write_text('name: "i" dataset { files: "*.tfrecord" } features { key: "id" type: BYTES } batch { size: 500 last: PAD }')
    imported = [batch["id"][:count] for batch in penstock.Loader(str(job), data_root=str(data.parent / "shards"))]
    assert sorted(map(int, imported[0])) == [number for number, _, _ in expected_of(data)]
    done = run("bake", data.parent / "table.textproto", "--data-root", data, "--out", data.parent / "baked")
    assert done.returncode == 0, done.stderr


def test_the_type_of_a_column_is_that_of_the_job(data):
    for path in data.iterdir():
        path.unlink()
    (data / "a.csv").write_text("id,zip\n" + "".join(f"{i},{i % 3:05}\n" for i in range(60)) + "60,K1A\n")
    job = data.parent / "zip.textproto"
    job.write_text("""name: "z"
        dataset { files: "*.csv" source: CSV select { filter: "startswith(zip, '0000') or zip == 'K1A'" } }
        features { key: "zip" type: BYTES } features { key: "id" type: INT64 } order { shuffle: NONE } batch { size: 61 }""")
    batch = next(iter(penstock.Loader(str(job), data_root=str(data))))
    assert [bytes(code) for code in batch["zip"]] == [b"%05d" % (i % 3) for i in range(60)] + [b"K1A"]
    made = data.parent / "made.textproto"
    assert run("init", f"{data}/a.csv", "--source", "CSV", "--out", made).returncode == 0
    assert 'features { key: "zip" type: BYTES }' in made.read_text(), "a leading zero is a part of the text"


def test_init_reads_a_table_that_pandas_wrote(data):
    for path in data.iterdir():
        path.unlink()
    (data / "a.csv").write_text(",id,b,b,empty\n0,1,2,3,\n1,12345678901234567890,5,6,\n")
    made = data.parent / "made.textproto"
    done = run("init", f"{data}/a.csv", "--source", "CSV", "--out", made)
    assert done.returncode == 0, done.stderr
    assert "a column without a name is left out" in done.stdout + done.stderr
    assert "several columns have the name 'b' and are left out" in done.stdout + done.stderr
    assert 'features { key: "id" type: BYTES }' in made.read_text()
    assert 'features { key: "empty" type: BYTES }' in made.read_text()
    done = run("select", f"{data}/a.csv", "--source", "CSV", "--filter", "bytes(empty) == 0 and id == '1'")
    assert "1 of 2 records in 1 file match" in done.stdout, done.stderr


def test_one_file_is_lines_for_one_job_and_rows_for_another(data):
    text = data.parent / "lines.textproto"
    text.write_text('name: "t" dataset { files: "a.csv" source: TEXT } features { key: "line" type: BYTES } batch { size: 1 }')
    with daemon(data) as address:
        penstock.submit(str(data.parent / "table.textproto"), coordinator=address)
        penstock.submit(str(text), coordinator=address)
        for job, column in (("table", "id"), ("t", "line"), ("table", "id")):
            loader = penstock.Loader(job, coordinator=address)
            assert len(next(iter(loader))[column]) > 0
            loader.close()


def test_a_default_does_not_hide_a_column_that_a_file_lacks(data):
    job = changed(data, 'key: "score"', 'key: "points"')
    with pytest.raises(penstock.PenstockError, match=r'has a key "points".*If this is intended, use --allow-missing'):
        rows(data, job=job)


def test_a_row_of_another_width_is_a_bad_record(data):
    with (data / "b.csv").open("ab") as file:
        file.write(b"907,1.5\r\n")
    place = r"b\.csv, record 31 at offset \d+: the row has 2 fields, but the first row of the file names 3 columns"
    with pytest.raises(penstock.PenstockError, match=place):
        rows(data)
    masked = changed(data, "batch {", "errors { policy: MASK max_bad_fraction: 0.5 } batch {")
    (data / "b.csv").write_bytes((data / "b.csv").read_bytes() + b"908,many,\r\n909,2,kept\r\n")
    loader = penstock.Loader(str(masked), data_root=str(data))
    valid = [number for batch in loader for number, valid in zip(batch["id"].tolist(), batch.valid) if valid]
    assert {907, 908, 909}.intersection(valid) == {909}
    assert len(valid) == len(set(valid)) == 30 + 31 + 32 + 1


def test_mistakes_are_named(data):
    with pytest.raises(penstock.PenstockError, match=r'has a key "scores" \(did you mean \'?"?score'):
        rows(data, job=changed(data, 'key: "score" type: FLOAT default { floats: -1 }', 'key: "scores" type: FLOAT'))
    with pytest.raises(penstock.PenstockError, match=r'feature "note, long" holds .* of the row, but the job requests INT64'):
        rows(data, job=changed(data, "BYTES", "INT64"))
    with pytest.raises(penstock.PenstockError, match="RAW, but `source` is CSV, whose records are rows of fields"):
        rows(data, job=changed(data, "source: CSV", "source: CSV format: RAW"))
    with pytest.raises(penstock.PenstockError, match=r"a\.csv: this is text.*source: CSV"):
        rows(data, job=changed(data, "source: CSV", ""))
    (data / "b.csv").write_bytes(b'id,score,"note, long"\n1,2,"open\n3,4,x\n')
    with pytest.raises(penstock.PenstockError, match=r"b\.csv: record 0 at offset 22 .*a quote that has no end"):
        rows(data)
