"""A mistake at penstock.jax.Loader shows the user's own line. Scripts run as processes, with the fake feeder."""

import pytest
from tracebacks import check_mistake

LOADER = "loader = penstock.jax.Loader('fake?steps=3&rows=1', coordinator='x:1', {})"


def script(*lines):
    return "\n".join(["import penstock.jax", *lines, ""])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("ahead=-1", "ConfigurationError: ahead=-1"),
        ("batch_size=-1", "ConfigurationError: batch_size=-1"),
        ("columns=5", "ConfigurationError: columns=5"),
        ("shuffle=True", "ConfigurationError: a loader has no argument shuffle"),
    ],
)
def test_a_wrong_argument_shows_the_call(fake, tmp_path, arguments, error):
    line = LOADER.format(arguments)
    check_mistake(tmp_path, script(line), [line], error)


def test_a_wrong_column_shows_the_loop(fake, tmp_path):
    loop = "for batch in loader:"
    text = script(LOADER.format("columns=('image', 'lable')"), loop, "    pass")
    check_mistake(tmp_path, text, [loop], "ConfigurationError: no column 'lable'")


def test_a_wrong_state_shows_the_call(fake, tmp_path):
    line = "loader.load_state_dict({})"
    check_mistake(tmp_path, script(LOADER.format(""), line), [line], "ConfigurationError: not a state of a penstock.Loader")
