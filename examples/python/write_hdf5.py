"""Writes an HDF5 file as shards: write_hdf5.py FILE.h5 OUT. Each data set is a column. Its first axis counts the records."""

import sys

import h5py
import penstock


def main(source: str, out: str) -> penstock.ShardSet:
    with h5py.File(source, "r") as file, penstock.ShardWriter(out, order="shuffled") as writer:
        columns = {name: data for name, data in file.items() if isinstance(data, h5py.Dataset)}
        rows = min(len(data) for data in columns.values())
        for begin in range(0, rows, 1024):  # reads a slice at a time, so that each chunk is read once
            part = {name: data[begin : min(begin + 1024, rows)] for name, data in columns.items()}
            for i in range(len(next(iter(part.values())))):
                writer.write({name: values[i] for name, values in part.items()})
    return writer.result


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
