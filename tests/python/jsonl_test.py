"""Shards of JSON lines: the same rows in process and served, with any compression, and clear errors."""

import gzip
import json
import os
import random
import zlib

import numpy as np
import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run

JOB = """
name: "lines"
dataset { files: "*.jsonl*" }
features { key: "text" type: BYTES }
features { key: "meta.lang" column: "lang" type: BYTES }
features { key: "label" type: INT64 }
features { key: "score" type: FLOAT default { floats: -1 } }
features { key: "tokens" type: INT64 variable_length: true }
features { key: "meta" type: BYTES }
order { seed: 5 }
batch { size: 10 }
"""


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def record(shard, i):
    made = {
        "text": f"{shard}-{i} zürich\n" + "x" * (i * 7),
        "label": 100 * shard + i,
        "meta": {"lang": "de" if i % 2 else "en", "n": [i, {"x": None}]},
        "tokens": list(range(i % 4)),
    }
    if i % 3:
        made["score"] = i / 8
    return made


def lines(shard, count=20, end="\n"):
    return "".join(json.dumps(record(shard, i), ensure_ascii=i % 2 == 0) + end for i in range(count)).encode()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(0, end="\r\n"))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(1)))
    (folder / "c.jsonl.zlib").write_bytes(zlib.compress(b"\n" + lines(2, end="\n\n").rstrip(b"\n")))
    (tmp_path / "lines.textproto").write_text(JOB)
    return folder


def rows(data, job=None, **arguments):
    job = job or data.parent / "lines.textproto"
    return list(penstock.Loader(str(job), data_root=str(data), **arguments))


def changed(data, old, new):
    job = data.parent / "changed.textproto"
    assert old in JOB
    job.write_text(JOB.replace(old, new))
    return job


def labels(batches):
    return [int(label) for batch in batches for label in batch["label"]]


def test_columns_are_the_values_that_python_reads(data):
    seen = set()
    for batch in rows(data):
        for i, label in enumerate(batch["label"]):
            expected = record(*divmod(int(label), 100))
            assert batch["text"][i] == expected["text"].encode()
            assert batch["lang"][i] == expected["meta"]["lang"].encode()
            assert json.loads(batch["meta"][i]) == expected["meta"]
            assert batch["score"][i] == np.float32(expected.get("score", -1))
            assert list(batch["tokens"][i]) == expected["tokens"]
            seen.add(int(label))
    assert len(seen) == 60


def test_line_ends_and_compression_change_no_row_and_a_state_resumes(data):
    whole = labels(rows(data))
    loader = penstock.Loader(str(data.parent / "lines.textproto"), data_root=str(data))
    next(iter(loader))
    state = loader.state_dict()
    loader.close()
    (data / "a.jsonl").write_bytes(b"\n \n" + lines(0, end="\n\n"))
    (data / "b.jsonl.gz").write_bytes(lines(1).rstrip(b"\n"))
    assert labels(rows(data)) == whole
    named = penstock.Loader(str(changed(data, '"*.jsonl*"', '"*.jsonl*" source: JSONL')), data_root=str(data))
    named.load_state_dict(state)  # source changes neither order nor fingerprint
    assert labels(named) == whole[10:]


def test_raw_records_are_the_lines(data):
    job = data.parent / "raw.textproto"
    dataset, feature = 'dataset { files: "a.jsonl" format: RAW }', 'features { column: "line" type: BYTES }'
    job.write_text(f'name: "raw" {dataset} {feature} batch {{ size: 20 }}')
    (batch,) = rows(data, job=job)
    assert sorted(batch["line"]) == sorted(lines(0).splitlines())


def test_served_rows_are_those_of_the_process(data):
    local = [list(batch["text"]) for batch in rows(data)]
    with daemon(data) as address:
        penstock.submit(str(data.parent / "lines.textproto"), coordinator=address)
        loader = penstock.Loader("lines", coordinator=address)
        assert [list(batch["text"]) for batch in loader] == local
        loader.close()
        read = run("read", "lines", "--coordinator", address, "--steps", "2")
        assert read.returncode == 0, read.stderr


