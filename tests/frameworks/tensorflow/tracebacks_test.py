"""A mistake at penstock.tf.dataset shows the user's own line. Scripts run as processes, with the fake feeder."""

import pytest
from tracebacks import check_mistake

DATASET = "data = penstock.tf.dataset('fake?steps=3&rows=1', coordinator='x:1', {})"


def script(*lines):
    return "\n".join(["import penstock.tf", *lines, ""])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("batch_size=-1", "ConfigurationError: batch_size=-1"),
        ("columns=5", "ConfigurationError: columns=5"),
        ("columns='lable'", "ConfigurationError: no column 'lable'"),
        ("shuffle=True", "ConfigurationError: a loader has no argument shuffle"),
    ],
)
def test_a_wrong_argument_shows_the_call(fake, tmp_path, arguments, error):
    line = DATASET.format(arguments)
    check_mistake(tmp_path, script(line), [line], error)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("data.load_state_dict({})", "ConfigurationError: not a state of a penstock.Loader"),
        ("data.state_dict(steps=3)", "ConfigurationError: steps=3"),
        ("data.map(len, threads=0)", "ConfigurationError: threads=0: at least 1"),
    ],
)
def test_a_wrong_call_shows_its_line(fake, tmp_path, line, error):
    check_mistake(tmp_path, script(DATASET.format(""), line), [line], error)
