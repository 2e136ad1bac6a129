"""A mistake at penstock.tf.dataset shows the user's own line. Scripts run with the fake feeder."""

import pytest
from tracebacks import PACKAGE, check_mistake, run_mistake

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
        ("data.map(len, threads='2')", "ConfigurationError: threads='2': a number is expected"),
        ("data.map(len, threads=0)", "ConfigurationError: threads=0: at least 1"),
    ],
)
def test_a_wrong_call_shows_its_line(fake, tmp_path, line, error):
    check_mistake(tmp_path, script(DATASET.format(""), line), [line], error)


@pytest.mark.parametrize("options", ["open=NOT_FOUND", "open=UNAVAILABLE"])
def test_a_job_that_does_not_open_shows_the_call(fake, tmp_path, options):
    line = DATASET.format("").replace("steps=3&rows=1", options)
    check_mistake(tmp_path, script(line), [line], "Error: ")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("steps=4&rows=1&fail=2:DATA_LOSS", "DataError: "),
        ("steps=4&rows=1&exit=2", "FeederDied: penstock's feeder"),
    ],
)
def test_an_error_of_an_iteration_shows_the_loop_and_at_most_one_frame_of_the_package(fake, tmp_path, options, error):
    loop = "for batch in data:"
    shown = run_mistake(tmp_path, script(DATASET.format("").replace("steps=3&rows=1", options), loop, "    pass"))
    assert shown.lines == [loop], shown.text
    assert error in shown.text, shown.text
    assert shown.text.count(PACKAGE) <= 1, shown.text
