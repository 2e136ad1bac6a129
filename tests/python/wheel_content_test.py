"""The files that build_wheel.py adds to the wheel besides the programs. wheel_test.sh checks the installed wheel."""

import sys
from email.parser import Parser

import pytest

from fixtures import ROOT


@pytest.fixture(scope="module")
def build_wheel():
    sys.path.insert(0, str(ROOT / "client/python/wheel"))
    import build_wheel

    return build_wheel


def test_the_examples_and_the_protos_are_in_the_wheel(build_wheel):
    names = set(build_wheel.documents())
    for folder, kind in (("examples", "*"), ("proto", "*.proto")):
        there = {f"penstock/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob(kind) if path.is_file()}
        assert there <= names | {name for name in there if "__pycache__" in name}
    assert "penstock/examples/python/pytorch.py" in names
    assert "penstock/proto/penstock/v1/job.proto" in names
    assert not [name for name in names if "__pycache__" in name or name == "penstock/proto/CMakeLists.txt"]


def test_the_metadata_has_a_project_url(build_wheel):
    headers = Parser().parsestr(build_wheel.metadata("1.2.3"))
    label, url = headers["Project-URL"].split(", ")
    assert label == "Homepage"
    assert url.startswith("https://")
    assert headers["Version"] == "1.2.3"
    assert "Data preparation for training" in headers.get_payload()
