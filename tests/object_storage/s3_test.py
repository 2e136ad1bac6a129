"""S3 as its user meets it, on storages that others made: commands, a daemon, Python; and what kills in the middle change."""

import json
import subprocess
import sys
import threading
import time

import pytest

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
    glob = f"s3://train/photos/{place.files[0].name[:4]}*"
    assert "wrote train.textproto" in place.type(f"penstock init '{glob}' --out train.textproto")
    assert " 0 broken files" in place.type(f"penstock verify '{glob}'")
    assert "rows/s" in place.type("penstock bench train.textproto --seconds 1 --no-stages")
    assert place.type(f"penstock index '{glob}'")


def test_a_daemon_gives_the_rows_of_local_files(place, expected):
    for root, files in (("data=s3://train/photos", "*"), ("data=s3://train", "s3://train/photos/*")):
        job = write_job(place, files, "remote.textproto")
        with place.daemon(root) as daemon:
            assert digest_of(daemon.type(f"penstock read {job} --epochs {EPOCHS} --json")) == expected


def test_python_gives_the_rows_of_local_files_in_process_and_served(place):
    job = write_job(place, "s3://train/photos/*", "python.textproto")
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

    with place.daemon("data=s3://train") as daemon:
        daemon.type(f"penstock submit {job}")
        assert run(job) == run(local) == run("photos", daemon.address)


def test_a_storage_that_is_killed_and_comes_back_changes_no_byte(place, expected):
    if not isinstance(place.server, SeaweedFS):
        return  # moto forgets its buckets when it ends
    job = write_job(place, "*", "remote.textproto")
    with place.daemon("data=s3://train/photos", "--record-cache", "0") as daemon:
        out = []
        read = f"penstock read {job} --epochs {EPOCHS} --pace 200 --prefetch-steps 2 --json"
        reader = threading.Thread(target=lambda: out.append(daemon.type(read)))
        reader.start()
        time.sleep(1.5)
        place.server.kill()
        time.sleep(4)
        try:
            assert "s3://train/photos/" in daemon.type("penstock status")
        finally:
            place.server.start()
        reader.join(120)
        assert digest_of(out[0]) == expected


def test_refusals_say_why_and_no_secret(place):
    verify = "penstock verify 's3://train/photos/*'"
    if isinstance(place.server, SeaweedFS):  # moto takes any key
        assert "SignatureDoesNotMatch" in place.type(verify, 1, AWS_SECRET_ACCESS_KEY="wrong-hunter")
        assert "InvalidAccessKeyId" in place.type(verify, 1, AWS_ACCESS_KEY_ID="nobody")
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent"}
    assert "nobody has keys for S3" in place.type(verify, 1, **nobody)
    assert "there is no bucket s3://trian" in place.type("penstock verify 's3://trian/photos/*'", 1)
    assert "matches no file" in place.type("penstock verify 's3://train/fotos/*'", 1)
