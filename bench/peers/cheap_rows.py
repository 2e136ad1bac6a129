"""Makes the inputs of cheap_works.sh, random numbers.

  cheap_rows.py tokens FILE ROWS    ROWS rows of turns.ROWS["tokens"]. Each begins with the last token of the one before it
  cheap_rows.py packed FOLDER ROWS  documents.bin and documents.idx of Megatron-LM with ROWS documents of log-normal lengths, at most
                                    turns.ROWS["packed"] tokens each
  cheap_rows.py table FOLDER ROWS   table.parquet with ROWS rows of turns.ROWS["numbers"], and the shards of penstock.convert
"""

import os
import struct
import sys

import numpy as np
import turns

_ROWS_OF_GROUP = 1 << 16
_SHARD_BYTES = 32 << 20


def tokens(path, rows):
    dtype, size = turns.ROWS["tokens"]
    np.random.default_rng(17).integers(0, 50257, rows * (size - 1) + 1, dtype=dtype).tofile(path)


def packed(folder, rows):
    os.makedirs(folder, exist_ok=True)
    prefix = os.path.join(folder, "documents")
    dtype, most = turns.ROWS["packed"]
    draw = np.random.default_rng(17)
    lengths = np.minimum(draw.lognormal(5.5, 1, rows).astype("i4") + 1, most)
    ends = lengths.cumsum(dtype="i8")
    draw.integers(0, 50257, ends[-1], dtype=dtype).tofile(prefix + ".bin")
    with open(prefix + ".idx", "wb") as index:
        index.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, rows, rows + 1))
        index.writelines(part.astype("i4" if part is lengths else "i8").tobytes() for part in (lengths, (ends - lengths) * 2, np.arange(rows + 1)))


def table(folder, rows):
    import penstock
    import pyarrow
    from pyarrow import parquet

    dtype, size = turns.ROWS["numbers"]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "table.parquet")
    values = pyarrow.array(np.random.default_rng(17).standard_normal(rows * size, dtype=dtype))
    lists = pyarrow.FixedSizeListArray.from_arrays(values, size)
    parquet.write_table(pyarrow.table({"numbers": lists}), path, row_group_size=_ROWS_OF_GROUP)
    penstock.convert(path, os.path.join(folder, "shards"), shard_bytes=_SHARD_BYTES)


def main():
    kind, path, rows = sys.argv[1:]
    {"tokens": tokens, "packed": packed, "table": table}[kind](path, int(rows))


if __name__ == "__main__":
    main()
