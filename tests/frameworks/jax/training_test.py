"""Training on real data: sharded, resumed, in two processes (tests/frameworks/jax/training.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from free_port import free_port

pytest.importorskip("jax")
SCRIPT = Path(__file__).with_name("training.py")


def start(job, *arguments, devices=8, **environment):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), job.path, job.data, *map(str, arguments)],
        env={
            **os.environ,
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
            "JAX_PLATFORMS": "cpu",
            **{name: str(value) for name, value in environment.items()},
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process):
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def both(job, *arguments):
    port = free_port()
    processes = [
        start(job, *arguments, devices=4, PROCESS=number, PROCESSES=2, PORT=port) for number in range(2)
    ]
    return [end(process) for process in processes]


def test_a_resumed_training_has_the_losses_of_the_uninterrupted_one(small_job, tmp_path):
    whole = end(start(small_job, "data", 2))
    assert len(whole["losses"]) == 12
    assert whole["losses"][-1] < whole["losses"][0]
    state = tmp_path / "state"
    first = end(start(small_job, "data", 2, 4, state))
    rest = end(start(small_job, "data", 2, -1, state))
    assert len(first["losses"]) == 4
    assert first["losses"] + rest["losses"] == whole["losses"]
    assert first["ids"] + rest["ids"] == whole["ids"]


def test_two_processes_are_one(small_job):
    """Each process reads its half of each step. Together they have the rows and the losses of one process."""
    alone = end(start(small_job, "data", 1))
    ranks = both(small_job, "data", 1)
    assert [(rank["rank"], rank["world_size"]) for rank in ranks] == [(0, 2), (1, 2)]
    assert [a + b for a, b in zip(ranks[0]["ids"], ranks[1]["ids"])] == alone["ids"]
    assert [a + b for a, b in zip(ranks[0]["rows"], ranks[1]["rows"])] == alone["rows"]
    assert ranks[0]["losses"] == ranks[1]["losses"] == pytest.approx(alone["losses"], rel=1e-5)


def test_the_sharding_says_which_rows_are_whose(small_job):
    alone = end(start(small_job, "data", 1))
    ranks = both(small_job, "reversed", 1)
    assert [(rank["rank"], rank["world_size"]) for rank in ranks] == [(1, 2), (0, 2)]
    assert [a + b for a, b in zip(ranks[1]["rows"], ranks[0]["rows"])] == alone["rows"]


def test_processes_that_share_their_rows_are_one_rank(small_job):
    ranks = both(small_job, "model", 1)
    assert [(rank["rank"], rank["world_size"]) for rank in ranks] == [(0, 1), (0, 1)]
    assert ranks[0]["ids"] == ranks[1]["ids"]
    assert len(ranks[0]["ids"][0]) == 16
    assert ranks[0]["losses"] == ranks[1]["losses"]


def test_processes_with_unlike_parts_of_rows_are_refused(small_job):
    port = free_port()
    processes = [start(small_job, "uneven", 1, devices=4, PROCESS=n, PROCESSES=2, PORT=port) for n in range(2)]
    for process in processes:
        _, err = process.communicate(timeout=200)
        assert process.returncode != 0
        assert "processes share some of their rows, or have different numbers of rows" in err
        assert "rank= and world_size=" not in err  # they do not help