def test_init_index_verify_preview_and_bench(data):
    made = data.parent / "made.textproto"
    done = run("init", f"{data}/*", "--index-dir", data.parent / "i", "--out", made)
    assert done.returncode == 0, done.stderr
    text = made.read_text()
    for line in (
        'key: "text" type: BYTES }',
        'key: "meta.lang" type: BYTES }',
        'key: "label" column: "label" type: INT64 }',
        'key: "tokens" type: INT64 variable_length: true }',
        'key: "score" type: FLOAT default { floats: 0 } }',
    ):
        assert line in text
    assert sum(len(batch["text"]) for batch in rows(data, job=made)) > 0
    done = run("verify", f"{data}/*", "--json")
    assert json.loads(done.stdout)["readable_records"] == 60
    done = run("index", f"{data}/*", "--index-dir", data.parent / "j")
    assert "60 records in 3 shards" in done.stdout
    for command in ("preview", "bench"):
        done = run(command, made, "--data-root", data, *(["--seconds", "1"] if command == "bench" else []))
        assert done.returncode == 0, done.stderr


def test_select_finds_the_records_that_match(data):
    done = run("select", f"{data}/*", "--filter", "col('meta.lang') == 'de' and label >= 100 and has(score)")
    assert done.returncode == 0, done.stderr
    expected = sum(1 for shard in (1, 2) for i in range(20) if i % 2 and "score" in record(shard, i))
    assert f"{expected} of 60 records in 3 files match" in done.stdout
    job = changed(data, '"*.jsonl*"', '"*.jsonl*" select { filter: "len(tokens) == 3" } select { split { to: 1 } }')
    job.write_text(job.read_text().replace("size: 10", "size: 1"))
    assert sorted(labels(rows(data, job=job))) == [100 * s + i for s in range(3) for i in range(20) if i % 4 == 3]


def test_a_number_is_float_if_a_first_record_has_a_fraction(data):
    (data / "n.jsonl").write_text("".join(json.dumps({"n": n}) + "\n" for n in (1, 2.5, 3)))
    done = run("init", data / "n.jsonl")
    assert 'key: "n" type: FLOAT }' in done.stdout
    done = run("select", data / "n.jsonl", "--filter", "n >= 2.5")
    assert "2 of 3 records" in done.stdout, done.stderr


def test_a_bad_record_is_named_and_follows_the_policy(data):
    bad = {
        b'{"label": 1.5, "text": "", "meta": {"lang": ""}, "tokens": []}': r'feature "label" holds FLOAT \(1\.5\) at offset 10',
        b'{"label": 92233720368547758080, "text": "", "meta": {"lang": ""}}': r"an integer out of the range of INT64",
        b'{"label": 1, "text": "\xff"}': r"invalid UTF-8 at offset 22 of the line",
        b'{"label": 1, "text": "}': r"invalid JSON at offset 23 of the line",
        b"[1]": r"no JSON object at offset 0 of the line",
    }
    for line, message in bad.items():
        (data / "a.jsonl").write_bytes(lines(0, 20) + line + b"\n")
        with pytest.raises(penstock.PenstockError, match=r"a\.jsonl, record 20 at offset .*" + message):
            rows(data)
        masked = data.parent / "mask.textproto"
        masked.write_text(JOB.replace("size: 10", "size: 1") + "errors { policy: MASK max_bad_fraction: 0.1 }\n")
        assert sum(int((~batch.valid).sum()) for batch in rows(data, job=masked)) == 1


def test_a_key_that_no_record_has_is_named(data):
    with pytest.raises(penstock.PenstockError, match=r'has a key "meta\.language".*meta\.lang'):
        rows(data, job=changed(data, '"meta.lang"', '"meta.language"'))
    with pytest.raises(penstock.PenstockError, match="is no JSON path"):
        rows(data, job=changed(data, '"text" type: BYTES', '"te\\\\xt" type: BYTES default { bytes_values: "" }'))


