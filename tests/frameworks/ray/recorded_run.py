"""Runs examples/python/ray_train.py under a Ray of its own: recorded_run.py FOLDER RAY_FOLDER ARGUMENT-OF-THE-EXAMPLE...

Each rank appends the digest of each training batch to a file FOLDER/rows.RANK.TIME.PID, before the training receives the
batch. A rank waits while the file FOLDER/pause contains this digest.
"""

import hashlib
import os
import sys
import time
from pathlib import Path


def digest(batch):
    return hashlib.sha256(b"".join(part.numpy().tobytes() for part in batch)).hexdigest()


def recorded(train, folder):
    """Returns a function for Ray's ranks that does what `train` does, and records."""

    def run(config):
        import penstock.torch

        class Recorder(penstock.torch.Loader):
            def __iter__(self):
                file = folder / f"rows.{self.rank}.{time.time_ns()}.{os.getpid()}"
                for batch in super().__iter__():
                    if len(batch) == 2:  # no batch of the evaluation
                        name = digest(batch)
                        with file.open("a") as rows:
                            rows.write(name + "\n")
                        while name in (folder / "pause").read_text():
                            time.sleep(0.02)
                    yield batch

        penstock.torch.Loader = Recorder
        train(config)

    return run


def main(folder, ray_folder, *arguments):
    import ray
    import ray_train

    # Two cores for two ranks. Ray's own choice for the object store depends on the machine's memory.
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, _temp_dir=ray_folder)
    ray_train.train = recorded(ray_train.train, Path(folder))
    sys.argv = ["ray_train.py", *arguments]
    ray_train.main()


if __name__ == "__main__":
    main(*sys.argv[1:])
