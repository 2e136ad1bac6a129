"""penstock.convert and `penstock convert` without the libraries that read sources. tests/frameworks/data has the others."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import penstock
from fixtures import BIN, ROOT
from penstock import ConfigurationError
from penstock import _frames as encoding
from penstock import _packing as packing
from penstock._convert_command import parser
from penstock._convert_progress import Progress, duration


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PROGRAM", str(BIN / "penstock"))


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "penstock._convert_command", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_a_build_without_the_package_names_the_pip_command():
    done = subprocess.run([str(BIN / "penstock"), "convert", "x.parquet"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "`pip install penstock[parquet]`" in done.stderr


def test_the_help_has_the_flags_of_the_python_command():
    done = command("--help")
    assert done.returncode == 0, done.stderr
    flags = re.findall(r"^  --([a-z-]+)", done.stdout, re.M)
    ours = {text[2:] for action in parser()._actions for text in action.option_strings}
    assert ours == {flag for flag in flags if not flag.startswith("no-")}


def test_the_command_of_the_wheel_runs_the_package(tmp_path):
    sys.path.insert(0, str(ROOT / "client/python/wheel"))
    import build_wheel

    script = tmp_path / "penstock"
    script.write_text(build_wheel.COMMAND.format(name="penstock"))
    done = subprocess.run([sys.executable, str(script), "convert", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage: penstock convert SOURCE --out DIR" in done.stdout


def test_a_wrong_command_line_ends_with_2():
    for arguments in (["x.parquet"], [], ["x.parquet", "--out", "y", "--nothing"]):
        done = command(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("penstock convert: ")


def test_a_missing_library_is_named_with_the_pip_command(tmp_path, monkeypatch):
    for module in ("pyarrow", "penstock._tables"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "penstock._tables")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and more")
    with pytest.raises(ConfigurationError, match=r"needs pyarrow, which is not installed: pip install penstock\[parquet\]"):
        penstock.convert(tmp_path / "x.parquet", tmp_path / "out")
    assert os.listdir(tmp_path) == ["x.parquet"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing.parquet", "there is no file .*nothing.parquet"),
        ("folder", "has no file that ends in .parquet"),
        ("text.txt", "neither a Parquet, Arrow, Feather, HDF5 or ArrayRecord file, nor JSON lines, nor an LMDB"),
        ("old.feather", "Feather file of version 1"),
    ],
)
def test_a_source_that_is_none_is_refused(tmp_path, source, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("some text")
    (tmp_path / "old.feather").write_bytes(b"FEA1....")
    with pytest.raises(ConfigurationError, match=message):
        penstock.convert(tmp_path / source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_url_that_no_storage_has_is_refused():
    with pytest.raises(ConfigurationError, match="nonsense://x.parquet"):
        penstock.convert("nonsense://x.parquet", "out")


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"\xff\xff\xff\xff", "an Arrow stream"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (bytes(16) + b"\xde\xc0\xef\xbe", "an LMDB"),
        (b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f" + bytes(100), "an ArrayRecord file"),
    ],
)
def test_loaders_and_commands_name_the_command_that_converts_a_file(tmp_path, start, kind):
    source = tmp_path / "x y"
    source.write_bytes(start + bytes(600))
    with pytest.raises(ConfigurationError, match=f"this is {kind}, .*`penstock convert FILE --out shards`"):
        penstock.Loader(str(source))
    for command_name in ("init", "index", "verify"):
        done = subprocess.run([str(BIN / "penstock"), command_name, str(source)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"this is {kind}, " in done.stdout + done.stderr
        assert f"`penstock convert '{source}' --out shards` makes shards of it" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ('{"shards": [{"column_names": []}], "version": 2}', "an MDS data set"),
        ('{"version": 2, "shards": [{"column_names": []}]}', "an MDS data set"),
        ('{"chunks": [{"chunk_bytes": 9}], "config": {}}', "a LitData data set"),
    ],
)
def test_loaders_and_commands_name_the_command_that_converts_a_folder(tmp_path, index, kind):
    source = tmp_path / "x y"
    source.mkdir()
    (source / "index.json").write_text(index)
    with pytest.raises(ConfigurationError, match=f"this is {kind}; `penstock convert '{source}' --out shards` makes shards"):
        penstock.Loader(str(source))
    for command_name in ("init", "index", "verify", "bench", "check-config"):
        done = subprocess.run([str(BIN / "penstock"), command_name, str(source)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"this is {kind}; `penstock convert '{source}' --out shards` makes shards of it" in done.stdout + done.stderr


def test_loaders_and_commands_name_the_command_for_a_data_set_of_the_hub():
    with pytest.raises(ConfigurationError, match="`penstock convert hf://me/set --out shards` makes shards of it"):
        penstock.Loader("hf://me/set")
    for command_name in ("init", "index", "verify"):
        arguments = [str(BIN / "penstock"), command_name, "hf://me/set"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode in (1, 2)
        assert "`penstock convert hf://me/set --out shards` makes shards of it" in done.stdout + done.stderr


def rows_of(frames):
    """Returns the bodies of frames."""
    out, at = [], 0
    while at < len(frames):
        size, kind = np.frombuffer(frames[at : at + 8], "<u4")
        assert kind == packing.FEATURES
        out.append(bytes(frames[at + 8 : at + 8 + int(size)]))
        at += 8 + int(size)
    return out


def test_frames_of_columns_are_those_of_single_records():
    texts = [b"one", b"", b"three"]
    ends = np.array([0, 3, 3, 8])
    numbers = np.array([5, 6, 7], "<i8")
    valid = np.array([True, False, True])
    one = b"\x01\x01\x00\x00\x00"
    number = encoding.Fixed(encoding.key_bytes("n") + b"\x03" + one, numbers.view(np.uint8).reshape(3, 8))
    text = encoding.Variable(
        encoding.key_bytes("t") + b"\x01" + one, np.diff(ends).astype("<u4"), b"", b"".join(texts), ends
    )
    made = rows_of(encoding.frames(3, [number], [text]))
    assert made == [packing.features_body({"n": int(n), "t": t}) for n, t in zip(numbers, texts)]
    made = rows_of(encoding.frames(3, [number._replace(valid=valid)], [text._replace(valid=~valid)]))
    bodies = [{"n": 5}, {"t": b""}, {"n": 7}]
    assert made == [packing.features_body(body) for body in bodies]


def test_the_progress_has_rate_and_time_left():
    progress = Progress(100, 1100)
    progress.add(100)
    assert progress.text(progress._begin + 10) == "18 %, 200 rows, 10 rows/s, 2 min left"
    assert [duration(s) for s in (3, 89, 7500)] == ["3 s", "1 min", "2 h 05 min"]
