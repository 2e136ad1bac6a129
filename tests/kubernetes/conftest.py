"""The cluster, the data set with the digest of an undisturbed run, and the release that most tests use."""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from containers import run
from demo import digest_outside

from cluster import PROGRAMS, Cluster
from release import EPOCHS, Release

JOB = """
name: "demo"
dataset { files: "*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 32 width: 32 } }
order { seed: 17 }
batch { size: 20 last: DROP }
"""


class Data(NamedTuple):
    folder: Path  # with data/
    job: str
    digest: str  # of EPOCHS epochs


@pytest.fixture(scope="session")
def place(request):
    """A folder that all users reach. It stays after a failure, for its logs."""
    # pytest's own folders are for its user alone.
    folder = Path(tempfile.mkdtemp(prefix="penstock-test-kubernetes-"))
    folder.chmod(0o755)
    yield folder
    if request.session.testsfailed == 0:
        shutil.rmtree(folder)
    else:
        print(f"the logs are in {folder}")


@pytest.fixture(scope="session")
def data(place):
    folder = place / "outside"
    folder.mkdir()
    run(PROGRAMS / "make_demo_dataset", folder / "data", 600, 4)
    (folder / "job.textproto").write_text(JOB)
    assert EPOCHS == 2  # as digest_outside reads
    return Data(folder, JOB, digest_outside(PROGRAMS, folder))


@pytest.fixture(scope="session")
def cluster(place):
    made = Cluster(place / "cluster")
    (place / "cluster").mkdir()
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def release(cluster, data, place):
    """The installed release `penstock` in the namespace `data`, with the job `demo`."""
    folder = place / "callers"
    folder.mkdir()
    made = Release(cluster, "data", folder, data)
    made.prepare()
    made.helm("install")
    made.submit()
    return made
