"""Each block of docs/python.md runs as it stands, and README.md's, with data/ for its /data."""

import importlib.util

import pytest

from docs_blocks import Page, Place

PAGE = Page("python.md")
PYTHON = PAGE.of("python")


@pytest.fixture(scope="module")
def place(small_files, tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("page"), small_files.data)
    place.type(*PAGE.of("sh"))
    return place


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs(number, place):
    text = PYTHON[number]
    for framework in ("torch", "keras", "jax"):
        if framework in text and importlib.util.find_spec(framework) is None:
            pytest.skip(f"needs {framework}: ./run test-frameworks")
    out = place.run(text)
    if "print(steps)" in text:
        assert out.splitlines()[-1] == "[2, 3, 4, 5]"


def test_the_front_page_runs(place):
    (block,) = Page("../README.md").of("python")
    place.type("penstock init data --name train --out train.textproto")
    assert "224, 224, 3" in place.run(block.replace('"/data"', '"data"'))


def test_the_page_has_blocks():
    assert len(PYTHON) >= 4
    assert PAGE.of("sh")
