"""Each block of docs/python-tensorflow.md and docs/coming-from/tf-data.md runs unchanged."""

import pytest

pytest.importorskip("tensorflow")
from docs_blocks import Page, Place

OWN, COMING = Page("python-tensorflow.md"), Page("coming-from/tf-data.md")
FIRST = [text for text in Page("python.md").of("python") if "penstock.tf" in text]
PYTHON = [*FIRST, *OWN.of("python"), *COMING.of("python")]


@pytest.fixture(scope="module")
def place(small_files, tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("page"), small_files.data)
    place.type(*OWN.of("sh"))
    return place


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs(number, place):
    printed = place.run(PYTHON[number])
    if "steps are left" in PYTHON[number]:
        assert printed.splitlines()[-1] == "3 steps are left of epoch 0"


def test_a_job_block_is_a_job(place):
    (text,) = COMING.of("textproto")
    (place.folder / "coming.textproto").write_text(text)
    place.type("penstock check-config coming.textproto")


def test_the_pages_have_blocks():
    assert len(FIRST) == 1
    assert len(OWN.of("python")) >= 6
    assert len(COMING.of("python")) >= 2
