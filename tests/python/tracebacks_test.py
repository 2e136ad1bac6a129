"""A traceback ends at the user's own line. Scripts with a mistake run with the fake feeder."""

import pytest

import penstock
from penstock import _tracebacks
from tracebacks import check_mistake, run_mistake, run_mistake_in_a_process

LOADER = "loader = penstock.Loader('fake?{options}', coordinator='x:1'{arguments})"


def script(*lines):
    return "\n".join(["import penstock", *lines, ""])


def loader(options="steps=3&rows=1", arguments=""):
    return LOADER.format(options=options, arguments=arguments)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (loader(arguments=", batch_size=-1"), "penstock.ConfigurationError: batch_size=-1 is less than 0"),
        (loader(arguments=", timeout=0"), "ConfigurationError: timeout=0"),
        (loader(arguments=", rank=2, world_size=2"), "ConfigurationError: rank 2 of 2"),
        (loader(arguments=", num_workers=4"), "ConfigurationError: a loader has no argument num_workers"),
        (loader(arguments=", memory='4 gigs'"), "ConfigurationError: memory='4 gigs'"),
        (loader(arguments=", columns=5"), "ConfigurationError: columns=5"),
        (loader(arguments=", epochs='3'"), "ConfigurationError: epochs='3': a number is expected"),
        (loader(arguments=", timeout='long'"), "ConfigurationError: timeout='long': a number is expected"),
        (loader(arguments=", rank='0', world_size=2"), "ConfigurationError: rank='0': a number is expected"),
        (loader(arguments=", data_root=5"), "ConfigurationError: data_root=5: a folder, several folders, or {name: folder}"),
        (loader(arguments=", data_root={'data': 5}"), "ConfigurationError: data_root=5: a path is expected"),
        (loader(arguments=", index_dir=5"), "ConfigurationError: index_dir=5: a path is expected"),
        (loader(arguments=", epoch=3"), "TypeError: Loader.__init__() got an unexpected keyword argument 'epoch'"),
        ("penstock.Loader(5)", "ConfigurationError: a job is a file, a name or a penstock.Job, not int"),
        ("penstock.Job(files=5)", "ConfigurationError: files=5: a glob or several are expected"),
        ("penstock.Job(files=[5])", "ConfigurationError: files=5: a path is expected"),
        ("penstock.Job(files='x').ops.append(5)", "ConfigurationError: job_spec.ops[0]: a message Op or a dict is expected"),
        ("penstock.Job(files='x').save('/nowhere/a/b')", "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/a"),
        ("penstock.Job.load(5)", "ConfigurationError: path=5: a path is expected"),
        ("penstock.init(5)", "ConfigurationError: glob=5: a path is expected"),
        ("penstock.submit(5)", "ConfigurationError: a job is a penstock.Job or a job file, not int"),
        ("penstock.status(timeout='long')", "ConfigurationError: timeout='long': a number is expected"),
        ("penstock.ShardWriter(5)", "ConfigurationError: out=5: a path is expected"),
        ("penstock.ops.resise(height=224)", "AttributeError: there is no op 'resise'"),
        ("penstock.Job(fils='x')", "ConfigurationError: there is no field 'fils'"),
        ("penstock.Job(files='x', batch={'sise': 3})", "ConfigurationError: there is no field 'sise'"),
        ("penstock.ops.resize(heigth=224)", "ConfigurationError: there is no field 'heigth'"),
        ("penstock.find_place(1, None)", "ConfigurationError: rank=1, world_size=None"),
        ("penstock.Job.load('nowhere.textproto')", "ConfigurationError: nowhere.textproto cannot be read"),
    ],
)
def test_a_wrong_argument_shows_the_call(fake, tmp_path, line, error):
    check_mistake(tmp_path, script(line), [line], error.removeprefix("penstock."))


