"""docs/coming-from/: every name of ours in its tables exists, and its blocks run."""

import inspect
import io
import re
import tarfile

import pytest

import penstock
from docs_blocks import Page, Place
from fixtures import ROOT
from penstock._schema import SCHEMA

PAGES = sorted(path.name for path in (ROOT / "docs" / "coming-from").glob("*.md"))
#: Arguments of framework loaders that penstock.Loader does not have. tests/frameworks tests those loaders.
OF_FRAMEWORKS = {"columns", "device", "normalize", "pin_memory", "ahead", "sharding"}


def check_block(message, text):
    """Checks the fields in `text`, the part between a message's braces."""
    fields = SCHEMA.messages[message]
    at = 0
    while text[at:].strip():
        match = re.compile(r"\s*(\w+)\s*(?:(\{)|:\s*(\"[^\"]*\"|[\w.+-]+))").match(text, at)
        assert match, (message, text[at:])
        name, opens, value = match.groups()
        assert name in fields, f"{message} has no field {name}"
        field = fields[name]
        at = match.end()
        if opens:
            end = closing(text, at)
            check_block(field.of, text[at:end])
            at = end + 1
        elif field.of in SCHEMA.enums:
            assert value in SCHEMA.enums[field.of], (name, value)


def closing(text, at):
    depth = 1
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return end
    raise AssertionError(text)


def message_of(name):
    if name in SCHEMA.ops():
        return SCHEMA.ops()[name].of
    for message in (SCHEMA.root, "Annotations"):
        if name in SCHEMA.messages[message]:
            return SCHEMA.messages[message][name].of
    raise AssertionError(f"neither an op nor a field of a job: {name}")


@pytest.mark.parametrize("page", PAGES)
def test_names_are_those_of_jobs_and_loaders(page):
    text = (ROOT / "docs" / "coming-from" / page).read_text()
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    blocks = [re.fullmatch(r"(\w+) \{(.*)\}", span) for span in spans]
    for match in filter(None, blocks):
        check_block(message_of(match[1]), match[2])
    known = set(inspect.signature(penstock.Loader.__init__).parameters) | OF_FRAMEWORKS
    for span in spans:
        if "Loader(" in span and "DataLoader(" not in span and "WebLoader(" not in span:
            assert set(re.findall(r"(\w+)=", span)) <= known, span
    if page != "README.md":
        assert len(list(filter(None, blocks))) > 5


def test_a_wrong_name_is_found():
    with pytest.raises(AssertionError, match="RandomCrop has no field heigth"):
        check_block(message_of("random_crop"), " heigth: 3 ")


@pytest.fixture
def place(small_files, tmp_path):
    return Place(tmp_path, small_files.data)


def test_tar_shards_are_read(place, small_job):
    (place.folder / "wds").mkdir()
    job = penstock.Job(files="*", features={"image/encoded": "BYTES", "image/class/label": "INT64"}, batch=12)
    rows = next(iter(penstock.Loader(job, data_root=small_job.data)))
    with tarfile.open(place.folder / "wds" / "train-000000.tar", "w") as tar:
        for number, (image, label) in enumerate(zip(rows["image/encoded"], rows["image/class/label"])):
            for kind, data in (("jpg", image), ("cls", str(label).encode())):
                member = tarfile.TarInfo(f"sample{number:03}.{kind}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    page = Page("coming-from/webdataset.md")
    (place.folder / "train.textproto").write_text(page.of("textproto")[0])
    (text,) = page.of("python")
    lines = place.run(text).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("(4, 224, 224, 3) [") for line in lines)


def test_samples_become_shards(place):
    (text,) = Page("coming-from/mosaic-streaming.md").of("python")
    assert len(place.run(text).splitlines()) == 5
