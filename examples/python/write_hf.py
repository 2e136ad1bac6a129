"""Writes a Hugging Face data set as shards: write_hf.py NAME OUT [SPLIT]. Images keep their bytes. Uses 4 processes."""

import multiprocessing
import sys

import datasets
import penstock


def convert(part: penstock.ShardPart, rows: datasets.Dataset) -> None:
    with part:
        for row in rows:
            part.write({key: value["bytes"] if isinstance(value, dict) and "bytes" in value else value for key, value in row.items()})


def main(source: str, out: str, split: str = "train") -> penstock.ShardSet:
    rows = datasets.load_dataset(source, split=split)
    for name, feature in rows.features.items():
        if isinstance(feature, datasets.Image):
            rows = rows.cast_column(name, datasets.Image(decode=False))
    with penstock.ShardWriter(out, order="shuffled") as writer, multiprocessing.Pool(4) as pool:
        pool.starmap(convert, [(writer.part(n), rows.shard(4, n, contiguous=True)) for n in range(4)])
    return writer.result


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
