"""Object storage as a user meets it, on servers by other projects: commands, a daemon, Python, and kills."""

import datetime
import json
import subprocess
import sys

import numpy
import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

from commands import EPOCHS, SlowReader, arrays, class_folders, digest_of, frames, read_digest, wait_until, write_job
from conftest import BIN, HERE, Moto, SeaweedFS


@pytest.fixture(scope="module")
def expected(place):
    """The digest of the same shards as local files."""
    job = write_job(place, "*", "local.textproto")
    with place.daemon(f"data={place.files[0].parent}") as daemon:
        return digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json"))


def test_a_daemon_gives_the_rows_of_local_files(place, expected):
    for root, files in ((f"data={place.at('photos')}", "*"), (f"data={place.at('')}", place.at("photos/*"))):
        job = write_job(place, files, "remote.textproto")
        with place.daemon(root) as daemon:
            assert digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json")) == expected


def test_python_gives_the_rows_of_local_files_in_process_and_served(place):
    job = write_job(place, place.at("photos/*"), "python.textproto")
    local = write_job(place, f"{place.files[0].parent}/*", "python_local.textproto")
    loop = """
import sys, hashlib, penstock
loader = penstock.Loader(sys.argv[1], **({"coordinator": sys.argv[2]} if sys.argv[2:] else {}))
digest = hashlib.sha256()
for batch in loader:
    digest.update(batch["image"].tobytes() + batch["label"].tobytes())
print(digest.hexdigest())
"""

    def run(*arguments):
        package = HERE.parents[1] / "client" / "python"
        environment = place.environment(PYTHONPATH=str(package), PENSTOCK_PROGRAM=str(BIN / "penstock"))
        done = subprocess.run(
            [sys.executable, "-c", loop, *arguments],
            cwd=place.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with place.daemon(f"data={place.at('')}") as daemon:
        daemon.type(f"penstock submit {job}")
        assert run(job) == run(local) == run("photos", daemon.address)


def test_a_storage_that_is_killed_and_comes_back_changes_no_byte(place, expected):
    if not place.server.survives:
        return
    job = write_job(place, "*", "remote.textproto")
    with place.daemon(f"data={place.at('photos')}", "--record-cache", "0") as daemon:
        reader = SlowReader(daemon, job)
        place.server.kill()
        try:
            wait_until(lambda: place.at("photos/") in daemon.type("penstock status"))
        finally:
            place.server.start()
        assert reader.digest() == expected


def test_what_is_not_there_is_named(place):
    missing = place.at("photos/*").replace("train", "trian")
    said = {
        "s3": "there is no bucket s3://trian",
        "gs": "gs://trian/photos: HTTP 404: Not Found",  # Google names the missing bucket, fake-gcs-server does not
        "az": "there is no container az://trian",
    }
    assert said[place.server.scheme] in place.type(f"penstock verify '{missing}'", 1)
    assert "matches no file" in place.type(f"penstock verify '{place.at('fotos/*')}'", 1)


def test_refusals_say_why_and_no_secret(place):
    verify = f"penstock verify '{place.at('photos/*')}'"
    nobody = {"HOME": "/nonexistent"}
    if isinstance(place.server, SeaweedFS):  # moto accepts any key
        assert "SignatureDoesNotMatch" in place.type(verify, 1, AWS_SECRET_ACCESS_KEY="wrong-hunter")
        assert "InvalidAccessKeyId" in place.type(verify, 1, AWS_ACCESS_KEY_ID="nobody")
    if place.server.scheme == "s3":
        nobody |= {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true"}
        assert "there are no keys for S3" in place.type(verify, 1, **nobody)
    if place.server.scheme == "gs":
        nobody |= {"STORAGE_EMULATOR_HOST": "", "NO_GCE_CHECK": "true"}
        assert "there are no keys for gs://" in place.type(verify, 1, **nobody)
    if place.server.scheme == "az":
        assert "HTTP 403: AuthorizationFailure" in place.type(verify, 1, AZURE_STORAGE_KEY="d3Jvbmc=")
        assert "AZURE_STORAGE_KEY is not base64" in place.type(verify, 1, AZURE_STORAGE_KEY="hunter2!")
        assert "set AZURE_STORAGE_ACCOUNT" in place.type(verify, 1, AZURE_STORAGE_ACCOUNT="")


def test_roles_are_assumed_by_the_keys_of_a_profile_a_program_or_another_role(place):
    if not isinstance(place.server, Moto):
        return  # only moto also serves STS
    home = place.folder / "home"
    (home / ".aws").mkdir(parents=True)
    (home / ".aws" / "credentials").write_text("[base]\naws_access_key_id = me\naws_secret_access_key = hunter2-of-base\n")
    role = "[profile train]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\n"
    role += "[profile again]\nrole_arn = arn:aws:iam::123456789012:role/again\nsource_profile = train\n"
    role += f"[profile program]\ncredential_process = echo called >> {home}/calls; cat {home}/keys.json\n"
    role += "[profile by-program]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = program\n"
    role += f"[profile broken]\ncredential_process = cat {home}/keys.json; exit 3\n"
    (home / ".aws" / "config").write_text(role)
    printed = {"Version": 1, "AccessKeyId": "me", "SecretAccessKey": "hunter2-of-a-program"}
    (home / "keys.json").write_text(json.dumps(printed))
    keys = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "train", "HOME": str(home)}
    verify = f"penstock verify '{place.at('photos/*')}'"
    for profile in ("train", "again", "program", "by-program"):
        named = {**keys, "AWS_PROFILE": profile}
        assert " 0 broken files" in place.type(verify, AWS_ENDPOINT_URL_STS=place.server.url, **named)
    assert (home / "calls").read_text() == "called\ncalled\n"  # once in each process
    said = place.type(verify, 1, **{**keys, "AWS_PROFILE": "broken"})
    assert 'the credential_process of the profile "broken": it ended with exit code 3' in said
    said = place.type(verify, 1, AWS_ENDPOINT_URL_STS="http://127.0.0.1:1", **keys)
    assert "STS, asked for the role arn:aws:iam::123456789012:role/reader" in said


def test_azure_is_opened_by_a_shared_access_signature_and_by_a_connection_string(place):
    if place.server.scheme != "az":
        return
    server = place.server
    verify = f"penstock verify '{place.at('photos/*')}'"
    signature = generate_account_sas(
        server.account,
        server.key,
        ResourceTypes(container=True, object=True),
        AccountSasPermissions(read=True, list=True),
        expiry=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1),
    )
    assert " 0 broken files" in place.type(verify, AZURE_STORAGE_KEY="", AZURE_STORAGE_SAS_TOKEN=signature)
    text = f"AccountName={server.account};AccountKey={server.key};BlobEndpoint={server.url}/{server.account}"
    assert " 0 broken files" in place.type(verify, AZURE_STORAGE_CONNECTION_STRING=text, AZURE_STORAGE_ACCOUNT="")


