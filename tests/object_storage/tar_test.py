"""Tar shards of a WebDataset in a bucket: the rows and messages of commands and of a daemon, as for files on a disk."""

import io
import json
import tarfile

import pytest

from commands import EPOCHS, digest_of, png

JOB = """name: "samples"
dataset { files: "FILES" source: TAR }
features { key: "png" column: "image" type: BYTES }
features { key: "cls" column: "label" type: INT64 }
features { key: "json/number" column: "number" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 16 width: 16 } }
order { seed: 17 }
batch { size: 16 last: PAD }
"""
SAMPLES = 40  # in each shard


@pytest.fixture(scope="module")
def tars(place):
    """Makes shards on the disk, and the same in the bucket."""
    folder = place.folder / "tars"
    folder.mkdir()
    for shard, name in enumerate(("train-0.tar", "train-1.tar", "train-2.tar.gz")):
        with tarfile.open(folder / name, "w:gz" if name.endswith(".gz") else "w") as archive:
            for number in range(SAMPLES * shard, SAMPLES * (shard + 1)):
                fields = {"png": png(number), "cls": str(number % 7).encode(), "json": json.dumps({"number": number}).encode()}
                for extension, data in fields.items():
                    info = tarfile.TarInfo(f"train/{number:04}.{extension}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
        place.server.put(f"tars/{name}", folder / name)
    return folder


def write_job(place, files, name):
    (place.folder / name).write_text(JOB.replace("FILES", files))
    return name


def test_a_daemon_gives_the_rows_of_local_files(place, tars):
    digests = set()
    for root, files in (
        (f"data={tars}", "*"),
        (f"data={place.at('tars')}", "*"),
        (f"data={place.at('')}", place.at("tars/*")),
    ):
        job = write_job(place, files, "served.textproto")
        with place.daemon(root) as daemon:
            digests.add(digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json")))
    assert len(digests) == 1


def test_verify_index_init_and_bench(place, tars):
    for files in (f"{tars}/*", place.at("tars/*")):
        verified = json.loads(place.type(f"penstock verify '{files}' --json"))
        assert (verified["files"], verified["broken_files"], verified["readable_records"]) == (3, 0, 3 * SAMPLES)
        assert f"{3 * SAMPLES} records in 3 shards" in place.type(f"penstock index '{files}' --index-dir index")
        place.type(f"penstock init '{files}' --out made.textproto --force")
        made = (place.folder / "made.textproto").read_text()
        assert 'key: "png"' in made
        assert 'key: "cls"' in made
        measured = json.loads(place.type(f"penstock bench {write_job(place, files, 'bench.textproto')} --seconds 1 --json"))
        assert measured["rows_per_second"] > 0


def test_import_of_a_bucket_gives_the_shards_of_a_disk(place, tars):
    for name, files in (("here", f"{tars}/*"), ("there", place.at("tars/*"))):
        place.type(f"penstock import '{files}' --untouched --out of-tars-{name}")
    here, there = (sorted((place.folder / f"of-tars-{name}").glob("*.tfrecord")) for name in ("here", "there"))
    assert [path.read_bytes() for path in here] == [path.read_bytes() for path in there] != []


def test_damage_names_the_object_the_member_and_the_samples_before_it(place, tars):
    whole = (tars / "train-0.tar").read_bytes()
    at = whole.index(b"train/0007.cls")
    (place.folder / "cut.tar").write_bytes(whole[: at + 512])
    place.server.put("damaged/cut.tar", place.folder / "cut.tar")
    cut = place.at("damaged/cut.tar")
    said = place.type(f"penstock verify '{cut}'", 1)
    assert f"{cut}: BROKEN: 1 fault, 7 samples readable" in said
    assert f"member train/0007.cls at offset {at}" in said
    assert f"{cut}: record 7" in place.type(f"penstock index '{cut}' --index-dir index", 1)
