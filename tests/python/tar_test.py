"""Tar shards of a WebDataset: the same rows in process and served, with any compression, and clear errors."""

import contextlib
import gzip
import io
import json
import subprocess
import tarfile

import numpy as np
import pytest

import penstock
from fixtures import BIN

JOB = """
name: "samples"
dataset { files: "*.tar*" }
features { key: "__key__" column: "key" type: BYTES }
features { key: "png;jpg" column: "image" type: BYTES }
features { key: "cls" column: "label" type: INT64 }
features { key: "json/width" column: "width" type: FLOAT }
features { key: "NPY" column: "vector" type: FLOAT shape: 3 }
order { seed: 5 }
batch { size: 10 }
"""


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def members(shard, i):
    key = f"part{shard}/{i:03}"
    yield f"{key}.jpg", bytes([shard, i]) * (i + 1)
    yield f"{key}.cls", f"{100 * shard + i}\n".encode()
    yield f"{key}.json", json.dumps({"width": i / 2}).encode()
    yield f"{key}.npy", npy(np.float32([shard, i, -1]))


def write(path, shard, count=20, only=None):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for i in range(count):
            for name, data in members(shard, i):
                if only is None or only(name):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "a.tar", 0)
    write(folder / "b.tar.gz", 1)
    (tmp_path / "samples.textproto").write_text(JOB)
    return folder


def rows(data, **arguments):
    job = arguments.pop("job", data.parent / "samples.textproto")
    return list(penstock.Loader(str(job), data_root=str(data), **arguments))


@contextlib.contextmanager
def daemon(data):
    """Runs a coordinator and a worker. Yields their address."""
    folder = data.parent
    port = folder / "port"
    arguments = ["standalone", "--data-root", str(data), "--listen", "127.0.0.1:0", "--port-file", str(port), "--threads", "1"]
    with open(folder / "log", "wb") as log:
        arguments += ["--state-dir", str(folder / "state")]
        process = subprocess.Popen([str(BIN / "penstockd"), *arguments], stderr=log, stdout=log)
    with process:
        try:
            while not (port.exists() and port.read_text()):
                assert process.poll() is None, (folder / "log").read_text()
            yield f"localhost:{port.read_text().strip()}"
        finally:
            process.terminate()