def test_what_is_imported_into_a_bucket_is_what_is_imported_onto_a_disk(place):
    rows = arrays(place, 3000)  # 37 MB: shards of five parts
    imported = f"penstock import {rows} --shard-size 20MiB --out"
    place.type(f"{imported} {place.folder}/imported")
    said = place.type(f"{imported} {place.at('imported')}")
    assert f"next: penstock submit {place.at('imported/job.textproto')}" in said
    names = sorted(path.name for path in (place.folder / "imported").iterdir())
    assert sorted(key.split("/")[1] for key in place.server.keys("imported/")) == names
    assert not place.server.pending()
    place.type(f"penstock index '{place.at('imported/*.tfrecord')}' --index-beside")
    assert any(key.endswith(".psidx") for key in place.server.keys("imported/"))
    assert " 0 broken files" in place.type(f"penstock verify '{place.at('imported/*.tfrecord')}'")
    assert read_digest(place, place.at("imported/job.textproto")) == read_digest(place, "imported/job.textproto")
    assert "already" in place.type(f"{imported} {place.at('imported')}")  # again: there is nothing to do
    other = f"penstock import {rows} --shard-size 10MiB --out {place.at('imported')}"
    assert "holds the shards of other arguments" in place.type(other, 1)
    assert "is not empty" in place.type(f"penstock import {rows} --out {place.at('photos')}", 1)


def test_what_is_baked_into_a_bucket_is_what_is_baked_onto_a_disk(place):
    job = write_job(place, f"{place.files[0].parent}/*", "to_bake.textproto")
    place.type(f"penstock bake {job} --out {place.folder}/baked")
    place.type(f"penstock bake {job} --out {place.at('baked')}")
    assert read_digest(place, place.at("baked/job.textproto")) == read_digest(place, "baked/job.textproto")


@pytest.fixture(scope="module")
def pictures(place):
    return class_folders(place, "pictures")


def shards_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.tfrecord")}


def test_images_of_a_bucket_are_imported_as_those_of_a_disk(place, pictures):
    for name, local, far, more in (
        ("classes", pictures, place.at("pictures"), ""),
        ("flat", pictures / "2 kind", place.at("pictures/2 kind/"), "--skip-other"),
    ):
        here, there = place.folder / f"of-disk-{name}", place.folder / f"of-bucket-{name}"
        said = place.type(f"penstock import '{local}' {more} --out {here}")
        assert place.type(f"penstock import '{far}' {more} --out {there}").splitlines()[0].split(",")[0] in said
        assert shards_of(here) == shards_of(there)
    # From bucket to bucket as well, with a list that has labels.
    listed = "".join(f"{path.relative_to(pictures)},{path.parts[-2]}\n" for path in sorted(pictures.glob("* kind/*.png")))
    (place.folder / "list.csv").write_text(listed)
    place.server.put("lists/list.csv", place.folder / "list.csv")
    place.server.put("lists/labels.txt", place.folder / "of-disk-classes" / "labels.txt")
    place.type(f"penstock import --list list.csv --root {pictures} --labels of-disk-classes/labels.txt --out of-list")
    lists = place.at("lists")
    place.type(
        f"penstock import --list {lists}/list.csv --root {place.at('pictures')} --labels {lists}/labels.txt "
        f"--out {place.at('of-list')}"
    )
    assert " 0 broken files" in place.type(f"penstock verify '{place.at('of-list/*.tfrecord')}'")
    place.type(f"penstock import '{place.at('of-list/*.tfrecord')}' --untouched --out of-far-shards")
    assert shards_of(place.folder / "of-list") == shards_of(place.folder / "of-far-shards")


