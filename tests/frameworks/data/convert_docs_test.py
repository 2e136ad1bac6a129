"""The blocks of docs/convert.md run, as their reader types them."""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docs_blocks import Page, Place
from fixtures import BIN, ROOT

PAGE = Page("convert.md")


@pytest.fixture
def place(small_files, tmp_path):
    """A folder with a table, and the commands of the wheel in PATH."""
    place = Place(tmp_path, small_files.data)
    sys.path.insert(0, str(ROOT / "client/python/wheel"))
    import build_wheel

    (tmp_path / "bin").mkdir()
    script = build_wheel.COMMAND.format(name="penstock").replace("#!python", f"#!{sys.executable}", 1)
    wheels = 'os.path.join(spec.submodule_search_locations[0], "_programs", "bin", "penstock")'
    assert wheels in script
    script = script.replace(wheels, repr(str(BIN / "penstock")))
    (tmp_path / "bin" / "penstock").write_text(script)
    (tmp_path / "bin" / "penstock").chmod(0o755)
    place.environment["PATH"] = f"{tmp_path / 'bin'}:{place.environment['PATH']}"
    place.environment["PENSTOCK_PROGRAM"] = str(BIN / "penstock")
    embedding = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(400, dtype="float32")), 4)
    table = {"label": pa.array(range(100), pa.int16()), "embedding": embedding, "text": [f"text {i}" for i in range(100)]}
    pq.write_table(pa.table(table), tmp_path / "table.parquet")
    return place


def test_the_commands_of_the_page_run(place):
    (block,) = PAGE.of("sh")
    out = place.run_shell(block.replace("pip install", "echo pip install"))
    assert [line.split() for line in out.splitlines() if line.startswith("label ")] == 2 * [
        ["label", "int16", "INT64,", "cast", "to", "INT16", "[]"]
    ]
    assert "100 rows; --dry-run: nothing was written" in out
    assert "100 records in 1 shards" in out


def test_the_python_of_the_page_runs(place):
    tables, datasets = PAGE.of("python")
    lines = place.run(tables).splitlines()
    assert len(lines) == 25
    assert all("(4, 4)" in line for line in lines)
    assert place.run(datasets) == "(4, 8, 2)\n"
