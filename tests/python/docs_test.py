"""Each block of docs/python.md runs as it stands."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from fixtures import BIN, ROOT

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
PYTHON = [text for language, text in BLOCKS if language == "python"]


@pytest.fixture(scope="module")
def folder(small_files, tmp_path_factory):
    """Where the page's commands were typed: with shards in data/."""
    place = tmp_path_factory.mktemp("page")
    (place / "data").symlink_to(small_files.data)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(place / "cache")}
    for language, text in BLOCKS:
        if language == "sh":
            subprocess.run(["bash", "-ec", text], cwd=place, env=environment, check=True, timeout=120)
    return place, environment


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs(number, folder):
    text = PYTHON[number]
    if "torch" in text and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch: ./run test-frameworks")
    place, environment = folder
    done = subprocess.run([sys.executable, "-c", text], cwd=place, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    if "print(steps)" in text:
        assert done.stdout.splitlines()[-1] == "[2, 3, 4, 5]"


def test_the_page_has_blocks():
    assert len(PYTHON) >= 4
    assert any(language == "sh" for language, _ in BLOCKS)
