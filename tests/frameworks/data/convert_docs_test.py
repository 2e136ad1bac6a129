"""The blocks of docs/convert.md and docs/tokenize.md run, as their reader types them."""

import gzip
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docs_blocks import Page, Place
from fixtures import BIN, ROOT

PAGE, TOKENS = Page("convert.md"), Page("tokenize.md")


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


def test_the_page_of_tokens_runs(place, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(["a text"], trainer)
    made.save(str(tmp_path / "tokenizer.json"))
    texts = [f"a text with the number {i} " * (i % 9) for i in range(1000)]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "texts.parquet")
    (tmp_path / "texts").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (tmp_path / "texts" / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (commands, of_lines), (job,), (reading,) = TOKENS.of("sh"), TOKENS.of("textproto"), TOKENS.of("python")
    assert "1,000 records in 1 shards" in place.run_shell(commands.replace("pip install", "echo pip install"))
    (tmp_path / "packed.textproto").write_text(job)
    read = place.run(reading).splitlines()
    assert len(read) > 5
    assert all(line.startswith("(8, 512) int32 ") for line in read)
    assert "1,000 records in 1 shards" in place.run_shell(of_lines)
