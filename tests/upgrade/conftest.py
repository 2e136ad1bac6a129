"""The data set, its job, and the digests of an undisturbed run."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from cluster import EPOCHS, NEW, OLD, Cluster

JOB = """
name: "train"
dataset { files: "demo-*" }
features { key: "image/encoded" column: "image" type: BYTES }
features { key: "image/class/label" column: "label" type: INT64 }
ops { decode_image { channels: RGB } }
ops { random_resized_crop { height: 96 width: 96 } }
ops { random_horizontal_flip { probability: 0.5 } }
order { seed: 17 }
batch { size: 8 last: DROP }
"""


class Recipe(NamedTuple):
    data: Path
    job: Path
    digest: str  # of `penstock read`
    wheel_digest: str  # of wheel_reader.py


@pytest.fixture(scope="session")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    data, job = folder / "data", folder / "train.textproto"
    subprocess.run([NEW.bin / "make_demo_dataset", data, "1600", "10"], check=True, stdout=subprocess.DEVNULL)
    job.write_text(JOB)
    digests = []
    for release in (OLD, NEW):
        with Cluster(folder / release.side, data, release, [release]) as cluster:
            cluster.command(release, "submit", job)
            read, wheel = cluster.reader(release, "train").result(), cluster.wheel(release, "train").result()
            assert read["rows"] == wheel["rows"] == EPOCHS * 1600
            digests.append((read["digest"], wheel["digest"]))
    assert digests[0] == digests[1], "the releases make different rows of one job"
    return Recipe(data, job, *digests[0])
