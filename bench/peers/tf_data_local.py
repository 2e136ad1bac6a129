"""tf.data in the trainer's process on TFRecord shards: tf_data_local.py SHARDS_FOLDER THREADS [--cache] (see turns.py).

Uses the map of tf_data_service.py (decode_and_crop_jpeg with TensorFlow's default, fast DCT; resize without antialias), with
num_parallel_calls and the size of the thread pool set by hand. Rows come in any order. --cache keeps decoded images in memory.
"""

import glob
import os
import sys

import tf_data_service  # sets TensorFlow's environment
import turns


def main():
    import tensorflow as tf

    shards = sorted(glob.glob(os.path.join(sys.argv[1], "*")))
    threads = int(sys.argv[2])
    dataset = tf.data.Dataset.from_tensor_slices(shards)
    dataset = dataset.interleave(
        tf.data.TFRecordDataset, cycle_length=len(shards), num_parallel_calls=1, deterministic=False
    )
    work = tf_data_service.prepare
    if "--cache" in sys.argv[3:]:
        dataset = dataset.map(tf_data_service.decode, num_parallel_calls=threads, deterministic=False).cache()
        work = tf_data_service.prepare_decoded
    dataset = dataset.map(work, num_parallel_calls=threads, deterministic=False)
    dataset = dataset.batch(turns.BATCH, drop_remainder=True).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    dataset = dataset.with_options(options)

    def epoch():
        for images, _ in dataset.as_numpy_iterator():  # does not copy
            yield images

    turns.serve("tf.data", epoch)


if __name__ == "__main__":
    main()
