"""Each block of docs/python-pytorch.md and the PyTorch example of docs/python.md run unchanged, and their losses fall."""

import re

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
        out = place.run(text, *TORCHRUN)  # two processes print, so a line may lack its end
        assert "rank 0 of 2: 10 rows of 20" in out
        assert "rank 1 of 2: 10 rows of 20" in out
        return
    out = place.run(text)
    if "waited_share" in text:
        check_losses(re.findall(r"^\d (\S+)", out, re.M))
    if "bit for bit" in text:
        assert out == "True\n"
    if '"rows")' in text:
        assert out == "100 rows\n"


def check_losses(losses):
    """Checks losses of 10 classes. A learning rate that is too large takes them far beyond 2.3, the loss of guessing."""
    assert len(losses) == 2
    assert all(0 < float(loss) < 4 for loss in losses), losses


def test_the_first_example_learns(place):
    (text,) = [text for text in Page("python.md").of("python") if "import torch" in text]
    check_losses(re.findall(r"^epoch \d: loss (\S+)$", place.run(text), re.M))


def test_the_page_has_blocks():
    assert len(PYTHON) >= 6
