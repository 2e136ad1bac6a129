"""PyTorch on real data: trainings that stop and resume, and ranks that together equal one."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

torch = pytest.importorskip("torch")
from training import Training, answer_of, run_ranks  # noqa: E402

RANK = Path(__file__).with_name("ddp_rank.py")


@pytest.mark.parametrize("stop_at", [1, 3, 5, 7])
def test_a_resumed_training_has_the_losses_of_the_uninterrupted_one(small_job, stop_at):
    """torch.save saves the whole state. An epoch has 5 steps, so this includes the middle and the end of epochs."""
    whole = Training(*small_job).run(2)
    assert len(whole) == 10
    penstock.shutdown()

    first = Training(*small_job)
    seen = first.run(2, stop_at)
    file = io.BytesIO()
    torch.save(first.state(), file)
    del first
    penstock.shutdown()

    file.seek(0)
    again = Training(*small_job, seed=5)
    again.load(torch.load(file, weights_only=False))
    assert seen + again.run(2) == whole


def one_rank(job, *arguments):
    command = [sys.executable, str(RANK), job.path, job.data, *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    return answer_of(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def joined(ranks, what):
    return [[row for step in steps for row in step[what]] for steps in zip(*(rank["steps"] for rank in ranks))]


def test_two_ranks_together_are_one(small_job):
    alone = one_rank(small_job, 2)
    ranks = run_ranks(RANK, small_job.path, small_job.data, 2)
    assert [rank["world_size"] for rank in ranks] == [2, 2]
    for what in ("ids", "rows", "labels"):
        assert joined(ranks, what) == [step[what] for step in alone["steps"]]
    losses = [sum(step["loss"] for step in steps) / 2 for steps in zip(*(rank["steps"] for rank in ranks))]
    assert losses == pytest.approx([step["loss"] for step in alone["steps"]], rel=1e-4)


def test_ranks_go_on_where_the_state_of_one_says(small_job, tmp_path):
    arguments = (small_job.path, small_job.data, 2)
    whole = run_ranks(RANK, *arguments)
    first = run_ranks(RANK, *arguments, 3, tmp_path / "state")
    rest = run_ranks(RANK, *arguments, -1, tmp_path / "state")
    assert [a["steps"] + b["steps"] for a, b in zip(first, rest)] == [rank["steps"] for rank in whole]
