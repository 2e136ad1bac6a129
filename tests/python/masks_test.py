"""Masks arrive with the classes of their files: the values of np.asarray(Image.open(file))."""

import struct
import zlib

import numpy as np
import pytest

import penstock
from fixtures import BIN
from penstock import ops

HEIGHT, WIDTH = 40, 48
MASK = np.fromfunction(lambda y, x: (x // 6 + y // 5) % 21, (HEIGHT, WIDTH)).astype(np.uint8)
IDS = MASK.astype(np.uint16) * 2601 // 2
IDS[20:24, 20:24] = 26007


@pytest.fixture(autouse=True)
def program(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(values, color, depth, palette=None):
    """Encodes values as Pillow reads them back: mode P for color 3, L or I;16 for color 0."""
    if depth == 16:
        values = values.astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in values)
    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], depth, color, 0, 0, 0)
    plte = chunk(b"PLTE", palette) if palette else b""
    data = chunk(b"IHDR", header) + plte + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


VOC = bytes(min(255, v) for i in range(256) for v in (i % 2 * 128 + 40, i // 2 % 2 * 128, i // 4 % 2 * 128))


def shards(folder, masks):
    with penstock.ShardWriter(folder) as writer:
        for mask in masks:
            writer.write({"image": png(np.full((HEIGHT, WIDTH), 255, np.uint8), 0, 8), "mask": mask})
    return str(folder)


def job(count, geometry=(), decode=None, errors=None, **annotations):
    return penstock.Job(
        name="masks",
        dataset={"files": "*.tfrecord"},
        features=[{"key": "image", "type": "BYTES"}, {"key": "mask", "type": "BYTES"}],
        ops=[
            ops.decode_image(channels="GRAY"),
            *geometry,
            ops.resize(height=HEIGHT, width=WIDTH, filter="NEAREST"),
            ops.decode_image(column="mask", channels="GRAY", **(decode or {})),
        ],
        annotations={"masks": "mask", **annotations},
        order={"shuffle": "NONE"},
        batch={"size": count, "last": "PARTIAL"},
        errors=errors,
    )


def read(job, data):
    (batch,) = penstock.Loader(job, data_root=data)
    return batch


def test_a_palettes_numbers_are_the_classes(tmp_path):
    data = shards(tmp_path / "data", [png(MASK, 3, 8, VOC), png(MASK, 3, 8, VOC[: 3 * 10]), png(MASK, 0, 8)])
    masks = read(job(3), data)["mask"]
    assert masks.dtype == np.uint8
    assert all(np.array_equal(mask[..., 0], MASK) for mask in masks)


def test_ids_of_16_bits_need_a_depth(tmp_path):
    data = shards(tmp_path / "data", [png(IDS, 0, 16), png(MASK, 3, 8, VOC)])
    masks = read(job(2, decode={"depth": "UINT16"}), data)["mask"]
    assert masks.dtype == np.uint16
    assert np.array_equal(masks[0, ..., 0], IDS)
    assert np.array_equal(masks[1, ..., 0], MASK)
    with pytest.raises(penstock.PenstockError, match=r"depth: UINT16"):
        read(job(2), data)
    penstock.shutdown()
    batch = read(job(2, errors={"policy": "MASK", "max_bad_fraction": 1}), data)
    assert batch.valid.tolist() == [0, 1]


def test_what_comes_in_from_outside_has_the_jobs_class_or_the_ops(tmp_path):
    data = shards(tmp_path / "data", [png(MASK, 3, 8, VOC)])
    for op, annotations, outside in [({}, {}, 0), ({}, {"mask_fill": 255}, 255), ({"mask_fill": 0}, {"mask_fill": 255}, 0)]:
        turned = ops.rotate(min_degrees=30, max_degrees=30, filter="NEAREST", **op)
        batch = read(job(1, geometry=[turned], **annotations), data)
        penstock.shutdown()
        image, mask = batch["image"][0, ..., 0], batch["mask"][0, ..., 0]
        assert (mask[image == 0] == outside).all()
        assert (image == 0).sum() > 100
        assert mask[HEIGHT // 2, WIDTH // 2] == MASK[HEIGHT // 2, WIDTH // 2]
