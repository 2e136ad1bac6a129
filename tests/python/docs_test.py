"""Each block of docs/python.md and README.md runs unchanged, except that data/ replaces README.md's /data."""

import importlib.util
import re

import numpy as np
import pytest

from docs_blocks import Page, Place
from fixtures import ROOT
from manifest_test import png
from windows_test import write_megatron

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


def test_the_commands_of_the_page_on_selections_run(place):
    page = Page("select.md")
    first, *others = page.of("sh")
    assert place.run_shell(first).splitlines()[0] == "30 of 100 records in 10 files match (30.0 %)"
    (place.folder / "few.textproto").write_text(*page.of("textproto"))
    place.type(*others)
    assert "14 of 100 records in 10 files match" in place.run_shell("penstock select few.textproto --data-root data")
    (text,) = page.of("python")
    assert len(place.run(text).splitlines()) >= 2


def test_the_blend_of_the_page_is_read(place):
    page = Page("blend.md")
    both, *others, following = page.of("textproto")
    (place.folder / "both.textproto").write_text(both)
    (place.folder / "next.textproto").write_text(following)
    for job in others:
        (name,) = re.findall(r'^name: "(.*)"', job)
        (place.folder / f"{name}.textproto").write_text(job)
    text, continued = page.of("python")
    assert place.run(continued) == "web 56\n"
    rows = place.run(text)
    assert len(rows.splitlines()) == 12
    assert rows.count("'web'") == 168
    assert rows.count("'code'") == 24
    select, notes = page.of("sh")
    assert "20 of 100 records in 10 files match (20.0 %)" in place.run_shell(select)
    place.type(notes)
    assert "one.jsonl" in place.run_shell("penstock preview kinds.textproto --dataset notes")
    both = place.run_shell("penstock preview kinds.textproto --records 16")
    assert both.count("one.jsonl") == 4
    assert both.count("demo-") == 12


def test_the_classes_of_the_page_on_balance_are_read(place):
    page = Page("balance.md")
    (place.folder / "even.textproto").write_text(*page.of("textproto"))
    (program,) = page.of("python")
    counts = [int(count) for count in re.findall(r"\d: (\d+)", place.run(program))]
    assert (len(counts), sum(counts)) == (10, 100)
    assert max(counts) - min(counts) <= 4, "100 rows end inside a run of 64"
    (select,) = page.of("sh")
    assert "10 groups" in place.run_shell(select)


def test_the_page_on_orders_by_a_value_runs(place):
    page = Page("sort.md")
    make, read, read_budget = page.of("python")
    place.run(make)
    for job in page.of("textproto"):
        (name,) = re.findall(r'^name: "(.*)"', job)
        (place.folder / f"{name}.textproto").write_text(job)
    assert place.run(read).strip() == "0.93 of the positions are tokens"
    count, sizes = place.run(read_budget).splitlines()
    assert f"This prints {count}, and then {sizes}." in (ROOT / "docs/sort.md").read_text()
    budget = (place.folder / "budget.textproto").read_text()
    (bounds,) = [block for block in page.of("text") if "bounds" in block]
    (place.folder / "budget.textproto").write_text(re.sub(r"select \{ bucket \{.*?\} \}", bounds.strip(), budget))
    assert "to 256 rows" in place.run(read_budget)
    bucket = (place.folder / "lengths.textproto").read_text()
    plain = re.sub(r" select \{.*(?= }\n)", "", bucket)
    assert plain != bucket
    (place.folder / "lengths.textproto").write_text(plain)
    assert place.run(read).split()[0] == "0.18"
    (place.folder / "lengths.textproto").write_text(bucket)
    parts, weights = [place.run_shell(line) for line in page.of("sh")[0].splitlines()]
    assert "select[0] keeps 10,000 of 10,000 records: bucket by len(tokens)" in parts
    assert re.search(r"\n    \d+ parts of \d+ values\n", parts)
    assert "4 groups" in weights
    print_values = "import penstock\nfor batch in penstock.Loader({!r}, data_root='.'): print(*batch[{!r}])"
    easy = [float(value) for value in place.run(print_values.format("curriculum.textproto", "difficulty")).split()]
    assert len(easy) == 10_000
    assert all(abs(value - (row + 0.5) / 10_000) < 0.04 for row, value in enumerate(easy))
    quality = place.run(print_values.format("quality.textproto", "quality")).split()
    assert len(quality) == 10_000
    assert set(quality) == {"0.5", "1.0", "2.0"}


def test_the_page_on_packs_runs(place):
    page = Page("pack.md")
    make, read, read_padded = page.of("python")
    place.run(make)
    packed, stream, padded = page.of("textproto")
    for job in (packed, padded):
        (name,) = re.findall(r'^name: "(.*)"', job)
        (place.folder / f"{name}.textproto").write_text(job)
    assert place.run(read).splitlines() == ["(32, 512) int32", "0.999 of the positions are tokens"]
    assert place.run(read_padded).strip() == "(32, 256) int32"
    (select,) = page.of("sh")
    (report,) = page.of("text")
    assert place.run_shell(select) == report
    cut = re.sub(r"select \{.*\} \}", lambda _: stream.strip(), packed, count=1)
    cut = cut.replace('features { key: "loss" type: INT64 variable_length: true }\n', "")
    (place.folder / "packed.textproto").write_text(cut)
    print_filled = (
        "import penstock\n"
        "for batch in penstock.Loader('packed.textproto', data_root='.'): print((batch['tokens_segment_ids'] > 0).mean())"
    )
    assert [float(part) for part in place.run(print_filled).split()].count(1.0) >= 20


