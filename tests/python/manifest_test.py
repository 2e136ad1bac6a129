"""Folders of images and manifests: the bytes of their files, in process and served, through resumes, faults and commands."""

import gzip
import json
import os
import shutil
import struct
import zlib

import pytest

import penstock
from fixtures import BIN
from tar_test import daemon, run


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def content(number):
    return bytes([number % 256]) * (number % 7 + 1) + f"file {number}".encode()


def write_files(folder, count=60, classes=("cat", "dog", "eel")):
    """Returns the names of the files with their labels."""
    names = []
    for number in range(count):
        label = number % len(classes)
        path = folder / classes[label] / f"{number:03}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(number))
        names.append((str(path.relative_to(folder.parent)), label))
    return names


def write_manifest(path, names):
    path.write_text("file,label,number\n" + "".join(f"{name},{label},{number}\n" for number, (name, label) in enumerate(names)))


def job_of_sets(dataset, columns=("contents", "label", "number"), policy="FAIL", **fields):
    kinds = {"contents": "BYTES", "label": "INT64", "number": "INT64"}
    return penstock.Job(
        name="manifest", dataset=dataset, order={"seed": 4, "shuffle": "FULL"},
        features={key: {"type": kinds[key]} for key in columns}, batch={"size": 7, "last": "PARTIAL"},
        errors={"policy": policy, "max_bad_fraction": 0.5}, **fields)


def job_of(files, columns=("contents", "label", "number"), policy="FAIL", **dataset):
    return job_of_sets({"files": files, "source": "MANIFEST", **dataset}, columns, policy)


def rows(source, **arguments):
    """Returns the number and the bytes of each valid row, in the order of delivery."""
    with penstock.Loader(source, **arguments) as loader:
        found = []
        for batch in loader:
            for number, contents, valid in zip(batch["number"], batch["contents"], batch.valid):
                if valid:
                    found.append((int(number), bytes(contents)))
    return found


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "jsonl"])
def test_rows_have_the_bytes_of_their_files(data, kind):
    names = write_files(data / "files")
    path = data / f"list.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"file": name, "label": label, "number": number}) + "\n"
                                for number, (name, label) in enumerate(names)))
    else:
        write_manifest(path, names)
        if kind == "tsv":
            path.write_text(path.read_text().replace(",", "\t"))
        if kind == "csv.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    job = job_of(path.name)
    local = rows(job, data_root=data)
    assert sorted(local) == [(number, content(number)) for number in range(60)]
    assert local != sorted(local)
    with daemon(data) as address:
        penstock.submit(job, coordinator=address)
        assert rows("manifest", coordinator=address) == local
        with penstock.Loader("manifest", coordinator=address) as loader:
            batches = iter(loader)
            for _ in range(3):
                next(batches)
            state = loader.state_dict()
    with penstock.Loader(job, data_root=data) as loader:
        loader.load_state_dict(state)
        rest = [int(number) for batch in loader for number in batch["number"]]
    assert rest == [number for number, _ in local[21:]]


def test_steps_on_fields_read_no_file(data):
    names = write_files(data / "files")
    write_manifest(data / "list.csv", names)
    select = [{"filter": "label == 1"}, {"split": {"to": 0.5}}]
    job = job_of("list.csv", select=select)
    found = rows(job, data_root=data)
    assert 0 < len(found) < 20
    assert all(number % 3 == 1 and contents == content(number) for number, contents in found)
    by_bytes = job_of("list.csv", select=[{"filter": "bytes(contents) > 11 and file != 'files/cat/006.bin'"}])
    assert sorted(rows(by_bytes, data_root=data)) == [
        (number, content(number)) for number in range(60) if len(content(number)) > 11 and number != 6]
    shutil.rmtree(data / "files")
    without = job_of("list.csv", columns=("label", "number"), select=select)
    with penstock.Loader(without, data_root=data) as loader:
        assert sorted(int(n) for batch in loader for n in batch["number"]) == sorted(number for number, _ in found)


