"""Reads the output of penstock import and penstock bake with tf.data.

  tensorflow_reads_imports.py PENSTOCK      the command's path

Makes images with TensorFlow, imports them in every way, reads the shards with tf.data and compares: names, labels,
sizes, and the decoded pixels of the restart-indexed files with those of their source files. Bakes a job and
compares the variants' rows, raw and JPEG, with each other. Exits with 1 at the first difference.
"""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

PENSTOCK = os.path.abspath(sys.argv[1])
EXACT = dict(dct_method="INTEGER_ACCURATE")


def penstock(*args):
    done = subprocess.run([PENSTOCK, *args], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"penstock {' '.join(args)}: {done.stderr}")


def records(folder, features):
    files = sorted(tf.io.gfile.glob(f"{folder}/*.tfrecord"))
    assert files, folder
    for record in tf.data.TFRecordDataset(files):
        yield tf.io.parse_single_example(record, features)


def scalar(dtype):
    return tf.io.FixedLenFeature([], dtype)


IMAGENET = {
    "image/encoded": scalar(tf.string),
    "image/filename": scalar(tf.string),
    "image/format": scalar(tf.string),
    "image/class/text": scalar(tf.string),
    "image/class/label": scalar(tf.int64),
    "image/height": scalar(tf.int64),
    "image/width": scalar(tf.int64),
}


def make_photos(root):
    rng = np.random.default_rng(1)
    photos = {}
    for i in range(24):
        height, width = 60 + 3 * i, 130 - 2 * i
        coarse = rng.integers(0, 256, (8, 8, 3)).astype(np.float32)
        image = tf.cast(tf.clip_by_value(tf.image.resize(coarse, (height, width)), 0, 255), tf.uint8)
        label = i % 3
        name = f"{i:03d}.jpg"
        os.makedirs(f"{root}/class{label}", exist_ok=True)
        data = tf.io.encode_jpeg(image, quality=90, progressive=i % 8 == 7).numpy()
        with open(f"{root}/class{label}/{name}", "wb") as file:
            file.write(data)
        photos[name] = (label, height, width, data)
    return photos


def check_images(folder, photos, changed):
    seen = set()
    for example in records(folder, IMAGENET):
        name = example["image/filename"].numpy().decode()
        label, height, width, data = photos[name]
        seen.add(name)
        assert example["image/class/label"].numpy() == label, name
        assert example["image/class/text"].numpy().decode() == f"class{label}", name
        assert example["image/format"].numpy() == b"JPEG", name
        size = (example["image/height"].numpy(), example["image/width"].numpy())
        pixels = tf.io.decode_jpeg(example["image/encoded"], **EXACT).numpy()
        assert pixels.shape[:2] == size, name
        if changed == "resized":
            assert max(size) == min(64, max(height, width)), name
            continue
        assert size == (height, width), name
        assert np.array_equal(pixels, tf.io.decode_jpeg(data, **EXACT).numpy()), name
        if changed == "untouched":
            assert example["image/encoded"].numpy() == data, name
    assert seen == set(photos), "not every file is there"


def check_arrays(root):
    images = np.random.default_rng(2).integers(0, 256, (50, 8, 9, 3)).astype(np.uint8)
    labels = np.arange(50, dtype=np.int32) % 7
    np.save(f"{root}/images.npy", images)
    np.save(f"{root}/labels.npy", labels)
    penstock("import", f"{root}/images.npy", "--labels", f"{root}/labels.npy", "--out", f"{root}/arrays")
    features = {"data": scalar(tf.string), "image/class/label": scalar(tf.int64)}
    rows = list(records(f"{root}/arrays", features))
    assert len(rows) == 50
    for i, row in enumerate(rows):
        assert np.array_equal(tf.reshape(tf.io.decode_raw(row["data"], tf.uint8), (8, 9, 3)).numpy(), images[i])
        assert row["image/class/label"].numpy() == labels[i]


def check_baked(root):
    penstock("init", f"{root}/restart", "--out", f"{root}/job.textproto")
    features = {k: scalar(tf.int64) for k in ("label", "bake/record", "bake/variant")}
    features["image"] = scalar(tf.string)
    for kind, flags in (("raw", []), ("jpeg", ["--format", "jpeg", "--quality", "95"])):
        penstock("bake", f"{root}/job.textproto", "--variants", "2", "--out", f"{root}/{kind}", *flags)
    raw, jpeg = list(records(f"{root}/raw", features)), list(records(f"{root}/jpeg", features))
    assert len(raw) == len(jpeg) == 48
    variants = {}
    for a, b in zip(raw, jpeg):
        key = (a["bake/record"].numpy(), a["bake/variant"].numpy())
        assert key == (b["bake/record"].numpy(), b["bake/variant"].numpy())
        assert a["label"].numpy() == b["label"].numpy()
        image = tf.reshape(tf.io.decode_raw(a["image"], tf.uint8), (224, 224, 3)).numpy()
        lossy = tf.io.decode_jpeg(b["image"], **EXACT).numpy()
        assert lossy.shape == (224, 224, 3)
        assert np.abs(image.astype(int) - lossy).mean() < 4, key
        variants[key] = image
    assert len(variants) == 48
    assert any(not np.array_equal(variants[r, 0], variants[r, 1]) for r in range(24))


def main():
    with tempfile.TemporaryDirectory() as root:
        os.environ["XDG_CACHE_HOME"] = f"{root}/cache"
        photos = make_photos(f"{root}/photos")
        penstock("import", f"{root}/photos", "--out", f"{root}/untouched", "--untouched")
        penstock("import", f"{root}/photos", "--out", f"{root}/restart", "--shard-size", "20KB")
        penstock("import", f"{root}/photos", "--out", f"{root}/resized", "--longer-side", "64")
        penstock("import", f"{root}/untouched/data-*", "--out", f"{root}/again", "--shard-size", "20KB")
        check_images(f"{root}/untouched", photos, "untouched")
        check_images(f"{root}/restart", photos, "restart-indexed")
        check_images(f"{root}/again", photos, "restart-indexed")
        check_images(f"{root}/resized", photos, "resized")
        check_arrays(root)
        check_baked(root)
    print(f"TensorFlow {tf.__version__} reads all of it")


main()