def test_other_kinds_and_formats_are_rejected_by_file(data):
    with pytest.raises(penstock.PenstockError, match=r"this is a JSONL file, but dataset\.source is TFRECORD; leave"):
        rows(data, job=changed(data, '"*.jsonl*"', '"*.jsonl*" source: TFRECORD'))
    with pytest.raises(penstock.PenstockError, match="but `source` is JSONL, whose records are JSON objects; leave one out"):
        rows(data, job=changed(data, '"*.jsonl*"', '"*.jsonl*" source: JSONL format: SEQUENCE_EXAMPLE'))
    with pytest.raises(penstock.PenstockError, match="SAMPLE, but the shards are JSONL files: leave it out, or name RAW"):
        rows(data, job=changed(data, '"*.jsonl*"', '"*.jsonl*" format: SAMPLE'))
    with penstock.ShardWriter(str(data / "folder")) as writer:
        writer.write({"label": 1})
    next((data / "folder").glob("*.tfrecord*")).rename(data / "d.jsonl.tfrecord")
    with pytest.raises(penstock.PenstockError, match=r"a\.jsonl is a JSONL file, and .*d\.jsonl\.tfrecord is a TFRecord file"):
        rows(data)
    with pytest.raises(penstock.PenstockError, match=r"this is a TFRecord file, but dataset\.source is JSONL"):
        rows(data, job=changed(data, '"*.jsonl*"', '"d.jsonl*" source: JSONL'))


def test_a_changed_line_is_found_by_its_index(data):
    index = data.parent / "index"
    assert run("index", f"{data}/*", "--index-dir", index).returncode == 0
    path = data / "a.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"label": 7,', b'"label": 8,'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(penstock.PenstockError, match=r"a\.jsonl, record 7 at offset .* its CRC is not that of the index"):
        rows(data, index_dir=str(index))


def test_import_and_bake_make_shards(data):
    out = data.parent / "shards"
    done = run("import", f"{data}/*", "--untouched", "--out", out, "--order", "sorted")
    assert done.returncode == 0, done.stderr
    prefix = sorted(out.glob("*tfrecord*"))[0].name[:5]
    job = changed(data, '"*.jsonl*"', f'"{prefix}*"')
    job.write_text(job.read_text().replace('features { key: "meta" type: BYTES }\n', ""))
    found = list(penstock.Loader(str(job), data_root=str(out)))
    assert sorted(labels(found)) == sorted(labels(rows(data)))
    done = run("bake", data.parent / "lines.textproto", "--data-root", data, "--out", data.parent / "baked")
    assert done.returncode == 0, done.stderr


def test_random_objects_have_the_values_that_python_reads(data, tmp_path):
    rng = random.Random(3)
    letters = [9, 34, 92, 233, 0x65E5, 0x1F600, *range(32, 127)]
    made = [
        {
            "i": rng.randint(-(2**63), 2**63 - 1),
            "f": rng.uniform(-1e30, 1e30) * 10 ** rng.randint(-30, 7),
            "s": "".join(chr(rng.choice(letters)) for _ in range(rng.randint(0, 60))),
            "l": [rng.choice([True, False, rng.randint(-9, 9)]) for _ in range(rng.randint(0, 5))],
        }
        for _ in range(500)
    ]
    folder = tmp_path / "random"
    folder.mkdir()
    (folder / "r.jsonl").write_text("".join(json.dumps(each, ensure_ascii=rng.random() < 0.5) + "\n" for each in made))
    job = tmp_path / "random.textproto"
    job.write_text(
        'name: "random" dataset { files: "r.jsonl" } features { key: "i" type: INT64 } features { key: "f" type: FLOAT }'
        'features { key: "s" type: BYTES } features { key: "l" type: INT64 variable_length: true } batch { size: 100 }'
    )
    found = [row for batch in penstock.Loader(str(job), data_root=str(folder)) for row in zip(*(batch[k] for k in "ifsl"))]
    assert len(found) == 500
    for (i, f, s, values), each in zip(sorted(found, key=lambda row: row[0]), sorted(made, key=lambda one: one["i"])):
        assert (int(i), s.decode(), list(values)) == (each["i"], each["s"], [int(v) for v in each["l"]])
        assert f == np.float32(each["f"])
