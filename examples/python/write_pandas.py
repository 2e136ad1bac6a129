"""Writes a table as shards: write_pandas.py FILE.csv OUT. Each table column becomes a job column. Missing values stay missing."""

import sys

import pandas
import penstock


def main(source: str, out: str) -> penstock.ShardSet:
    table = pandas.read_csv(source)
    with penstock.ShardWriter(out, order="shuffled") as writer:
        for row in table.itertuples(index=False):
            writer.write({name: None if pandas.isna(value) else value for name, value in zip(table.columns, row)})
    return writer.result


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
