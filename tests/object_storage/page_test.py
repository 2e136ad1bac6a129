"""docs/object-storage.md on each storage, as a new user types it: its commands unchanged, with our bucket in place of its."""

import re
import sys

import pytest

from commands import class_folders
from conftest import BIN, HERE

PAGE = (HERE.parents[1] / "docs" / "object-storage.md").read_text()
KEYS = (HERE.parents[1] / "docs" / "object-storage-keys.md").read_text()


def lines_from(begin):
    """Returns the commands of the block that begins with `begin`, without their comments."""
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", PAGE, re.MULTILINE)
    (block,) = [block for block in blocks if block.lstrip("\n").startswith(f"    {begin}")]
    return [re.sub(r"\s+# .*", "", line).strip() for line in block.splitlines() if line.strip()]


def ours(place, text):
    text = re.sub(r"(?:s3://my-bucket|gs://my-bucket|az://my-container)", place.at("").rstrip("/"), text)
    # Every server already has photos/.
    return text.replace("/data/photos", "images").replace(place.at("photos"), place.at("new-photos"))


@pytest.fixture(scope="module")
def bucket(place):
    """A place with the files that the page assumes."""
    for file in place.files:
        place.server.put(f"imagenet/{file.name.replace('demo', 'train')}", file)
    class_folders(place, "images")
    return place


def test_every_setting_that_opens_the_storages_is_on_a_page(place):
    for name in place.server.environment:
        assert name in PAGE or name in KEYS


def test_from_keys_to_a_trained_epoch_and_back_into_the_bucket(bucket):
    export, *before, serve, submit, read = [ours(bucket, line) for line in lines_from("export AWS_ACCESS_KEY_ID")]
    assert export.startswith("export ")  # the environment has our keys
    assert serve.startswith("penstockd standalone --data-root ")
    said = [bucket.type(line) for line in before]
    assert "wrote train.textproto" in said[0]
    assert " 0 broken files" in said[1]
    assert "rows/s" in said[2]
    with bucket.daemon(*serve.split()[3:]) as daemon:
        assert "200 rows" in daemon.type(submit)
        assert "digest" in daemon.type(read)
        (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        served = ours(bucket, python).replace("localhost:7070", daemon.address)
        (bucket.folder / "page.py").write_text(served + "print(images.shape, labels.shape)\n")
        package = HERE.parents[1] / "client" / "python"
        more = {"PYTHONPATH": str(package), "PENSTOCK_PROGRAM": str(BIN / "penstock")}
        assert "224, 224, 3)" in daemon.type(f"{sys.executable} page.py", **more)
        written = [daemon.type(ours(bucket, line)) for line in lines_from("penstock import /data/photos")]
    assert len(written) == 5
    keys = bucket.server.keys("")
    for folder in ("new-photos", "more-photos", "baked"):
        assert f"{folder}/data-00000.tfrecord" in keys
    assert "new-photos/data-00000.tfrecord.psidx" in keys
