"""examples/python with PyTorch and Lightning, run as their readers run them."""

import pytest

pytest.importorskip("torch")
from example_runs import check_training, run_example


def test_pytorch(small_job, tmp_path):
    arguments = ("--epochs", 6, "--checkpoint", tmp_path / "state.pt")
    check_training(run_example("pytorch.py", small_job, *arguments), 6)
    assert run_example("pytorch.py", small_job, *arguments).losses == []  # continues after the last epoch


def test_pytorch_ddp_is_the_same_training_with_one_rank_and_two(small_job):
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    two = run_example("pytorch_ddp.py", small_job, "--epochs", 6, launcher=launcher)
    check_training(two, 6, ranks=2)
    one = run_example("pytorch_ddp.py", small_job, "--epochs", 6)
    check_training(one, 6)
    assert two.losses == pytest.approx(one.losses, rel=0.05)


def test_lightning(small_job, tmp_path):
    pytest.importorskip("lightning")
    check_training(run_example("lightning_fit.py", small_job, "--epochs", 6, "--size", 32, "--checkpoint", tmp_path), 6)
