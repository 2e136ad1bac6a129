"""Each job in config/examples trains: on small data of its format, a model learns what the data hold."""

import gzip
import io
import itertools
import json
import shutil
import struct
import subprocess
import tarfile
import zlib

import numpy as np
import pytest

import penstock
from fixtures import BIN, ROOT

EXAMPLES = ROOT / "config" / "examples"
WORDS = 50  # tokens of the texts


def png(gray, size=16):
    """Returns an image of one color."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + bytes([gray]) * 3 * size) * size
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


def write_records(folder, name, records, packed=False):
    """Writes a TFRecord file."""
    with penstock.ShardWriter(folder / "written", prefix="part") as writer:
        for record in records:
            writer.write(record)
    [shard] = (folder / "written").glob("*.tfrecord")
    (folder / name).write_bytes(gzip.compress(shard.read_bytes()) if packed else shard.read_bytes())
    shutil.rmtree(folder / "written")


# ---- data: each function writes the files of a job


def write_photos(folder, name):
    """The label of a photograph is its brightness."""
    labels = [number % 9 for number in range(120)]
    write_records(folder, name, ({"image/encoded": png(20 * label + 10), "image/class/label": label} for label in labels))


def write_manifest(folder):
    lines = ["path,label,caption"]
    for number in range(160):
        label = number % 9 - 1  # -1: not labeled
        (folder / f"{number}.png").write_bytes(png(20 * label + 30))
        lines.append(f"{number}.png,{label},{'' if number % 2 else 'a photograph'}")
    (folder / "photos-0.csv").write_text("\n".join(lines) + "\n")


def write_pairs(folder):
    """The text of an image is its brightness. Pairs of low similarity have wrong texts."""
    with tarfile.open(folder / "pairs-0.tar", "w") as archive:
        for number in range(120):
            gray, right = 20 * (number % 9) + 10, number % 5 > 0
            members = {"png": png(gray), "txt": str(gray if right else 255 - gray).encode()}
            members["json"] = json.dumps({"similarity": 0.35 if right else 0.1}).encode()
            for suffix, data in members.items():
                info = tarfile.TarInfo(f"{number:06}.{suffix}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def write_clicks(folder):
    draw = np.random.default_rng(1)
    records = []
    for number in range(600):
        dense = draw.normal(size=13).astype("float32")
        record = {"dense": dense.tolist(), "ids": draw.integers(0, 99, number % 4).tolist()}
        record["bits"] = dense[:12].astype("<i2").tobytes()
        record["clicked"] = int(dense @ np.arange(13) > 0)
        if number % 3:
            record["weight"] = 0.5
        records.append(record)
    write_records(folder, "clicks-0.tfrecord.gz", records, packed=True)


def text(draw, length):
    """Returns tokens. Each token determines the next one, except one in twenty, which is 0."""
    tokens = (draw.integers(WORDS) + 7 * np.arange(length)) % WORDS
    tokens[draw.random(length) < 0.05] = 0
    return tokens


def write_lines(path, count, longest):
    draw = np.random.default_rng(2)
    lines = "".join(json.dumps({"tokens": text(draw, draw.integers(1, longest)).tolist()}) + "\n" for _ in range(count))
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())


def write_texts(folder):
    write_lines(folder / "texts-0.jsonl.gz", 6000, 60)


def write_corpora_of_lines(folder):
    write_lines(folder / "web-0.jsonl", 300, 3000)
    write_lines(folder / "code-0.jsonl", 300, 3000)


def write_corpora_of_tokens(folder):
    draw = np.random.default_rng(3)
    for name in ("web", "code"):
        text(draw, 400_000).astype("<u2").tofile(folder / f"{name}-0.bin")


def write_series(folder):
    """Each moment determines the next one, up to noise."""
    draw = np.random.default_rng(4)
    moments = np.arange(1000)[:, None]
    for sensor in range(3):
        waves = np.sin(moments * np.arange(1, 8) / 40 + sensor) + 0.05 * draw.normal(size=(1000, 7))
        np.save(folder / f"sensor-{sensor}.npy", waves.astype("float32"))


def write_table(folder):
    draw = np.random.default_rng(4)
    hours = np.arange(1000)
    lines = ["sensor,hour,load,temperature"]
    for sensor in range(3):
        load = np.sin(hours / 24 + sensor) + 0.05 * draw.normal(size=1000)
        lines += [f"s{sensor},{hour},{each},{np.cos(hour / 24)}" for hour, each in zip(hours, load)]
    (folder / "load-0.csv").write_text("\n".join(lines) + "\n")


# ---- models: each function returns the inputs and targets of a batch


def brightness(batch):
    """Rows that are padding or masked have no label."""
    images = batch["image"].reshape(len(batch["image"]), -1)
    return images.mean(axis=1, keepdims=True)[batch.valid], batch["label"][batch.valid]


def mixed_brightness(batch):
    return batch["image"].reshape(len(batch["image"]), -1).mean(axis=1, keepdims=True), batch["label"] @ np.arange(1001)


def described_brightness(batch):
    return np.array([[float(words)] for words in batch["text"]]), batch["image"].reshape(len(batch["image"]), -1).mean(axis=1)


def clicks(batch):
    assert set(batch["weight"].tolist()) <= {0.5, 1.0}
    assert batch["ids"].row_splits[-1] == len(batch["ids"].values)
    np.testing.assert_array_equal(batch["raw"], batch["dense"][:, :12].astype("int16"))
    return batch["dense"], batch["label"]


def next_moments(batch):
    window = batch["window"]
    return window[:, :168].reshape(len(window), -1)[:, -140:], window[:, 168:].reshape(len(window), -1)[:, 0]


def next_loads(batch):
    assert batch["temperature"].shape[1:] == (192,)
    return batch["load"][:, 148:168], batch["load"][:, 168]


def next_tokens(rows):
    """Returns pairs of tokens that follow each other."""
    pairs = [(row[:-1], row[1:]) for row in rows]
    before, after = (np.concatenate(column).astype("int64") for column in zip(*pairs))
    return np.eye(WORDS)[before], np.eye(WORDS)[after]


def ragged_tokens(batch):
    lengths = np.diff(batch["tokens"].row_splits)
    assert lengths.min() >= 8
    return next_tokens(list(batch["tokens"]))


def packed_tokens(batch):
    rows = []
    for tokens, ids in zip(batch["tokens"], batch["tokens_segment_ids"]):
        assert len(tokens) == 2048
        rows += [tokens[ids == number] for number in range(1, ids.max() + 1)]
    return next_tokens(rows)


def plain_tokens(batch):
    assert batch["tokens"].shape[1] == 4097
    assert batch["tokens"].dtype == np.uint16
    return next_tokens(list(batch["tokens"]))


JOBS = {
    "imagenet-train": (lambda folder: write_photos(folder, "train-0"), brightness, 10),
    "imagenet-balanced": (lambda folder: write_photos(folder, "train-0"), brightness, 10),
    "imagenet-mixup": (lambda folder: write_photos(folder, "train-0"), mixed_brightness, 10),
    "imagenet-eval": (lambda folder: write_photos(folder, "validation-0"), brightness, 10),
    "photos-manifest": (write_manifest, brightness, 10),
    "image-text": (write_pairs, described_brightness, 10),
    "tabular": (write_clicks, clicks, 20),
    "text-buckets": (write_texts, ragged_tokens, 16),
    "tokens-packed": (write_corpora_of_lines, packed_tokens, 4),
    "tokens-blend": (write_corpora_of_tokens, plain_tokens, 4),
    "time-series": (write_series, next_moments, 16),
    "time-series-table": (write_table, next_loads, 16),
}


NAMES = sorted(path.name.split(".")[0] for path in EXAMPLES.glob("*.job.textproto"))


def check_that_it_trains(job, sample, size, **options):
    seen = []
    with penstock.Loader(job, batch_size=size, **options) as loader:
        for _ in range(2):  # to fit a linear model, and to judge it
            batches = [sample(batch) for batch in itertools.islice(loader, 8)]
            seen.append([np.concatenate(column).astype("float64") for column in zip(*batches)])
    (inputs, targets), (new_inputs, new_targets) = seen

    def with_one(values):
        return np.column_stack([values, np.ones(len(values))])

    model = np.linalg.lstsq(with_one(inputs), targets, rcond=1e-6)[0]
    error = np.mean((with_one(new_inputs) @ model - new_targets) ** 2)
    assert error < 0.4 * np.mean((new_targets - targets.mean(axis=0)) ** 2), "the model has learned little"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("name", NAMES)
def test_a_job_of_the_examples_trains(name, folder):
    write, sample, size = JOBS[name]
    write(folder)
    check_that_it_trains(EXAMPLES / f"{name}.job.textproto", sample, size, data_root=folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_job_of_the_examples_is_baked(name, folder, tmp_path):
    write, sample, size = JOBS[name]
    write(folder)
    job = EXAMPLES / f"{name}.job.textproto"
    command = [BIN / "penstock", "bake", job, "--data-root", folder, "--out", tmp_path / "baked"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    check_that_it_trains(tmp_path / "baked" / "job.textproto", sample, size)


@pytest.mark.parametrize("name", ["tokens-blend", "tokens-packed"])
def test_a_baked_blend_has_the_rows_and_the_turns_of_the_data_sets(name, folder, tmp_path):
    write, _, size = JOBS[name]
    write(folder)
    job = EXAMPLES / f"{name}.job.textproto"
    command = [BIN / "penstock", "bake", job, "--data-root", folder, "--out", tmp_path / "baked"]
    subprocess.run(command, check=True, capture_output=True)
    found = []
    for source, options in ((job, {"data_root": folder}), (tmp_path / "baked" / "job.textproto", {})):
        turns, rows = [], {}
        with penstock.Loader(source, batch_size=size, **options) as loader:
            for batch in itertools.islice(loader, 60):
                turns += batch.datasets.tolist()
                for number, slot in zip(batch.datasets, range(size)):
                    row = tuple(batch[column][slot].tobytes() for column in sorted(batch))
                    rows.setdefault(loader.datasets[number], set()).add(row)
        found.append((turns, rows))
    assert found[0][0] == found[1][0]
    for dataset, rows in found[0][1].items():
        assert len(rows & found[1][1][dataset]) > 0.5 * len(rows), dataset
