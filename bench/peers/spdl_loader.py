"""SPDL: spdl_loader.py PHOTOS_FOLDER THREADS RECORDS (see turns.py).

A pipeline as in its documentation. Its stages are reading, decoding (FFmpeg: crop, bilinear scale, flip and rgb24 in one
filter graph) and batching. It has a decoding thread for each CPU, and a buffer of batches at the end. NHWC. The photographs are files in the
page cache, repeated up to RECORDS.
"""

import glob
import os
import random
import sys

import spdl.io
import turns
from crops import random_crop
from spdl.pipeline import PipelineBuilder

SIDE = turns.IMAGE_SIDE


def read(path):
    with open(path, "rb") as file:
        return file.read()


def decode(data):
    packets = spdl.io.demux_image(data)
    x, y, width, height = random_crop(random, packets.codec.width, packets.codec.height)
    flip = ",hflip" if random.random() < 0.5 else ""
    graph = spdl.io.get_video_filter_desc(
        filter_desc=f"crop={width}:{height}:{x}:{y},scale={SIDE}:{SIDE}:flags=bilinear{flip}"
    )  # and to rgb24
    return spdl.io.decode_packets(packets, filter_desc=graph)


def batch(frames):
    return spdl.io.to_numpy(spdl.io.convert_frames(frames))


def main():
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.JPEG")))
    threads, records = int(sys.argv[2]), int(sys.argv[3])

    def epoch():
        order = list(range(records))
        random.shuffle(order)
        pipeline = (
            PipelineBuilder()
            .add_source(paths[i % len(paths)] for i in order)
            .pipe(read)
            .pipe(decode, concurrency=threads, output_order="completion")
            .aggregate(turns.BATCH, drop_last=True)
            .pipe(batch)
            .add_sink(2)
            .build(num_threads=threads + 1)  # one for the other stages
        )
        with pipeline.auto_stop():
            yield from pipeline

    turns.serve("SPDL", epoch)


if __name__ == "__main__":
    main()
