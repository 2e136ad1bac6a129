"""Object storage as its user meets it, on servers that others made: commands, a daemon, Python; and what kills in the middle change."""

import datetime
import json
import subprocess
import sys
import threading
import time

import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

from conftest import BIN, HERE, SeaweedFS

JOB = """name: "photos"
dataset { files: "FILES" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 64 width: 64 } }
order { seed: 17 }
batch { size: 16 last: PAD }
"""
EPOCHS = 2


def write_job(place, files, name):
    (place.folder / name).write_text(JOB.replace("FILES", files))
    return name


def digest_of(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))["digest"]


@pytest.fixture(scope="module")
def expected(place):
    """The digest of the same shards as local files."""
    job = write_job(place, "*", "local.textproto")
    with place.daemon(f"data={place.files[0].parent}") as daemon:
        return digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json"))


def test_the_commands_of_the_page(place):
    glob = place.at(f"photos/{place.files[0].name[:4]}*")
    assert "wrote train.textproto" in place.type(f"penstock init '{glob}' --out train.textproto")
    assert " 0 broken files" in place.type(f"penstock verify '{glob}'")
    assert "rows/s" in place.type("penstock bench train.textproto --seconds 1 --no-stages")
    assert place.type(f"penstock index '{glob}'")


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
        out = []
        read = f"penstock read {job} --epochs {EPOCHS} --pace 200 --prefetch-steps 2 --json"
        reader = threading.Thread(target=lambda: out.append(daemon.type(read)))
        reader.start()
        time.sleep(1.5)
        place.server.kill()
        time.sleep(4)
        try:
            assert place.at("photos/") in daemon.type("penstock status")
        finally:
            place.server.start()
        reader.join(120)
        assert digest_of(out[0]) == expected


def test_what_is_not_there_is_named(place):
    missing = place.at("photos/*").replace("train", "trian")
    said = {
        "s3": "there is no bucket s3://trian",
        "gs": "gs://trian/photos: HTTP 404: Not Found",  # Google says that there is no bucket, fake-gcs-server does not
        "az": "there is no container az://trian",
    }
    assert said[place.server.scheme] in place.type(f"penstock verify '{missing}'", 1)
    assert "matches no file" in place.type(f"penstock verify '{place.at('fotos/*')}'", 1)


def test_refusals_say_why_and_no_secret(place):
    verify = f"penstock verify '{place.at('photos/*')}'"
    nobody = {"HOME": "/nonexistent"}
    if isinstance(place.server, SeaweedFS):  # moto takes any key
        assert "SignatureDoesNotMatch" in place.type(verify, 1, AWS_SECRET_ACCESS_KEY="wrong-hunter")
        assert "InvalidAccessKeyId" in place.type(verify, 1, AWS_ACCESS_KEY_ID="nobody")
    if place.server.scheme == "s3":
        nobody |= {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true"}
        assert "nobody has keys for S3" in place.type(verify, 1, **nobody)
    if place.server.scheme == "gs":
        nobody |= {"STORAGE_EMULATOR_HOST": "", "NO_GCE_CHECK": "true"}
        assert "nobody has keys for gs://" in place.type(verify, 1, **nobody)
    if place.server.scheme == "az":
        assert "HTTP 403: AuthorizationFailure" in place.type(verify, 1, AZURE_STORAGE_KEY="d3Jvbmc=")
        assert "AZURE_STORAGE_KEY is no base64" in place.type(verify, 1, AZURE_STORAGE_KEY="hunter2!")
        assert "set AZURE_STORAGE_ACCOUNT" in place.type(verify, 1, AZURE_STORAGE_ACCOUNT="")


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