def run(*arguments):
    return subprocess.run([str(BIN / "penstock"), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_columns_are_those_of_the_members(data):
    seen = set()
    for batch in rows(data):
        for i, key in enumerate(batch["key"]):
            shard, number = int(key[4:5]), int(key[6:])
            expected = {name.rsplit(".", 1)[1]: content for name, content in members(shard, number)}
            assert batch["image"][i] == expected["jpg"]
            assert batch["label"][i] == int(expected["cls"])
            assert batch["width"][i] == number / 2
            assert batch["vector"][i].tolist() == [shard, number, -1]
            seen.add(key)
    assert len(seen) == 40


def test_compression_and_padding_change_no_row_and_a_state_resumes(data):
    whole = [list(batch["key"]) for batch in rows(data)]
    loader = penstock.Loader(str(data.parent / "samples.textproto"), data_root=str(data))
    for _ in loader:
        break
    state = loader.state_dict()
    loader.close()
    plain = gzip.decompress((data / "b.tar.gz").read_bytes())
    (data / "b.tar.gz").write_bytes(plain.rstrip(b"\0") + bytes(-len(plain.rstrip(b"\0")) % 512))
    assert [list(batch["key"]) for batch in rows(data)] == whole
    again = penstock.Loader(str(data.parent / "samples.textproto"), data_root=str(data))
    again.load_state_dict(state)
    assert [list(batch["key"]) for batch in again] == whole[1:]


def test_init_verify_index_and_preview(data):
    done = run("init", f"{data}/*", "--index-dir", data.parent / "i", "--out", data.parent / "made.textproto")
    assert done.returncode == 0, done.stderr
    text = (data.parent / "made.textproto").read_text()
    assert 'key: "jpg"' in text
    assert 'key: "cls"' in text
    done = run("verify", f"{data}/*", "--json")
    assert json.loads(done.stdout)["readable_records"] == 40
    done = run("index", f"{data}/*", "--index-dir", data.parent / "j")
    assert "40 records in 2 shards" in done.stdout
    assert len(rows(data, job=data.parent / "made.textproto")) > 0


def test_a_truncated_archive_names_the_member(data):
    whole = (data / "a.tar").read_bytes()
    (data / "a.tar").write_bytes(whole[: whole.index(b"part0/007.npy") + 600])
    done = run("verify", f"{data}/*")
    assert done.returncode == 1
    assert "member part0/007.npy at offset" in done.stdout
    with pytest.raises(penstock.PenstockError, match=r"a\.tar: record 7 .* 7 samples before it are readable"):
        rows(data)


def test_two_kinds_in_a_job_are_rejected_by_file(data):
    with penstock.ShardWriter(str(data / "folder")) as writer:
        writer.write({"label": 1})
    next((data / "folder").glob("*.tfrecord*")).rename(data / "c.tar.tfrecord")
    with pytest.raises(penstock.PenstockError, match=r"a\.tar is a tar archive, and .*c\.tar\.tfrecord is a TFRecord file"):
        rows(data)


def test_source_states_the_kind_and_changes_no_order(data):
    whole = [list(batch["key"]) for batch in rows(data)]
    loader = penstock.Loader(str(data.parent / "samples.textproto"), data_root=str(data))
    next(iter(loader))
    state = loader.state_dict()
    loader.close()
    job = data.parent / "named.textproto"
    job.write_text(JOB.replace('"*.tar*" }', '"*.tar*" source: TAR }'))
    named = penstock.Loader(str(job), data_root=str(data))
    named.load_state_dict(state)  # the order fingerprint is the same
    assert [list(batch["key"]) for batch in named] == whole[1:]
    (data / "empty.tar").write_bytes(bytes(1024))
    assert [list(batch["key"]) for batch in rows(data, job=job)] != []
    (data / "empty.tar").unlink()
    job.write_text(JOB.replace('"*.tar*" }', '"*.tar*" source: TFRECORD }'))
    with pytest.raises(
        penstock.PenstockError, match=r"[ab]\.tar.*: this is a tar archive, but dataset\.source is TFRECORD; leave"
    ):
        rows(data, job=job)


def test_a_zstandard_archive_is_rejected_with_the_command_that_recompresses_it(data):
    (data / "z.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(256)) * 4)
    named, command = f"{data / 'z.tar.zst'}: this is a Zstandard stream", "`zstd -dc FILE.zst | gzip > FILE.gz`"
    for arguments in (["init"], ["verify"], ["index", "--index-dir", data.parent / "i"]):
        done = run(arguments[0], data / "z.tar.zst", *arguments[1:])
        assert done.returncode == 1
        assert named in done.stdout + done.stderr
        assert command in done.stdout + done.stderr
    with pytest.raises(penstock.PenstockError, match="this is a Zstandard stream") as error:
        rows(data)
    assert command in str(error.value)
    with daemon(data) as address:
        with pytest.raises(penstock.PenstockError, match="this is a Zstandard stream") as error:
            penstock.submit(str(data.parent / "samples.textproto"), coordinator=address)
        assert command in str(error.value)


def test_formats_that_the_container_does_not_have(data):
    job = data.parent / "raw.textproto"
    job.write_text(JOB.replace('"*.tar*" }', '"*.tar*" format: SEQUENCE_EXAMPLE }'))
    with pytest.raises(penstock.PenstockError, match="the shards are tar archives: leave it out"):
        rows(data, job=job)


def test_a_duplicate_extension_is_a_bad_record(data):
    with tarfile.open(data / "a.tar", "a") as archive:
        for _ in range(2):
            for name, content in members(0, 50):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    with pytest.raises(penstock.PenstockError, match=r"a\.tar, record 20 at offset .*two members with the extension"):
        rows(data)
    job = data.parent / "mask.textproto"
    job.write_text(JOB + "errors { policy: MASK max_bad_fraction: 0.1 }\n")
    assert sum(int((~batch.valid).sum()) for batch in rows(data, job=job)) <= 1


def test_a_key_that_no_sample_has_is_named(data):
    job = data.parent / "wrong.textproto"
    job.write_text(JOB.replace('key: "cls"', 'key: "class"'))
    with pytest.raises(penstock.PenstockError, match=r'has a key "class".*cls'):
        rows(data, job=job)


def test_import_makes_examples_of_samples(data):
    done = run("import", f"{data}/*", "--untouched", "--out", data.parent / "shards", "--order", "sorted")
    assert done.returncode == 0, done.stderr
    job = data.parent / "examples.textproto"
    text = JOB.replace('"*.tar*"', '"*.tfrecord"').replace("png;jpg", "jpg")
    text = text.replace('features { key: "json/width" column: "width" type: FLOAT }', 'features { key: "json" type: BYTES }')
    job.write_text(text.replace('key: "NPY" column: "vector" type: FLOAT shape: 3', 'key: "npy" type: BYTES'))
    shards = sorted(data.parent.glob("shards/*tfrecord*"))
    assert shards, list(data.parent.glob("shards/*"))
    job.write_text(job.read_text().replace('"*.tfrecord"', f'"{shards[0].name[:5]}*"'))
    seen = 0
    for batch in penstock.Loader(str(job), data_root=str(data.parent / "shards")):
        for i, key in enumerate(batch["key"]):
            shard, number = int(key[4:5]), int(key[6:])
            expected = {name.rsplit(".", 1)[1]: content for name, content in members(shard, number)}
            assert batch["image"][i] == expected["jpg"]
            assert batch["label"][i] == int(expected["cls"])
            assert (batch["json"][i], batch["npy"][i]) == (expected["json"], expected["npy"])
            seen += 1
    assert seen == 40


def test_pickled_members_are_rejected(data):
    job = data.parent / "pickled.textproto"
    job.write_text(JOB.replace('key: "cls"', 'key: "pkl"'))
    with pytest.raises(penstock.PenstockError, match="pkl"):
        rows(data, job=job)


def test_served_rows_are_those_of_the_process(data):
    local = [list(batch["key"]) for batch in rows(data)]
    with daemon(data) as address:
        penstock.submit(str(data.parent / "samples.textproto"), coordinator=address)
        loader = penstock.Loader("samples", coordinator=address)
        assert [list(batch["key"]) for batch in loader] == local
        loader.close()


def test_fields_of_json_members_select_records(tmp_path):
    """A filter may use fields that the job does not read. Their types are those of the first records."""
    kept = []
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for i in range(60):
            fields = {"score": i if i < 2 else i + 0.5, "meta": {"a/b": f"x{i % 3}"}, "sizes": [i, 2 * i], "empty": None}
            for suffix, data in (("cls", str(i)), ("json", json.dumps(fields, indent=1) if i % 7 else "[1]")):
                info = tarfile.TarInfo(f"{i:03}.{suffix}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data.encode()))
            if i % 7 and i + 0.5 > 20 and i % 3 == 1:
                kept.append(i)
    condition = "col('json/score') > 20 and col('json/meta/a~1b') == 'x1' and len(col('json/sizes')) == 2"
    job = penstock.Job(
        name="few", dataset={"files": "*.tar", "select": [{"filter": condition}]}, features={"cls": {"type": "INT64"}},
        order={"shuffle": "NONE"}, batch={"size": 4, "last": "PARTIAL"}, errors={"policy": "MASK", "max_bad_fraction": 0.5})
    with penstock.Loader(job, data_root=tmp_path) as loader:
        found = [label for batch in loader for label in batch["cls"][batch.valid].tolist()]
    assert found == kept
    counted = run("select", tmp_path / "a.tar", "--filter", condition, "--json")
    assert json.loads(counted.stdout)["matches"] == len(kept), counted
    unknown = run("select", tmp_path / "a.tar", "--filter", "col('json/scor') > 1")
    assert "there is no feature 'json/scor' (did you mean col('json/score')?)" in unknown.stderr
