"""tf.data service on TFRecord shards of JPEGs: the rows per second that reach a trainer on this machine.

  tf_data_service.py make --photos DIR --out DIR [--records N] [--shards N]     writes the shards
  tf_data_service.py serve --shards DIR [--antialias|--cache|--raw]             measures, as turns.py describes

`serve` starts a dispatcher and a worker in separate processes, as TensorFlow's documentation describes for a real
service (https://www.tensorflow.org/api_docs/python/tf/data/experimental/service), and reads from them in this process.
The pipeline is the usual one of ImageNet training: parse, sample_distorted_bounding_box, decode_and_crop_jpeg, resize
to 224x224, flip, uint8. AUTOTUNE chooses every number of threads. The setup favors TensorFlow: rows are uint8,
uncompressed, in any order, and the JPEG decoder is TensorFlow's default (the fast, less exact DCT).

--antialias: resizes as Penstock and DALI do. --cache: decoded images stay in the worker's memory. The only iteration is then
endless, because each new iteration of the service has its own cache. --raw: shards of `penstock bake`, whose rows need no work.
"""

import argparse
import glob
import multiprocessing
import os
import sys
from pathlib import Path

import turns

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Prevents the use of a proxy, because all processes are on this machine.
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1"


def make(args):
    """Writes args.records records of the photographs, repeated if necessary, to args.shards shards in turn."""
    import tensorflow as tf

    photos = sorted(glob.glob(os.path.join(args.photos, "*.JPEG")))
    if not photos:
        sys.exit(f"no *.JPEG files in {args.photos}")
    os.makedirs(args.out, exist_ok=True)
    contents = [Path(path).read_bytes() for path in photos]
    for shard in range(args.shards):
        path = os.path.join(args.out, f"photos-{shard:05d}-of-{args.shards:05d}")
        with tf.io.TFRecordWriter(path + ".part") as writer:
            for record in range(shard, args.records, args.shards):
                label = record % len(photos)
                feature = {
                    "image/encoded": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[contents[label]])
                    ),
                    "image/class/label": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[label])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
        os.rename(path + ".part", path)


def run_dispatcher(port):
    import tensorflow as tf

    server = tf.data.experimental.service.DispatchServer(
        tf.data.experimental.service.DispatcherConfig(port=0)
    )
    port.put(server.target)
    server.join()


def run_worker(dispatcher):
    import tensorflow as tf

    server = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher.split("://")[1])
    )
    server.join()


def parse(serialized):
    """Returns the JPEG and its label."""
    import tensorflow as tf

    features = tf.io.parse_single_example(
        serialized,
        {
            "image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    return features["image/encoded"], features["image/class/label"]


def draw_crop(shape):
    """Returns the rectangle y, x, height, width."""
    import tensorflow as tf

    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape,
        bounding_boxes=tf.zeros([1, 0, 4]),
        min_object_covered=0.0,
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.stack([begin[0], begin[1], size[0], size[1]])


def finish(image, antialias):
    """Returns a crop as (224, 224, 3) uint8."""
    import tensorflow as tf

    image = tf.image.resize(image, [turns.IMAGE_SIDE, turns.IMAGE_SIDE], antialias=antialias)
    return tf.cast(tf.round(tf.image.random_flip_left_right(image)), tf.uint8)


def prepare(serialized, antialias=False):
    """Makes a row of a record: (224, 224, 3) uint8 and its label."""
    import tensorflow as tf

    encoded, label = parse(serialized)
    crop = draw_crop(tf.image.extract_jpeg_shape(encoded))
    return finish(tf.image.decode_and_crop_jpeg(encoded, crop, channels=3), antialias), label


def decode(serialized):
    """Returns the element that --cache stores."""
    import tensorflow as tf

    encoded, label = parse(serialized)
    return tf.io.decode_jpeg(encoded, channels=3), label


def prepare_decoded(image, label):
    import tensorflow as tf

    crop = draw_crop(tf.shape(image))
    return finish(tf.image.crop_to_bounding_box(image, crop[0], crop[1], crop[2], crop[3]), False), label


def unpack(serialized):
    """Returns a row of `penstock bake`."""
    import tensorflow as tf

    features = tf.io.parse_single_example(
        serialized, {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    )
    image = tf.io.decode_raw(features["image"], tf.uint8)
    return tf.reshape(image, [turns.IMAGE_SIDE, turns.IMAGE_SIDE, 3]), features["label"]


def serve(args):
    spawn = multiprocessing.get_context("spawn")
    port = spawn.Queue()
    processes = [spawn.Process(target=run_dispatcher, args=(port,), daemon=True)]
    processes[0].start()
    dispatcher = port.get(timeout=120)
    processes.append(spawn.Process(target=run_worker, args=(dispatcher,), daemon=True))
    processes[1].start()

    import tensorflow as tf

    shards = sorted(glob.glob(os.path.join(args.shards, "*-[0-9]*")))
    sharding = getattr(tf.data.experimental.service.ShardingPolicy, args.sharding)

    def batches():
        dataset = tf.data.Dataset.from_tensor_slices(shards)
        dataset = dataset.interleave(
            tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False
        )
        if args.cache:
            dataset = dataset.map(decode, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False).cache().repeat()
            work = prepare_decoded
        else:
            work = unpack if args.raw else lambda serialized: prepare(serialized, args.antialias)
        dataset = dataset.map(work, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
        dataset = dataset.batch(turns.BATCH, drop_remainder=True)
        # No prefetch before distribute(): the service itself buffers. With a prefetch, AUTOTUNE chose half the rate in half
        # of the runs (370 or 780 rows/s on two cores; 790 each time without it).
        dataset = dataset.apply(
            tf.data.experimental.service.distribute(
                processing_mode=sharding,
                service=dispatcher,
                compression=None,
            )
        )
        for images, _ in dataset.prefetch(tf.data.AUTOTUNE).as_numpy_iterator():  # does not copy
            yield images

    epoch = batches
    if args.cache:
        epoch = turns.parts_of(batches(), tf.data.TFRecordDataset(shards).reduce(0, lambda n, _: n + 1).numpy())

    turns.serve("tf.data service", epoch)
    for process in processes:
        process.kill()
        process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("make")
    command.add_argument("--photos", required=True)
    command.add_argument("--out", required=True)
    command.add_argument("--records", type=int, default=4000)
    command.add_argument("--shards", type=int, default=8)
    command.set_defaults(run=make)
    command = commands.add_parser("serve")
    command.add_argument("--shards", required=True)
    variant = command.add_mutually_exclusive_group()
    for flag in ("--antialias", "--cache", "--raw"):
        variant.add_argument(flag, action="store_true")
    command.add_argument("--sharding", default="OFF", choices=["OFF", "DYNAMIC"])
    command.set_defaults(run=serve)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
