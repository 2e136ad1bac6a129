"""DALI's CPU pipeline on TFRecord shards: dali_cpu.py SHARDS_FOLDER THREADS [--torch] (see turns.py).

Built as in its documentation of ImageNet training: readers.tfrecord, decoders.image_random_crop, resize with antialias, flip;
uint8 NHWC. The pipeline uses no GPU (device_id None). With --torch, DALI's PyTorch iterator copies batches into tensors.
Without it the pipeline itself returns them.
"""

import glob
import os
import struct
import sys
import tempfile

import numpy as np
import turns
from nvidia.dali import fn, pipeline_def, tfrecord, types


def write_index(shard, path):
    """Writes an index like DALI's tfrecord2idx: a line "offset size" for each record. A TFRecord frame has the length, the
    CRC of the length, the data, and the CRC of the data."""
    records = 0
    with open(shard, "rb") as data, open(path, "w") as index:
        offset = 0
        while header := data.read(12):
            size = struct.unpack("<Q", header[:8])[0] + 16
            index.write(f"{offset} {size}\n")
            offset += size
            data.seek(offset)
            records += 1
    return records


@pipeline_def(batch_size=turns.BATCH, device_id=None, prefetch_queue_depth=2)
def training(shards, indexes):
    record = fn.readers.tfrecord(
        path=shards,
        index_path=indexes,
        features={
            "image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "image/class/label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
        },
        random_shuffle=True,
        name="reader",
    )
    images = fn.decoders.image_random_crop(
        record["image/encoded"],
        device="cpu",
        output_type=types.RGB,
        random_area=[0.08, 1.0],
        random_aspect_ratio=[3 / 4, 4 / 3],
        num_attempts=10,
    )
    images = fn.resize(
        images,
        device="cpu",
        size=[turns.IMAGE_SIDE, turns.IMAGE_SIDE],
        interp_type=types.INTERP_LINEAR,
        antialias=True,
    )
    images = fn.flip(images, device="cpu", horizontal=fn.random.coin_flip(probability=0.5))
    return images, record["image/class/label"]


def torch_epochs(pipeline):
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    batches = DALIGenericIterator(
        pipeline, ["image", "label"], reader_name="reader", last_batch_policy=LastBatchPolicy.DROP, auto_reset=True
    )

    def epoch():
        for (batch,) in batches:
            yield batch["image"].numpy()

    return epoch


def main():
    shards = sorted(glob.glob(os.path.join(sys.argv[1], "*")))
    with tempfile.TemporaryDirectory() as folder:
        indexes = [os.path.join(folder, os.path.basename(shard)) for shard in shards]
        records = sum(map(write_index, shards, indexes))
        pipeline = training(shards, indexes, num_threads=int(sys.argv[2]), seed=17)
        pipeline.build()

        def epoch():
            for _ in range(records // turns.BATCH):
                images, _ = pipeline.run()
                yield np.asarray(images.as_tensor())

        turns.serve("DALI", torch_epochs(pipeline) if "--torch" in sys.argv[3:] else epoch)


if __name__ == "__main__":
    main()
