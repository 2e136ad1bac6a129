"""A mistake at penstock.torch.Loader shows the user's own line. Scripts run with the fake feeder."""

import pytest
from tracebacks import check_mistake, run_mistake

LOADER = "loader = penstock.torch.Loader('fake?steps=3&rows=1', coordinator='x:1', {})"


def script(*lines):
    return "\n".join(["import penstock.torch", *lines, ""])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("ahead=-1", "ConfigurationError: ahead=-1"),
        ("ahead='1'", "ConfigurationError: ahead='1': a number is expected"),
        ("batch_size=-1", "ConfigurationError: batch_size=-1"),
        ("device='gpu'", "ConfigurationError: device='gpu' is not a device"),
        ("register=True", "ConfigurationError: register=True page-locks memory"),
        ("normalize=5", "ConfigurationError: normalize=5"),
        ("shuffle=True", "ConfigurationError: a loader has no argument shuffle"),
        ("epoch=3", "TypeError: Loader.__init__() got an unexpected keyword argument 'epoch'"),
    ],
)
def test_a_wrong_argument_shows_the_call(fake, tmp_path, arguments, error):
    line = LOADER.format(arguments)
    check_mistake(tmp_path, script(line), [line], error)


@pytest.mark.parametrize("mapped", ["", ".map(len)"])
def test_a_wrong_column_shows_the_loop(fake, tmp_path, mapped):
    loop = f"for batch in loader{mapped}:"
    text = script(LOADER.format("columns=('image', 'lable')"), loop, "    pass")
    check_mistake(tmp_path, text, [loop], "ConfigurationError: no column 'lable'")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("open=NOT_FOUND", "ConfigurationError: no job fake"),
        ("steps=4&rows=1&fail=2:DATA_LOSS", "DataError: "),
        ("steps=4&rows=1&exit=2", "FeederDied: penstock's feeder"),
    ],
)
@pytest.mark.parametrize("mapped", ["", ".map(len)"])
def test_an_error_of_a_loop_shows_the_loop(fake, tmp_path, options, error, mapped):
    loop = f"for batch in loader{mapped}:"
    text = script(LOADER.format("columns='label'").replace("steps=3&rows=1", options), loop, "    pass")
    check_mistake(tmp_path, text, [loop], error)


def test_a_wait_that_takes_too_long_shows_the_loop(fake, tmp_path):
    text = script(LOADER.format("timeout=0.5").replace("rows=1", "rows=1&silent=2"), "list(loader)")
    check_mistake(tmp_path, text, ["list(loader)"], "TimeoutError: no batch for ")


def test_a_loader_that_was_closed_shows_its_use(fake, tmp_path):
    text = script(LOADER.format(""), "loader.close()", "list(loader)")
    check_mistake(tmp_path, text, ["list(loader)"], "PenstockError: this loader was closed")


def test_frames_of_a_mapped_function_stay(fake, tmp_path):
    text = script(LOADER.format("columns='label'"), "def mine(labels):", "    return 1 // 0", "list(loader.map(mine))")
    check_mistake(tmp_path, text, ["list(loader.map(mine))", "return 1 // 0"], "ZeroDivisionError")


def test_a_wrong_state_shows_the_call(fake, tmp_path):
    line = "loader.load_state_dict({})"
    check_mistake(tmp_path, script(LOADER.format(""), line), [line], "ConfigurationError: not a state of a penstock.Loader")


def test_the_environment_variable_keeps_all_frames(fake, tmp_path):
    shown = run_mistake(tmp_path, script(LOADER.format("batch_size=-1")), PENSTOCK_TRACEBACK="full")
    assert shown.inner > 2
