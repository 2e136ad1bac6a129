"""Each block of docs/python-pytorch.md runs as it stands."""

import pytest

pytest.importorskip("torch")
from docs_blocks import Page, Place

PAGE = Page("python-pytorch.md")
PYTHON = PAGE.of("python")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.fixture(scope="module")
def place(small_files, tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("page"), small_files.data)
    place.type(*PAGE.of("sh"))
    return place


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs(number, place):
    text = PYTHON[number]
    if "init_process_group" in text:
        out = place.run(text, *TORCHRUN)  # two processes print: a line may come without its end
        assert "rank 0 of 2: 10 rows of 20" in out
        assert "rank 1 of 2: 10 rows of 20" in out
        return
    out = place.run(text)
    if "bit for bit" in text:
        assert out == "True\n"
    if '"rows")' in text:
        assert out == "100 rows\n"


def test_the_page_has_blocks():
    assert len(PYTHON) >= 6
