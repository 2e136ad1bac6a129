"""Checks the promises of the wheel's Python on any system. wheel_test.sh starts it with the Python that has the wheel.

    wheel_python.py FOLDER JOB    JOB is the name, at $PENSTOCK_COORDINATOR, of a job over FOLDER/data/job.textproto's shards
"""

import os
import subprocess
import sys

import numpy as np

import penstock


def digest_of(loader):
    """Returns the ids and pixels of an epoch's rows, in order."""
    with loader:
        return [(batch.ids.tobytes(), batch["image"].tobytes(), batch["label"].tolist()) for batch in loader]


def main(folder, name):
    coordinator = os.environ.pop("PENSTOCK_COORDINATOR")
    data = os.path.join(folder, "data")
    job = os.path.join(data, "job.textproto")

    here = digest_of(penstock.Loader(job, data_root=data))
    served = digest_of(penstock.Loader(name, coordinator=coordinator))
    assert here == served, "the daemon's rows are not those that are read here"
    assert sorted(label for _, _, labels in here for label in labels)[:3] == [0, 1, 2]
    # Libraries that the environment names affect Python, not the feeder.
    strange = os.path.join(folder, "strange-ours")
    os.mkdir(strange)
    for library in os.listdir(os.path.join(os.path.dirname(penstock.__file__), "_programs", "lib")):
        if library.startswith(("libprotobuf", "libgrpc", "libabsl", "libopencv")):
            with open(os.path.join(strange, library), "w") as file:
                file.write("no library")
    script = f"import penstock; print(sum(1 for _ in penstock.Loader({job!r}, data_root={data!r})))"
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "LD_LIBRARY_PATH": strange},
                          stdout=subprocess.PIPE, text=True, check=True)
    assert int(done.stdout) == len(here)

    own = os.path.join(folder, "own")
    with penstock.ShardWriter(own, order="shuffled") as writer:
        for n in range(250):
            writer.write({"n": n, "half": np.float32(n / 2), "image": np.full((4, 4, 3), n % 256, np.uint8)})
    rows = {}
    with penstock.Loader(writer.result.job, batch_size=10) as loader:
        for batch in loader:
            rows.update((int(n), (float(half), image[0, 0].tolist())) for n, half, image in
                        zip(batch["n"].ravel(), batch["half"].ravel(), batch["image"]))
    assert rows == {n: (n / 2, [n % 256] * 3) for n in range(250)}, "rows were changed on their way"

    made = penstock.init(os.path.join(data, "*.tfrecord"))
    assert "label" in penstock.preview(made, records=2).text
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}: {len(here)} batches, here and served")


if __name__ == "__main__":
    main(*sys.argv[1:])
