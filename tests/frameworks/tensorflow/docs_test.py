"""Each block of docs/python-tensorflow.md, and each Python block of docs/coming-from/tf-data.md, runs as it stands."""

import os
import re
import subprocess
import sys

import pytest

from fixtures import BIN, ROOT

PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("python-tensorflow.md", "coming-from/tf-data.md")}


def blocks(page, language):
    return [text for kind, text in re.findall(r"^```(\w+)\n(.*?)^```$", PAGES[page], re.M | re.S) if kind == language]


PYTHON = [(page, number) for page in PAGES for number in range(len(blocks(page, "python")))]


@pytest.fixture(scope="module")
def folder(small_files, tmp_path_factory):
    """Where the pages' commands were typed: with shards in data/."""
    place = tmp_path_factory.mktemp("page")
    (place / "data").symlink_to(small_files.data)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(place / "cache")}
    for text in blocks("python-tensorflow.md", "sh"):
        subprocess.run(["bash", "-ec", text], cwd=place, env=environment, check=True, timeout=120)
    return place, environment


@pytest.mark.parametrize(("page", "number"), PYTHON)
def test_a_block_runs(page, number, folder):
    place, environment = folder
    text = blocks(page, "python")[number]
    done = subprocess.run([sys.executable, "-c", text], cwd=place, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    if "steps are left" in text:
        assert done.stdout.splitlines()[-1] == "3 steps are left of epoch 0"


def test_job_blocks_are_jobs(folder, tmp_path):
    place, environment = folder
    texts = blocks("coming-from/tf-data.md", "textproto")
    assert texts
    for text in texts:
        (tmp_path / "job.textproto").write_text(text)
        subprocess.run(
            ["penstock", "check-config", tmp_path / "job.textproto"], cwd=place, env=environment, check=True, timeout=60
        )


def test_the_pages_have_blocks():
    assert len(blocks("python-tensorflow.md", "python")) >= 6
    assert len(blocks("coming-from/tf-data.md", "python")) >= 2