def test_arrays_of_a_bucket_are_imported_as_those_of_a_disk(place):
    numpy.savez_compressed(place.folder / "set.npz", x=numpy.arange(6000).reshape(1000, 6), y=numpy.arange(1000))
    numpy.save(place.folder / "labels.npy", numpy.arange(3000))
    for file in (arrays(place, 3000), place.folder / "labels.npy", place.folder / "set.npz"):
        place.server.put(f"arrays/{file.name}", file)
    for names in ("rows.npy --labels {}/labels.npy", "set.npz"):
        kind = names[:3]
        place.type(f"penstock import {place.folder}/{names.format(place.folder)} --out {kind}-here")
        place.type(f"penstock import {place.at('arrays')}/{names.format(place.at('arrays'))} --out {kind}-there")
        assert shards_of(place.folder / f"{kind}-here") == shards_of(place.folder / f"{kind}-there") != {}


def test_what_is_wrong_with_images_of_a_bucket_is_said(place, pictures):
    nothing = place.at("fotos")
    assert "fotos" in place.type(f"penstock import {nothing} --out none", 1)
    assert "is an image: give the folder" in place.type(f"penstock import '{place.at('pictures/1 kind/01.png')}' --out none", 2)
    (place.folder / "gone.txt").write_text("1 kind/01.png 1\n1 kind/00.png 2\n")
    gone = f"penstock import --list gone.txt --root {place.at('pictures')}"
    said = place.type(f"{gone} --out none", 1)
    assert "1 of 2 files cannot be read" in said
    assert place.at("pictures/1 kind/00.png") in said
    said = place.type(f"{gone} --skip-bad --out skipping")
    assert "1 bad item left out" in said
    assert place.at("pictures/1 kind/00.png") in (place.folder / "skipping" / "skipped.txt").read_text()
    assert "does not list its files" in place.type("penstock import http://127.0.0.1:1/photos/ --out none", 2)
    assert "is inside the source" in place.type(f"penstock import {place.at('pictures')} --out {place.at('pictures/x')}", 2)


def test_what_is_packed_into_a_bucket_is_what_is_packed_onto_a_disk(place):
    rows = numpy.load(arrays(place, 3000)).reshape(3000, -1)
    (place.folder / "frames").write_bytes(b"".join(frames(rows)))
    pack = "penstock pack --shard-size 20MiB --order shuffled --out"
    place.type(f"{pack} packed < frames")
    far = place.at("packed")
    said = json.loads(place.type(f"{pack} {far} < frames").splitlines()[-1])
    assert said["job"] == f"{far}/job.textproto"
    assert said["records"] == 3000
    names = sorted(path.name for path in (place.folder / "packed").iterdir())
    assert sorted(key.split("/")[1] for key in place.server.keys("packed/")) == names
    assert read_digest(place, said["job"]) == read_digest(place, "packed/job.textproto")
    assert "is not empty" in place.type(f"{pack} {far} < frames", 1)
    # An input without an end frame, as from a killed program, writes nothing.
    assert place.type(f"head -c 1000000 frames | {pack} {place.at('cut')}", 1)
    assert not place.server.keys("cut/")


def test_python_writes_shards_into_a_bucket(place):
    write = """
import sys, numpy, penstock
with penstock.ShardWriter(sys.argv[1]) as writer:
    for n in range(100):
        writer.write({"x": numpy.arange(n, n + 8), "label": n})
rows = sum(len(batch["label"]) for batch in penstock.Loader(writer.result.job, data_root=sys.argv[1], batch_size=10))
print(writer.result.records, rows)
"""
    package = HERE.parents[1] / "client" / "python"
    more = {"PYTHONPATH": str(package), "PENSTOCK_PROGRAM": str(BIN / "penstock")}
    (place.folder / "write.py").write_text(write)
    assert place.type(f"{sys.executable} write.py {place.at('of-python')}", **more).startswith("100 100\n")


def test_what_may_not_be_written_is_said_and_leaves_nothing(place):
    rows = arrays(place, 3000)
    nowhere = place.at("x").replace("train", "trian")
    for command in (f"penstock import {rows} --out {nowhere}", f"penstock import {rows} --out http://127.0.0.1:1/x"):
        said = place.type(f"{command} || test $? -ne 0")
        assert "trian" in said or "a web server takes no files" in said
    assert not place.server.keys("x")
