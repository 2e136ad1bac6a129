"""examples/python/jax_sharded.py."""

import pytest

pytest.importorskip("jax")
from example_runs import check_training, run_example


def test_jax_sharded(small_job, tmp_path, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS")
    arguments = ("--epochs", 8, "--checkpoint", tmp_path / "state")
    check_training(run_example("jax_sharded.py", small_job, *arguments), 8)
    assert run_example("jax_sharded.py", small_job, *arguments).losses == []  # continues after the last epoch
