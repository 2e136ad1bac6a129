"""Writes data sets with the libraries of MDS and LitData, and the rows as each library reads them.

python write_samples.py mosaic|litdata FOLDER: rows.pickle has the rows of each data set. The libraries read images as
objects; the rows have their pixels. The values of `original` are the bytes that were written.
"""

import io
import pickle
import random
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
from PIL import Image

SCALARS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def pixels(number, channels=3):
    shape = (6, 5, channels) if channels > 1 else (6, 5)
    return np.random.default_rng(number).integers(0, 256, shape).astype("uint8")


def encoded(number, kind):
    made = io.BytesIO()
    Image.fromarray(pixels(number)).save(made, kind)
    return made.getvalue()


def plain(value):
    """Returns a value with arrays in place of images and tensors."""
    if isinstance(value, Image.Image) or type(value).__module__ == "torch":
        return np.asarray(value)
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def unpack(folder):
    """Adds every second compressed shard without its compression, as the library does with keep_zip."""
    import zstd

    for shard in sorted(folder.glob("*.zstd"))[::2]:
        shard.with_suffix("").write_bytes(zstd.decompress(shard.read_bytes()))


def mosaic(folder):
    from streaming import LocalDataset, MDSWriter

    columns = {name: name for name in SCALARS}
    columns |= {f"array {name}": f"ndarray:{name}" for name in SCALARS}
    columns |= {f"fixed {name}": f"ndarray:{name}:2,3" for name in SCALARS}
    columns |= {"int": "int", "str": "str", "bytes": "bytes", "array": "ndarray", "json": "json", "pil": "pil", "gray": "pil"}
    columns |= {"jpeg": "jpeg", "png": "png", "jpegarray": "jpegarray", "jpeg_array": "jpeg_array"}
    columns |= {"jpegs": "list[jpeg]", "pngs": "list[png]", "str_int": "str_int", "str_float": "str_float"}
    columns |= {"str_decimal": "str_decimal"}

    def row(n):
        row = {}
        for name in SCALARS:
            kind = np.dtype(name)
            value = n / 7 - 5 if kind.kind == "f" else [np.iinfo(kind).min, np.iinfo(kind).max, n][n % 3]
            row[name] = np.array(value).astype(kind)[()]
            row[f"array {name}"] = (np.arange(2 * (n % 3 + 1)) + n).reshape(-1, 2).astype(kind)
            row[f"fixed {name}"] = (np.arange(6) + n).reshape(2, 3).astype(kind)
        row |= {"int": n - 50, "str": f"é{n}" * (n % 4), "bytes": bytes(range(n % 9)), "array": np.arange(n + 1) - 3}
        row |= {"json": {"n": n, "list": [1, "a"]}, "pil": Image.fromarray(pixels(n)), "gray": Image.fromarray(pixels(n, 1))}
        row |= {"jpeg": encoded(n, "JPEG"), "png": encoded(n, "PNG")}
        row |= {name: [encoded(n + k, "JPEG") for k in range(n % 3 + 1)] for name in ("jpegarray", "jpeg_array")}
        row |= {f"{kind}s": [Image.fromarray(pixels(n + k)) for k in range(n % 3)] for kind in ("jpeg", "png")}
        return row | {"str_int": (-1) ** n * (2**62 + n), "str_float": n / 3, "str_decimal": Decimal(n) / 7}

    def write(name, columns, rows, **options):
        with MDSWriter(columns=columns, out=str(folder / name), **options) as writer:
            for one in rows:
                writer.write({column: one[column] for column in columns})

    rows = [row(n) for n in range(60)]
    write("all", columns, rows, size_limit=60000, hashes=["sha1"])
    few = {"int": "int", "str": "str", "array": "ndarray", "jpeg": "jpeg"}
    for compression in (None, "zstd", "zstd:9", "gz", "bz2", "br:1", "snappy"):
        write(f"few-{compression}", few, rows, size_limit=9000, compression=compression)
    write("kept", few, rows, size_limit=9000, compression="zstd")
    unpack(folder / "kept")
    for split in ("train", "val"):
        write(f"splits/{split}", {"int": "int"}, rows[: 5 if split == "val" else 9])
    pickles = {"int": "int", "any": "pkl", "other.one": "pkl"}
    values = [{"int": n, "any": {"a": n, "b": [np.float32(n)]}, "other.one": f"{n}"} for n in range(9)]
    write("pickles", pickles, values)
    write("lists", {"int": "int", "images": "list[pil]"}, [{"int": 1, "images": [Image.fromarray(pixels(1))]}])
    write("shapes", {"a": "ndarray"}, [{"a": np.zeros((2, 3 + n // 5), "uint8")} for n in range(9)])
    write("huge", {"n": "str_int", "int": "int"}, [{"n": 2**63, "int": 1}])
    dice = random.Random(1)
    large = {"n": "int", "data": "bytes", "x": "ndarray:float32"}
    many = ({"n": n, "data": dice.randbytes(2000), "x": np.arange(50, dtype="float32")} for n in range(5000))
    write("large", large, many, size_limit=1 << 20, compression="zstd")
    unpack(folder / "large")
    read = {name: [plain(one) for one in LocalDataset(str(folder / name))] for name in ("all", "few-None", "pickles")}
    return read | {"original": rows}


def litdata(folder):
    import litdata
    import torch
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    kinds = ["float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64", "bool"]
    arrays = [*kinds, "uint16", "uint32", "uint64"]

    def row(n):
        row = {"int": n - 50, "float": n / 3, "bool": n % 2 == 0, "str": f"é{n}", "bytes": bytes(range(n % 9))}
        row |= {f"array {kind}": np.full((n % 3 + 1, 2), n).astype(kind) for kind in arrays}
        row |= {f"vector {kind}": np.full(n % 3 + 1, n).astype(kind) for kind in arrays}
        row |= {f"tensor {kind}": torch.tensor(np.full((n % 3 + 1, 2), n).astype(kind)) for kind in kinds}
        row |= {f"tensor vector {kind}": torch.tensor(np.full(n % 3 + 1, n).astype(kind)) for kind in kinds}
        row |= {"pil": Image.fromarray(pixels(n)), "meta": {"width": n, "list": [1.5] * (n % 3 + 1)}, "pair": (n, f"{n}")}
        return row | {"jpeg": litdata.Jpeg(bytes=encoded(n, "JPEG")), "file": litdata.File(bytes=encoded(n, "PNG"))}

    def write(name, rows, item_loader=None, **options):
        writer = BinaryWriter(str(folder / name), item_loader=item_loader, **{"chunk_bytes": 20000, **options})
        for number, one in enumerate(rows):
            writer[number] = one
        writer.done()
        writer.merge(1)

    rows = [row(n) for n in range(60)]
    write("all", rows)
    for level in ("chunk", "batch", "sample"):
        write(level, rows, compression="zstd", compression_level=level)
    table = [{"n": n, "text": f"{n}", "list": [1, 2] * (n % 3)} for n in range(60)]
    write("table", table)
    write("table zstd", table, compression="zstd")
    write("tokens", (torch.arange(n + 1) for n in range(60)), item_loader=TokensLoader(), chunk_bytes=None, chunk_size=500)
    write("values", (np.full((2, 2), n) for n in range(60)))
    write("pickles", ({"n": n, "any": {n, n + 1}, "more": {"x": complex(n)}} for n in range(9)))
    dice = random.Random(1)
    write("large", ({"n": n, "data": dice.randbytes(2000)} for n in range(4000)), chunk_bytes=1 << 20)
    read = {}
    for name in ("all", "table", "values"):
        dataset = litdata.StreamingDataset(str(folder / name), max_cache_size="1GB")
        read[name] = [plain(one) for one in dataset]
    original = [{"jpeg": encoded(n, "JPEG"), "file": encoded(n, "PNG")} for n in range(60)]
    return read | {"original": original}


if __name__ == "__main__":
    place = Path(sys.argv[2])
    made = {"mosaic": mosaic, "litdata": litdata}[sys.argv[1]](place)
    (place / "rows.pickle").write_bytes(pickle.dumps(made))