def test_a_mistake_below_functions_of_the_user_shows_all_of_them(fake, tmp_path):
    text = script("def make():", f"    {loader(arguments=', batch_size=-1')}", "def main():", "    make()", "main()")
    check_mistake(tmp_path, text, ["main()", "make()", loader(arguments=", batch_size=-1")], "batch_size=-1")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("open=NOT_FOUND", "ConfigurationError: no job fake"),
        ("steps=4&rows=1&fail=2:UNAVAILABLE", "MachineError: "),
        ("steps=4&rows=1&fail=2:DATA_LOSS", "DataError: "),
        ("steps=4&rows=1&exit=2", "FeederDied: penstock's feeder"),
    ],
)
@pytest.mark.parametrize("mapped", ["", ".map(len)", ".map(len).map(abs)"])
def test_an_error_of_a_loop_shows_the_loop(fake, tmp_path, options, error, mapped):
    line = f"for batch in loader{mapped}:"
    check_mistake(tmp_path, script(loader(options), line, "    pass"), [line], error)


@pytest.mark.parametrize(
    "line",
    ["len(loader)", "loader.schema", "loader.epoch", "loader.batch_size", "loader.state_dict()", "next(iter(loader))"],
)
def test_an_error_of_another_first_use_shows_that(fake, tmp_path, line):
    check_mistake(tmp_path, script(loader("open=NOT_FOUND"), line), [line], "ConfigurationError: no job fake")


def test_a_process_prints_the_same_as_it_ends(fake, tmp_path):
    text = script(loader("steps=4&rows=1&exit=2"), "for batch in loader:", "    pass")
    check_mistake(tmp_path, text, ["for batch in loader:"], "FeederDied: penstock's feeder", run_mistake_in_a_process)


@pytest.mark.parametrize("mapped", ["", ".map(len)"])
def test_a_wait_that_takes_too_long_shows_the_loop(fake, tmp_path, mapped):
    line = f"for batch in loader{mapped}:"
    text = script(loader("steps=4&rows=1&silent=2", ", timeout=0.5"), line, "    pass")
    check_mistake(tmp_path, text, [line], "TimeoutError: no batch for ")


@pytest.mark.parametrize("line", ["len(loader)", "loader.schema", "list(loader)", "list(loader.map(len))"])
def test_a_loader_that_was_closed_shows_its_use(fake, tmp_path, line):
    check_mistake(tmp_path, script(loader(), "loader.close()", line), [line], "PenstockError: this loader was closed")


@pytest.mark.parametrize("line", ["penstock.status()", "penstock.ShardWriter('shards')", "len(loader)"])
def test_a_program_that_does_not_start_shows_the_call(fake, tmp_path, line):
    broken = tmp_path / "broken"
    broken.write_text("not a program")
    broken.chmod(0o755)
    check_mistake(tmp_path, script(loader(), line), [line], "could not be started: ", PENSTOCK_PROGRAM=str(broken))


@pytest.mark.parametrize("mapped", ["", ".map(len)"])
def test_threads_of_map_show_the_call(fake, tmp_path, mapped):
    for threads, error in [("0", "threads=0: at least 1"), ("'2'", "threads='2': a number is expected")]:
        line = f"loader{mapped}.map(abs, threads={threads})"
        check_mistake(tmp_path, script(loader(), line), [line], f"ConfigurationError: {error}")


def test_a_loop_without_end_has_no_length(fake, tmp_path):
    text = script(loader(arguments=", epochs=0"), "len(loader)")
    check_mistake(tmp_path, text, ["len(loader)"], "TypeError: epochs=0: a loop without end has no length")


def test_strings_of_a_wrong_column_show_the_line(fake, tmp_path):
    for name, error in [("lable", "no column 'lable'"), ("label", "label is a column of int64, not of strings")]:
        line = f"batch.strings('{name}')"
        check_mistake(tmp_path, script(loader(), "batch = next(iter(loader))", line), [line], error)


def test_a_column_that_a_batch_lacks_shows_the_line(fake, tmp_path):
    text = script(loader(), "for batch in loader:", "    batch['lable']")
    check_mistake(tmp_path, text, ["batch['lable']"], "no column 'lable'")


@pytest.mark.parametrize("mapped", ["", ".map(len)"])
def test_a_wrong_state_shows_the_call(fake, tmp_path, mapped):
    line = f"loader{mapped}.load_state_dict({{'epoch': 3}})"
    check_mistake(tmp_path, script(loader(), line), [line], "ConfigurationError: not a state of a penstock.Loader")


