"""The script of docs/coming-from/pytorch.md, before and after its change."""

import pytest

torchvision = pytest.importorskip("torchvision")
from docs_blocks import Page, Place  # noqa: E402
from PIL import Image  # noqa: E402

PAGE = Page("coming-from/pytorch.md")
(DIFF,) = PAGE.of("diff")


@pytest.fixture
def place(small_files, tmp_path):
    """A folder with 100 pictures for each of 10 classes."""
    place = Place(tmp_path, small_files.data)
    (tmp_path / "data").unlink()
    for number in range(10):
        folder = tmp_path / "images" / f"class{number}"
        folder.mkdir(parents=True)
        for picture in range(10):
            Image.new("RGB", (256, 240), (25 * number, 20 * picture, 99)).save(folder / f"{picture}.jpg")
    return place


def version(sign):
    return "".join(line[1:] + "\n" for line in DIFF.splitlines() if line[0] in (" ", sign))


def test_a_script_is_turned_by_six_lines_at_most(place):
    assert max(sum(line[0] == sign for line in DIFF.splitlines()) for sign in "+-") <= 6
    before = place.run(version("-"))
    place.type(*PAGE.of("sh"))
    after = place.run(version("+"))
    for out in (before, after):
        assert [line.split(",")[1] for line in out.splitlines()] == [" 5 steps", " 5 steps"]
        losses = [float(line.split()[3].rstrip(",")) for line in out.splitlines()]
        assert all(0 < loss < 4 for loss in losses), losses