def test_the_page_on_batch_sizes_runs(place):
    page = Page("batch-sizes.md")
    make, read = page.of("python")
    place.run(make)
    (job,) = page.of("textproto")
    (place.folder / "growing.textproto").write_text(job)
    expected = [line[2:] for line in read.splitlines() if line.startswith("# ")]
    assert place.run(read).splitlines() == expected


def test_the_page_on_windows_runs(place):
    page = Page("windows.md")
    make, read, read_documents, make_series, make_table, read_table = page.of("python")
    place.run(make)
    init, select = page.of("sh")
    place.type(init)
    tokens, documents, corpus, series, load = page.of("textproto")
    written = (place.folder / "tokens.textproto").read_text()
    assert 'files: "tokens/*.bin"' in written
    assert "window { size: 257 stride: 256 }" in written
    assert 'features { key: "row" type: BYTES decode_raw: UINT16 shape: [257] }' in written
    assert place.run(read).strip() == "(256, 256) uint16"
    (place.folder / "tokens.textproto").write_text(tokens)
    assert place.run(read).strip() == "(256, 256) uint16"
    (place.folder / "documents.textproto").write_text(documents)
    assert place.run(read_documents).strip() == "(256, 257) True"
    write_megatron(place.folder / "tokens" / "corpus_text_document", [np.arange(n, dtype="uint16") for n in (300, 0, 70_000)])
    (place.folder / "corpus.textproto").write_text(corpus)
    shapes = "import penstock\nfor batch in penstock.Loader('corpus.textproto', data_root='.'): print(batch['row'].shape)"
    assert place.run(shapes).split() == ["(256,", "257)"]
    place.run(make_series)
    (place.folder / "series.textproto").write_text(series)
    shapes = "import penstock\nfor batch in penstock.Loader('series.textproto', data_root='.'): print(batch['series'].shape)"
    assert place.run(shapes).splitlines() == ["(64, 24, 3)"] * 77
    place.run(make_table)
    (place.folder / "load.textproto").write_text(load)
    assert place.run(read_table).strip() == "(64, 24) (64, 6) 1"
    (report,) = page.of("text")
    assert place.run_shell(select) == report


def test_the_page_on_text_formats_runs(place):
    page = Page("text-formats.md")
    prepare, select, prepare_text, prepare_table = page.of("sh")
    lines, words, people = page.of("textproto")
    (program,) = page.of("python")
    made = ((prepare, "lines", lines), (prepare_text, "words", words), (prepare_table, "people", people))
    for commands, name, job in made:
        place.type(commands)
        path = place.folder / f"{name}.textproto"
        for key in re.findall(r'key: "[^"]*"', job):
            assert key in path.read_text()
    assert "a cat" in place.run(program)
    (place.folder / "lines.textproto").write_text(lines)
    assert "a cat" in place.run(program)
    (place.folder / "lines.textproto").write_text(words)
    print_lines = 'print([batch["line"] for batch in penstock.Loader("lines.textproto", data_root=".")])'
    assert "ein Hund" in place.run(f"import penstock\n{print_lines}")
    assert "1 of 2 records in 1 file match" in place.run_shell(select)
    (place.folder / "lines.textproto").write_text(people)
    print_names = 'print([batch["name"] for batch in penstock.Loader("lines.textproto", data_root=".")])'
    assert "Ada\\nLovelace" in place.run(f"import penstock\n{print_names}")


def test_the_page_on_arrays_runs(place):
    page = Page("arrays.md")
    read_memory, with_job, save, read, save_fields = page.of("python")
    prepare, prepare_fields = page.of("sh")
    array, digits = page.of("textproto")
    count = "print(sum(int(batch.valid.sum()) for batch in loader), int((y >= 5).sum()))"
    printed = place.run("\n".join([read_memory, with_job, count, save, save_fields])).splitlines()
    assert len(printed) == 11
    assert len(set(printed[-1].split())) == 1
    for commands, name, job in ((prepare, "x", array), (prepare_fields, "digits", digits)):
        place.type(commands)
        made = (place.folder / f"{name}.textproto").read_text()
        for feature in re.findall(r"^features .*", job, re.M):
            assert feature in made
        assert "(64, 3, 4) float32" in place.run(read)
    (place.folder / "x.textproto").write_text(digits)
    batch = 'batch = next(iter(penstock.Loader("x.textproto", data_root=".")))'
    shown = place.run(f'import penstock\n{batch}\nprint(batch["image"].shape, batch["label"].min())')
    assert "(64, 28, 28) 5" in shown


def test_the_page_on_manifests_runs(place):
    page = Page("manifests.md")
    for number in range(24):
        image = place.folder / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(png(number))
    (init,) = page.of("sh")
    place.type(init)
    (read,) = page.of("python")
    assert place.run(read).splitlines()[-1].startswith("(8, 224, 224, 3) [")
    (table,) = page.of("csv")
    (job,) = page.of("textproto")
    (place.folder / "captions.csv").write_text(table)
    (place.folder / "captions.textproto").write_text(job)
    shown = place.run(
        'import penstock\nfor b in penstock.Loader("captions.textproto", data_root="."):\n'
        '    print(b["image"].shape, sorted(zip(b["label"].tolist(), b["caption"])))')
    assert shown.strip() == "(2, 64, 64, 3) [(0, b'a cat, asleep'), (1, b'a dog')]"


def test_units_that_pages_name_are_those_that_are_installed():
    units = {path.stem for path in (ROOT / "deploy" / "systemd").glob("*.service")}
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "deploy" / "README.md"]
    for page in pages:
        for unit in re.findall(r"systemctl [a-z-]+(?: --now)? (penstockd?-[a-z-]+)", page.read_text()):
            assert unit in units, f"{page}: there is no unit {unit}"


def test_the_page_has_blocks():
    assert len(PYTHON) >= 4
    assert PAGE.of("sh")
