"""tf.data in the loop's process on TFRecord shards of a table: tf_data_table.py SHARDS_FOLDER THREADS (see turns.py).

One thread interleaves the shards, and a buffer of 10,000 rows shuffles them. parse_example parses a batch at once, with
num_parallel_calls and the size of the thread pool set by hand. Rows come in any order.
"""

import glob
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import turns

_SHUFFLE_ROWS, _BLOCK, _PREFETCH = 10_000, 16, 8


def main():
    shards = sorted(glob.glob(os.path.join(sys.argv[1], "data-*")))
    threads = int(sys.argv[2])
    features = {"numbers": tf.io.FixedLenFeature([turns.ROWS["numbers"][1]], tf.float32)}

    def parse(records):
        return tf.io.parse_example(records, features)["numbers"]

    dataset = tf.data.Dataset.from_tensor_slices(shards).shuffle(len(shards))
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=len(shards), block_length=_BLOCK)
    dataset = dataset.shuffle(_SHUFFLE_ROWS).batch(turns.BATCH, drop_remainder=True)
    dataset = dataset.map(parse, num_parallel_calls=threads, deterministic=False).prefetch(_PREFETCH)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    dataset = dataset.with_options(options)
    turns.serve("tf.data", dataset.as_numpy_iterator, "numbers")  # does not copy


if __name__ == "__main__":
    main()