def test_a_loop_that_is_over_shows_the_line(fake, tmp_path):
    text = script(loader(), "old = iter(loader)", "next(old)", "new = iter(loader)", "next(new)", "next(old)")
    check_mistake(tmp_path, text, ["next(old)"], "PenstockError: this loop is over")


# ---- Kept frames


USER = ["def inner(batch):", "    return 1 // 0", "def mine(batch):", "    return inner(batch)"]


@pytest.mark.parametrize("mapped", [".map(mine)", ".map(mine, threads=3)", ".map(lambda batch: batch).map(mine)"])
def test_frames_of_a_mapped_function_stay(fake, tmp_path, mapped):
    line = f"for batch in loader{mapped}:"
    check_mistake(
        tmp_path,
        script(loader(), *USER, line, "    pass"),
        [line, "return inner(batch)", "return 1 // 0"],
        "ZeroDivisionError",
    )


def test_a_mapped_function_that_uses_the_package_shows_both_mistakes_lines(fake, tmp_path):
    text = script(loader(), "def mine(batch):", "    penstock.find_place(1, None)", "list(loader.map(mine))")
    check_mistake(tmp_path, text, ["list(loader.map(mine))", "penstock.find_place(1, None)"], "ConfigurationError: rank=1")


def test_frames_of_libraries_that_a_mapped_function_calls_stay(fake, tmp_path):
    text = script("import json", loader(), "def mine(batch):", "    json.loads('{')", "list(loader.map(mine))")
    shown = run_mistake(tmp_path, text)
    assert shown.lines == ["list(loader.map(mine))", "json.loads('{')"]
    assert shown.inner == 1
    assert any("json" in file for file in shown.other)


def test_a_mapped_function_that_raises_stop_iteration_shows_its_line(fake, tmp_path):
    text = script(loader(), "def mine(batch):", "    raise StopIteration('mine')", "list(loader.map(mine))")
    shown = run_mistake(tmp_path, text)
    assert shown.lines == ["raise StopIteration('mine')", "list(loader.map(mine))"]
    assert shown.inner == 1


def test_an_error_that_is_asked_for_again_does_not_grow(fake, tmp_path):
    again = [loader(), *USER, "loop = iter(loader.map(mine))", "for _ in range(5):", "    try:", "        next(loop)"]
    text = script(*again, "    except ZeroDivisionError:", "        pass", "next(loop)")
    check_mistake(tmp_path, text, ["next(loop)", "return inner(batch)", "return 1 // 0"], "ZeroDivisionError")


def test_an_error_of_the_users_own_objects_keeps_its_frames(fake, tmp_path):
    own = ["class Path:", "    def __fspath__(self):", "        return 1 // 0"]
    line = loader(arguments=", data_root=[Path()]")
    shown = run_mistake(tmp_path, script(*own, line))
    assert shown.lines == [line, "return 1 // 0"], shown.text


def test_a_defect_of_the_package_keeps_all_frames(fake, tmp_path):
    break_it = ["from penstock import _opening", "_opening.find_place = None"]
    shown = run_mistake_in_a_process(tmp_path, script(*break_it, loader(), "len(loader)"))
    assert shown.lines == ["len(loader)"]
    assert shown.inner > 2
    assert "TypeError" in shown.error


def test_the_environment_variable_keeps_all_frames(fake, tmp_path):
    text = script(loader("open=NOT_FOUND"), "for batch in loader:", "    pass")
    shown = run_mistake(tmp_path, text, PENSTOCK_TRACEBACK="full")
    assert shown.lines == ["for batch in loader:"]
    assert shown.inner > 3
    assert "no job fake" in shown.error


def test_a_cause_keeps_its_own_frames_and_a_chain_of_errors_in_a_ring_ends(tmp_path):
    own = penstock.PenstockError("outer")
    own.__cause__ = cause = ValueError("inner")
    cause.__context__ = own
    with pytest.raises(ValueError, match="inner"):
        raise cause
    assert _tracebacks.shorten(own)
    assert cause.__traceback__.tb_frame.f_code.co_filename == __file__
