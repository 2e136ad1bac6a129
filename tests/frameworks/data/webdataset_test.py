"""WebDataset archives: Penstock and the webdataset package read the same samples from the same files."""

import io
import json
import os
import struct
import subprocess
import tarfile

import pytest
import webdataset
from fixtures import BIN

import penstock

JOB = """
name: "webdataset"
dataset { files: "*.tar" }
features { key: "__key__" column: "key" type: BYTES }
features { key: "left.jpg" column: "image" type: BYTES default { bytes_values: "none" } }
features { key: "cls" column: "label" type: INT64 default { ints: -1 } }
features { key: "json" column: "text" type: BYTES default { bytes_values: "none" } }
features { key: "json/label" column: "field" type: INT64 default { ints: -1 } }
features { key: "json/box" column: "box" type: FLOAT variable_length: true }
order { seed: 3 }
batch { size: 4 last: PARTIAL }
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "webdataset.textproto"
    path.write_text(JOB)
    (tmp_path / "data").mkdir()
    return path


def samples(count, folder="train"):
    """Returns names and contents of members. Samples differ in their members, and some members are empty."""
    members = []
    for i in range(count):
        key = f"{folder}/{i:04}"
        members.append((f"{key}.Left.JPG", bytes(range(i % 256)) * (i % 7)))
        if i % 3:
            members.append((f"{key}.cls", f"{i}\n".encode()))
        if i % 4:
            members.append((f"{key}.json", json.dumps({"label": i, "box": [i / 2] * (i % 5)}).encode()))
    return members


def add(archive, name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(data))


def from_webdataset(files):
    """Returns each sample by its key, undecoded."""
    dataset = webdataset.WebDataset([str(file) for file in files], shardshuffle=False, nodesplitter=None)
    found = {}
    for sample in dataset:
        assert sample["__key__"] not in found
        fields = json.loads(sample["json"]) if "json" in sample else {}
        found[sample["__key__"]] = (
            sample.get("left.jpg", b"none"),
            int(sample.get("cls", -1)),
            sample.get("json", b"none"),
            fields.get("label", -1),
            fields.get("box", []),
        )
    return found


def from_penstock(job):
    found = {}
    for batch in penstock.Loader(str(job), data_root=str(job.parent / "data"), allow_missing=True):
        for i, key in enumerate(batch["key"]):
            name = os.fsdecode(key)
            assert name not in found
            row = (batch["image"][i], int(batch["label"][i]), batch["text"][i], int(batch["field"][i]))
            found[name] = (*row, batch["box"][i].tolist())
    return found


def check(job, count):
    expected = from_webdataset(sorted((job.parent / "data").glob("*.tar")))
    assert len(expected) == count
    assert from_penstock(job) == expected


@pytest.mark.parametrize("fmt", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=["ustar", "pax", "gnu"])
def test_formats_of_tarfile(job, fmt):
    with tarfile.open(job.parent / "data" / "a.tar", "w", format=fmt) as archive:
        add(archive, "train", type=tarfile.DIRTYPE)
        for name, data in samples(30):
            add(archive, name, data)
        add(archive, "__meta__/index.json", b"{}")
        add(archive, "README", b"has no extension")
        for name, data in samples(10, "a.folder/" * 14):
            add(archive, name, data)
            add(archive, name + ".link", type=tarfile.SYMTYPE, linkname="target")
        if fmt != tarfile.USTAR_FORMAT:
            for name, data in samples(10, "long" * 70 + "\u00e9"):
                add(archive, name, data)
    check(job, 40 if fmt == tarfile.USTAR_FORMAT else 50)


def test_an_archive_without_an_end_mark(job):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, data in samples(9):
            add(archive, name, data)
        end = archive.offset
    (job.parent / "data" / "a.tar").write_bytes(written.getvalue()[:end])
    check(job, 9)


def test_names_with_unusual_dots(job):
    with tarfile.open(job.parent / "data" / "a.tar", "w") as archive:
        for name in "v1.0/0001.cls", "./0002.cls", "/0003.cls", "folder/.cls", "__a__.cls", ".cls", "a.b/.cls", "__a__/b.cls":
            add(archive, name, b"5")
    check(job, 5)


def test_tar_writer(job):
    for shard in range(3):
        with webdataset.TarWriter(str(job.parent / "data" / f"{shard}.tar")) as writer:
            for i in range(7):
                fields = {"label": i, "box": [0.5] * i}
                writer.write({"__key__": f"{shard}/{i}", "left.jpg": b"\xff\xd8", "cls": i, "json": fields})
    check(job, 21)


def test_pax_headers_override_names_and_sizes(job):
    with tarfile.open(job.parent / "data" / "a.tar", "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "x"}) as archive:
        for name, data in samples(12):
            # The header itself has another name and the size 0.
            info = tarfile.TarInfo("other/name.txt")
            info.pax_headers = {"path": name, "size": str(len(data)), "comment": "y" * 700}
            archive.fileobj.write(info.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % 512))
            archive.offset = archive.fileobj.tell()
    check(job, 12)


def test_base_256_sizes(job):
    with tarfile.open(job.parent / "data" / "a.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in samples(12):
            block = tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT)
            size = b"\x80" + struct.pack(">3xQ", len(data))
            block = block[:124] + size + block[136:148] + b" " * 8 + block[156:]
            block = block[:148] + b"%06o\0 " % sum(block) + block[156:]
            archive.fileobj.write(block + data + bytes(-len(data) % 512))
            archive.offset = archive.fileobj.tell()
    check(job, 12)


def test_empty_members(job):
    with tarfile.open(job.parent / "data" / "a.tar", "w") as archive:
        for i in range(5):
            add(archive, f"{i}.left.jpg")
            add(archive, f"{i}.other")
    check(job, 5)


def whole_samples_of_webdataset(file):
    """Returns the keys of the samples before the damage, and whether the package reports the damage."""
    keys = []
    try:
        for sample in webdataset.WebDataset([str(file)], shardshuffle=False, nodesplitter=None):
            keys.append(sample["__key__"])
    except tarfile.ReadError:
        return keys, True
    return keys, False


def verified(folder):
    """Returns the number of readable samples, and whether `penstock verify` reports damage."""
    done = subprocess.run([BIN / "penstock", "verify", folder, "--json"], capture_output=True, text=True, check=False)
    (shard,) = json.loads(done.stdout)["shards"]
    assert done.returncode == (1 if shard["broken"] else 0)
    return shard["readable_records"], bool(shard["broken"])


# The package takes a header that is cut off for the end of the archive. Penstock reports it as damage, and does not count
# the last sample, because the header may be that of a further member.
@pytest.mark.parametrize("place", ["header", "long name", "data", "padding", "border"])
def test_an_archive_that_is_cut_off(job, place):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in samples(6):
            add(archive, name, data)
        begin = archive.offset
        add(archive, ("n" * 120 if place == "long name" else "n") + ".left.jpg", bytes(700))
        end = archive.offset
    cut = {"header": begin + 100, "long name": begin + 600, "data": end - 400, "padding": end - 100, "border": end}[place]
    file = job.parent / "data" / "a.tar"
    file.write_bytes(written.getvalue()[:cut])
    keys, reported = whole_samples_of_webdataset(file)
    readable, broken = verified(job.parent / "data")
    assert broken == (place != "border")
    assert reported == (place in ("long name", "data", "padding"))
    expected = {"header": len(keys) - 1, "long name": len(keys), "data": len(keys) + 1}
    assert readable == expected.get(place, len(keys)), keys
