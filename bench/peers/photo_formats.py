"""Writes photographs in the formats of photo_works.sh, repeated up to RECORDS: photo_formats.py KIND OUT PHOTOS RECORDS [SHARDS].

  tar      OUT/00000.tar ...: SHARDS shards of samples with jpg and cls, as the webdataset package writes them
  folders  OUT/CLASS/00000.JPEG ...: a folder for each photograph, which has its copies
  parquet  OUT/photos.parquet with the columns image and label, and OUT/shards, the shards of penstock.convert
"""

import glob
import io
import os
import sys
import tarfile
from contextlib import ExitStack

# Each worker of a loader needs some row groups. The groups of datasets have 100 rows of images by default.
_ROWS_OF_GROUP = 64


def photographs(folder, records):
    """Yields (number, label, name of the class, bytes)."""
    paths = sorted(glob.glob(os.path.join(folder, "*.JPEG")))
    for number in range(records):
        label = number % len(paths)
        with open(paths[label], "rb") as file:
            yield number, label, os.path.splitext(os.path.basename(paths[label]))[0], file.read()


def tar(out, photos, records, shards):
    os.makedirs(out, exist_ok=True)
    with ExitStack() as stack:
        files = [stack.enter_context(tarfile.open(os.path.join(out, f"{shard:05}.tar"), "w")) for shard in range(shards)]
        for number, label, _, data in photographs(photos, records):
            for extension, member in (("jpg", data), ("cls", str(label).encode())):
                header = tarfile.TarInfo(f"{number:08}.{extension}")
                header.size = len(member)
                files[number % shards].addfile(header, io.BytesIO(member))


def folders(out, photos, records):
    for number, _, name, data in photographs(photos, records):
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{number:05}.JPEG"), "wb") as file:
            file.write(data)


def parquet(out, photos, records):
    import penstock
    import pyarrow
    import pyarrow.parquet

    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "photos.parquet")
    schema = pyarrow.schema({"image": pyarrow.binary(), "label": pyarrow.int64()})
    # A dictionary would store a repeated photograph once. No reader shall have to inflate.
    with pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
        rows = []
        for number, label, _, data in photographs(photos, records):
            rows.append({"image": data, "label": label})
            if len(rows) == _ROWS_OF_GROUP or number + 1 == records:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
                rows = []
    penstock.convert(path, os.path.join(out, "shards"))


def main():
    kind, out, photos, *numbers = sys.argv[1:]
    {"tar": tar, "folders": folders, "parquet": parquet}[kind](out, photos, *map(int, numbers))


if __name__ == "__main__":
    main()
