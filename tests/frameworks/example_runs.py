"""Runs a file of examples/python as its reader would, and parses its output."""

import os
import re
import subprocess
import sys
from typing import NamedTuple

from fixtures import BIN, ROOT


class Run(NamedTuple):
    losses: list
    correct: list
    rows: list  # rows of each evaluation
    speeds: list  # rows/s of each rank
    printed: str


def run_example(name, job, *arguments, launcher=()):
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    environment.update(PENSTOCK_PROGRAM=str(BIN / "penstock"), OMP_NUM_THREADS="1")
    command = [sys.executable, *launcher, str(ROOT / "examples" / "python" / name), job.path, job.data, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    # Ranks share one pipe: the output of one may be between the words and the end of line of another rank.
    epochs = re.findall(r"epoch \d+: loss ([\d.]+), accuracy [\d.]+ \((\d+) of (\d+)\)", done.stdout)
    speeds = re.findall(r"(\d+) rows/s, waited \d+ % of the time", done.stdout)
    return Run(
        [float(loss) for loss, _, _ in epochs],
        [int(correct) for _, correct, _ in epochs],
        [int(rows) for _, _, rows in epochs],
        [int(speed) for speed in speeds],
        done.stdout,
    )


def check_training(run, epochs, ranks=1):
    """Checks that the loss falls, and that each evaluation counts each of the 100 rows once."""
    assert len(run.losses) == epochs, run.printed
    assert run.losses[-1] < run.losses[0]
    assert run.rows == [100] * epochs
    assert max(run.correct) > 20
    assert len(run.speeds) == ranks, run.printed
    assert min(run.speeds) > 0
