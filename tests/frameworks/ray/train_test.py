"""examples/python/ray_train.py on two ranks under a real Ray: undisturbed, and with a killed rank and then a killed Ray."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import penstock

torch = pytest.importorskip("torch")
pytest.importorskip("ray")
from fixtures import BIN, ROOT, ended, eventually  # noqa: E402
from recorded_run import digest  # noqa: E402

import penstock.torch  # noqa: E402

RUN = Path(__file__).with_name("recorded_run.py")
RANKS, EPOCHS, EPOCH_STEPS, CHECKPOINT_STEPS = 2, 3, 5, 2
LONG_SECONDS = 900  # Ray's start, with PyTorch in each of its processes, takes minutes on a busy machine


class Recorded:
    """Runs of the example in one folder, which continue each other."""

    def __init__(self, job, folder):
        self.job, self.folder, self.checkpoints = job, folder, folder / "checkpoints"
        self.ray_folders = []
        folder.mkdir()
        self.pause_at([])

    def start(self):
        """Starts the example. Its processes end with it: Ray asks the kernel for that."""
        self.ray_folders.append(tempfile.mkdtemp(prefix="ray-"))  # short, because it contains Unix sockets
        arguments = {"--epochs": EPOCHS, "--ranks": RANKS, "--batch-size": 20, "--checkpoint": self.checkpoints,
                     "--checkpoint-steps": CHECKPOINT_STEPS}  # fmt: skip
        command = [sys.executable, RUN, self.folder, self.ray_folders[-1], self.job.path, self.job.data]
        environment = {
            **os.environ,
            "HOME": str(self.folder),  # for Ray's own token
            "PENSTOCK_PROGRAM": str(BIN / "penstock"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "client" / "python"), str(ROOT / "examples" / "python")]),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
            "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",  # which prints each line twice
        }
        with (self.folder / "output").open("a") as output:
            self.process = subprocess.Popen(
                list(map(str, (*command, *(part for pair in arguments.items() for part in pair)))),
                env=environment, stdout=output, stderr=output,
            )  # fmt: skip

    def finish(self):
        assert self.process.wait(LONG_SECONDS) == 0, self.output()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def output(self):
        return (self.folder / "output").read_text()

    def pause_at(self, names):
        new = self.folder / "pause.new"
        new.write_text("".join(names))
        new.rename(self.folder / "pause")

    def attempts(self, rank):
        """Returns {process id: digests of its batches}, the oldest process first."""
        found = {}
        for path in sorted(self.folder.glob(f"rows.{rank}.*"), key=lambda path: int(path.name.split(".")[2])):
            found.setdefault(int(path.name.split(".")[3]), []).extend(path.read_text().split())
        return found

    def checkpoint(self):
        """Returns the number of steps in the last checkpoint that Ray has registered, and its folder."""
        try:
            latest = json.loads((self.checkpoints / "checkpoint_manager_snapshot.json").read_text())["latest_checkpoint_result"]
        except (FileNotFoundError, json.JSONDecodeError):  # Ray is writing it
            return 0, None
        return latest["metrics"]["steps"], self.checkpoints / latest["checkpoint_dir_name"]

    def wait_for(self, expected, checkpoint):
        """Waits until the ranks pause: the last process of each has the batches `expected`, and Ray the checkpoint."""

        def arrived():
            assert self.process.poll() is None, self.output()
            last = [[*self.attempts(rank).values()][-1:] for rank in range(RANKS)]
            return last == [[rows] for rows in expected] and self.checkpoint()[0] == checkpoint

        assert eventually(arrived, LONG_SECONDS), self.output()

    def model(self):
        steps, folder = self.checkpoint()
        assert steps == EPOCHS * EPOCH_STEPS
        return torch.load(folder / "state.pt")["model"]

    def losses(self):
        return re.findall(r"epoch \d+: loss ([\d.]+), accuracy [\d.]+ \(\d+ of 100\)", self.output())


@pytest.fixture
def plain_rows(small_job):
    """The digests of all batches of each rank, from plain loops without Ray."""
    rows = []
    for rank in range(RANKS):
        loader = penstock.torch.Loader(
            small_job.path, data_root=small_job.data, batch_size=20, columns=("image", "label"), rank=rank, world_size=RANKS,
            device="cpu", normalize={"image": penstock.torch.Normalize()},
        )  # fmt: skip
        rows.append([digest(batch) for _ in range(EPOCHS) for batch in loader])
    assert {len(each) for each in rows} == {EPOCHS * EPOCH_STEPS}
    return rows


@pytest.fixture
def started():
    """A list of runs whose processes end with the test."""
    runs = []
    yield runs
    for run in runs:
        run.kill()
        for folder in run.ray_folders:
            shutil.rmtree(folder, ignore_errors=True)


def test_a_killed_training_continues_with_the_same_rows_to_the_same_model(small_job, plain_rows, started, tmp_path):
    undisturbed = Recorded(small_job, tmp_path / "undisturbed")
    started.append(undisturbed)
    undisturbed.start()
    undisturbed.finish()
    assert [[*undisturbed.attempts(rank).values()] for rank in range(RANKS)] == [[rows] for rows in plain_rows]
    losses = undisturbed.losses()
    assert len(losses) == EPOCHS, undisturbed.output()
    assert float(losses[-1]) < float(losses[0])

    killed = Recorded(small_job, tmp_path / "killed")
    started.append(killed)
    killed.pause_at(rows[7] for rows in plain_rows)  # the third step of the second epoch
    killed.start()
    killed.wait_for([rows[:8] for rows in plain_rows], checkpoint=6)
    os.kill([*killed.attempts(1)][-1], signal.SIGKILL)

    killed.pause_at(rows[12] for rows in plain_rows)  # the third step of the third epoch
    killed.wait_for([rows[6:13] for rows in plain_rows], checkpoint=12)
    killed.kill()
    for rank in range(RANKS):
        assert ended([*killed.attempts(rank)][-1], LONG_SECONDS)

    killed.pause_at([])
    killed.start()
    killed.finish()
    for rank, rows in enumerate(plain_rows):
        assert [*killed.attempts(rank).values()] == [rows[:8], rows[6:13], rows[12:]]
    assert killed.losses() == losses
    for name, values in undisturbed.model().items():
        assert torch.equal(killed.model()[name], values), name
