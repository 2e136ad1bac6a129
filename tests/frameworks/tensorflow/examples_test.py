"""examples/python with TensorFlow and Keras, run as their readers run them."""

import pytest

from example_runs import check_training, run_example


@pytest.mark.parametrize("name", ["keras_fit.py", "tf_gradient_tape.py"])
def test_one_process(name, small_job, tmp_path):
    arguments = ("--epochs", 6, "--checkpoint", tmp_path / "checkpoint")
    check_training(run_example(name, small_job, *arguments), 6)
    assert run_example(name, small_job, *arguments).losses == []  # continues after the last epoch


def test_two_workers_are_the_same_training_as_one(small_job):
    two = run_example("tf_multi_worker.py", small_job, "--epochs", 6, "--local", 2)
    check_training(two, 6, ranks=2)
    one = run_example("tf_multi_worker.py", small_job, "--epochs", 6)
    check_training(one, 6)
    assert two.losses == pytest.approx(one.losses, rel=0.05)
