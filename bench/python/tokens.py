#!/usr/bin/env python3
"""Compares `penstock convert --tokenize` with two processes of the tokenizer's library, which read the same Parquet file.

    tokens.py [--texts N] [--rounds N] [--program FILE]

The texts are words of random letters. The library's processes read row groups by pyarrow in turn, call encode_batch_fast with
2 MB of texts, and drop the tokens. The sides take turns in one run. Prints the best and the median of the rounds. Needs
pyarrow and tokenizers.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 2
TEXTS_AT_ONCE = 1000  # of about 2 kB


def make_texts(folder, count):
    """Writes a tokenizer with 4,000 tokens and a table of texts."""
    dice = random.Random(1)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(1, 9))) for _ in range(20_000)]
    texts = [" ".join(dice.choices(words, k=dice.randint(50, 700))) for _ in range(count)]
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    made.train_from_iterator(texts[:500], tokenizers.trainers.BpeTrainer(vocab_size=4000, show_progress=False))
    made.save(str(folder / "tokenizer.json"))
    pq.write_table(pa.table({"text": texts}), folder / "texts.parquet", row_group_size=2000)


def tokenize(folder, number):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    file = pq.ParquetFile(folder / "texts.parquet")
    for group in range(number, file.num_row_groups, PROCESSES):
        texts = file.read_row_group(group).column("text").to_pylist()
        for begin in range(0, len(texts), TEXTS_AT_ONCE):
            for encoding in tokenizer.encode_batch_fast(texts[begin : begin + TEXTS_AT_ONCE]):
                _ = encoding.ids


def library_seconds(folder):
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=tokenize, args=(folder, number)) for number in range(PROCESSES)]
    for process in running:
        process.start()
    for process in running:
        process.join()
        assert process.exitcode == 0
    return time.perf_counter() - begin


def penstock_seconds(folder, number, program):
    begin = time.perf_counter()
    command = [sys.executable, "-m", "penstock._convert_command", folder / "texts.parquet", "--out", folder / f"out{number}"]
    command += ["--tokenize", f"text={folder / 'tokenizer.json'}", "--processes", str(PROCESSES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client/python"), "PENSTOCK_PROGRAM": str(program)}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/penstock")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_texts(folder, arguments.texts)
        size = (folder / "texts.parquet").stat().st_size
        print(f"{arguments.texts:,} texts, {size / 1e6:.0f} MB, {PROCESSES} processes a side")
        ours, theirs = [], []
        for number in range(arguments.rounds):
            theirs.append(library_seconds(folder))
            ours.append(penstock_seconds(folder, number, arguments.program))
            print(f"library {theirs[-1]:.2f} s, penstock convert {ours[-1]:.2f} s, ratio {theirs[-1] / ours[-1]:.2f}")
        ratios = [their / our for their, our in zip(theirs, ours)]
        print(f"penstock / library: best {min(theirs) / min(ours):.2f}, median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
