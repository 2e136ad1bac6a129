"""Runs a user's script with a mistake, and reads its traceback."""

import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import penstock

PACKAGE = os.path.dirname(penstock.__file__)
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.M)


class Shown(NamedTuple):
    lines: list  # the user's lines, in the order of the traceback
    inner: int  # frames of the package
    other: list  # frames of other libraries
    error: str  # the error's class and message
    text: str  # the whole output


def _write(folder, text):
    script = Path(folder) / "train.py"
    script.write_text(text)
    return script


def _read(script, output):
    source = script.read_text().splitlines()
    lines, inner, other = [], 0, []
    for file, line, _ in _FRAME.findall(output):
        if file == str(script):
            lines.append(source[int(line) - 1].strip())
        elif os.path.dirname(file) == PACKAGE:
            inner += 1
        else:
            other.append(file)
    last = re.split(r"^(?=[\w.]+(?:Error|Died|Exception|Stopped)\b)", output, flags=re.M)[-1].strip()
    return Shown(lines, inner, other, last, output)


def run_mistake(folder, text, **environment):
    """Runs `text`, which must fail, in this process. Returns its traceback, as Python prints it."""
    script = _write(folder, text)
    try:
        with mock.patch.dict(os.environ, environment):
            exec(compile(text, script, "exec"), {"__name__": "__main__"})
    except Exception as error:
        below = error.__traceback__.tb_next  # without the frame of this function
        return _read(script, "".join(traceback.format_exception(type(error), error, below)))
    raise AssertionError("the script does not fail")


def run_mistake_in_a_process(folder, text, **environment):
    """Runs `text`, which must fail, in a process. Returns the traceback that it prints."""
    script = _write(folder, text)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return _read(script, done.stderr)


def check_mistake(folder, text, lines, error, run=run_mistake, **environment):
    """Checks that the traceback has only the user's lines, at most one frame of the package, and the error."""
    shown = run(folder, text, **environment)
    assert shown.lines == lines, shown.text
    assert shown.inner <= 1, shown.text
    assert shown.other == [], shown.text
    assert error in shown.error, shown.text
    assert shown.text.count("Traceback (most recent call last)") == 1, shown.text
