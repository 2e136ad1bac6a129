"""Each block of docs/python-jax.md runs unchanged."""

import pytest

pytest.importorskip("jax")
from docs_blocks import Page, Place

PAGE = Page("python-jax.md")
PYTHON = PAGE.of("python")


@pytest.fixture(scope="module")
def place(small_files, tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("page"), small_files.data)
    del place.environment["XLA_FLAGS"]
    place.type(*PAGE.of("sh"))
    return place


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs(number, place):
    assert place.run(PYTHON[number])


def test_the_page_has_blocks():
    assert len(PYTHON) >= 2