def test_parts_of_an_archive_and_two_manifests_in_a_blend(data):
    (data / "archive").write_bytes(b"".join(content(number) for number in range(60)))
    at, lines = 0, []
    for number in range(60):
        lines.append({"where": "archive", "at": at, "n": len(content(number)), "number": number, "label": 0})
        at += len(content(number))
    (data / "parts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    fields = {"file": "where", "offset": "at", "length": "n"}
    job = job_of("parts.jsonl", manifest=fields)
    alone = rows(job, data_root=data)
    assert sorted(alone) == [(number, content(number)) for number in range(60)]
    write_manifest(data / "list.csv", write_files(data / "files"))
    job = job_of_sets([
        {"name": "parts", "files": ["parts.jsonl"], "source": "MANIFEST", "manifest": fields, "weight": 1},
        {"name": "whole", "files": ["list.csv"], "source": "MANIFEST", "weight": 1}], blend={"epoch_rows": 128})
    both = rows(job, data_root=data)
    assert len(both) == 128
    assert set(both) == set(alone)
    with daemon(data) as address:
        penstock.submit(job, coordinator=address)
        assert rows("manifest", coordinator=address) == both


def test_a_missing_file_is_a_bad_row(data):
    names = write_files(data / "files")
    write_manifest(data / "list.csv", [*names, ("files/gone.bin", 0)])
    with pytest.raises(penstock.PenstockError, match=r"list.csv, record 60 at offset \d+: .*gone.bin: No such file"):
        rows(job_of("list.csv"), data_root=data)
    masked = job_of("list.csv", policy="MASK")
    local = rows(masked, data_root=data)
    assert sorted(number for number, _ in local) == list(range(60))
    with daemon(data) as address:
        penstock.submit(masked, coordinator=address)
        (data / names[5][0]).unlink()
        (data / names[6][0]).write_bytes(b"other")
        served = rows("manifest", coordinator=address)
        listed = run("quarantine", "manifest", "--coordinator", address).stdout
    assert [row for row in local if row[0] not in (5, 6)] == served
    assert "005.bin" in listed
    assert "no file" in listed
    again = rows(masked, data_root=data)
    assert again == served, "the index of the manifest is from before the change"
    (data / names[5][0]).write_bytes(content(5))
    (data / names[6][0]).write_bytes(content(6))
    stat = (data / "list.csv").stat()
    os.utime(data / "list.csv", (stat.st_atime + 2, stat.st_mtime + 2))
    assert rows(masked, data_root=data) == local


def test_a_job_whose_manifest_names_no_file_is_rejected(data):
    write_manifest(data / "list.csv", [("gone", 0), ("../outside", 0)])
    with pytest.raises(penstock.PenstockError, match=r"no row has a file; record 0: .*gone"):
        rows(job_of("list.csv"), data_root=data)
    with pytest.raises(penstock.ConfigurationError, match="manifest: it is for source: MANIFEST"):
        rows(penstock.Job(name="x", dataset={"files": "list.csv", "source": "CSV", "manifest": {"file": "file"}},
                          features={"label": {"type": "INT64"}}, batch=2), data_root=data)


def test_a_state_of_another_field_is_refused(data):
    names = write_files(data / "files")
    other = write_files(data / "twins")
    lines = [f"{a},{b},{number},0\n" for number, ((a, _), (b, _)) in enumerate(zip(names, other, strict=True))]
    (data / "list.csv").write_text("a,b,number,label\n" + "".join(lines))
    job = job_of("list.csv", manifest={"file": "a"})
    with penstock.Loader(job, data_root=data) as loader:
        next(iter(loader))
        state = loader.state_dict()
    job = job_of("list.csv", manifest={"file": "b"})
    with penstock.Loader(job, data_root=data) as loader:
        loader.load_state_dict(state)
        with pytest.raises(penstock.PenstockError, match="another order of records"):
            next(iter(loader))


def png(red):
    """Returns an image of 8 x 8 pixels of one color."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + bytes([red, 0, 0]) * 8) * 8
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def test_init_writes_a_manifest_of_a_folder(data, tmp_path):
    folder = data / "photos"
    labels = {}
    for number in range(12):
        name = ["b, \"big\"", "a", "c"][number % 3]
        path = folder / name / "more" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number))
        labels[number] = sorted(["b, \"big\"", "a", "c"]).index(name)
    (folder / "a" / "notes.txt").write_text("no image")
    out = tmp_path / "photos.textproto"
    made = run("init", str(folder), "--out", str(out))
    assert made.returncode == 0, made.stderr
    assert f"wrote {folder}.csv, a manifest of 12 images in 3 class folders" in made.stderr
    assert "left out: 1 file that is no image: " in made.stderr
    text = out.read_text()
    assert "source: MANIFEST" in text
    assert 'key: "contents" column: "image"' in text
    assert 'column: "label"' in text
    preview = run("preview", str(out), "--out", str(tmp_path / "sheet.png"))
    assert preview.returncode == 0, preview.stderr
    recipe = penstock.Job(
        name="photos", dataset={"files": "photos.csv", "source": "MANIFEST"},
        features={"contents": {"column": "image", "type": "BYTES"}, "label": {"type": "INT64"}},
        ops=[{"decode_image": {}}, {"center_crop": {"height": 4, "width": 4}}], order={"shuffle": "NONE"}, batch={"size": 4})
    with penstock.Loader(recipe, data_root=data) as loader:
        found = {int(image[0, 0, 0]): int(label) for batch in loader for image, label in zip(batch["image"], batch["label"])}
    assert found == labels
    again = run("init", str(folder), "--out", str(out), "--force")
    assert f"kept {folder}.csv" in again.stderr
    (folder / "c" / "new.png").write_bytes(png(0))
    refused = run("init", str(folder))
    assert refused.returncode == 1
    assert "lists other files than" in refused.stderr
    assert run("init", str(folder), "--manifest-out", str(data / "other.csv")).returncode == 0
    assert (data / "other.csv").read_text().count("\n") == 14


def test_commands_take_manifests(data, tmp_path):
    names = write_files(data / "files")
    write_manifest(data / "list.csv", names)
    path = str(data / "list.csv")
    assert run("index", path, "--source", "MANIFEST").returncode == 0
    verified = run("verify", path, "--source", "MANIFEST")
    assert verified.returncode == 0
    assert "60 readable records" in verified.stdout
    selected = run("select", path, "--manifest", "file", "--filter", "label == 2", "--json")
    assert json.loads(selected.stdout)["matches"] == 20, selected.stdout + selected.stderr
    imported = run("import", path, "--source", "MANIFEST", "--untouched", "--out", str(tmp_path / "shards"))
    assert imported.returncode == 0, imported.stderr
    job = penstock.Job(name="shards", dataset={"files": str(tmp_path / "shards" / "*.tfrecord")},
                       features={"contents": {"type": "BYTES"}, "number": {"type": "BYTES"}}, batch=10)
    with penstock.Loader(job) as loader:
        found = {int(number): bytes(contents) for batch in loader
                 for number, contents in zip(batch["number"], batch["contents"])}
    assert found == {number: content(number) for number in range(60)}
    (data / names[3][0]).unlink()
    broken = run("verify", path, "--source", "MANIFEST")
    assert broken.returncode == 1
    assert "it has no file" in broken.stdout
    wrong = run("index", path, "--source", "CSV", "--manifest", "file")
    assert wrong.returncode == 2
    assert "--manifest is for --source MANIFEST" in wrong.stderr
