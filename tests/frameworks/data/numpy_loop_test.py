"""examples/python/numpy_loop.py."""

from example_runs import check_training, run_example


def test_numpy_loop(small_job, tmp_path):
    arguments = ("--epochs", 6, "--checkpoint", tmp_path / "state.npz")
    check_training(run_example("numpy_loop.py", small_job, *arguments), 6)
    assert run_example("numpy_loop.py", small_job, *arguments).losses == []  # continues after the last epoch
