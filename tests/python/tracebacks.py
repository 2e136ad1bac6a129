"""Runs a script as a user would, and reads the traceback that it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import penstock

PACKAGE = os.path.dirname(penstock.__file__)
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.M)


class Shown(NamedTuple):
    lines: list  # the user's lines, in the order of the traceback
    inner: int  # frames of the package
    other: list  # frames of other libraries
    error: str  # the error's class and message
    text: str  # the whole output


def run_mistake(folder, text, **environment):
    """Runs `text`, which must fail, in a process. Returns its traceback."""
    script = Path(folder) / "train.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    assert done.returncode == 1, done.stdout + done.stderr
    source = text.splitlines()
    lines, inner, other = [], 0, []
    for file, line, _ in _FRAME.findall(done.stderr):
        if file == str(script):
            lines.append(source[int(line) - 1].strip())
        elif os.path.dirname(file) == PACKAGE:
            inner += 1
        else:
            other.append(file)
    last = re.split(r'^(?=[\w.]+(?:Error|Died|Exception|Stopped)\b)', done.stderr, flags=re.M)[-1].strip()
    return Shown(lines, inner, other, last, done.stderr)


def check_mistake(folder, text, lines, error, **environment):
    """Checks that the traceback has only the user's lines, at most one frame of the package, and the error."""
    shown = run_mistake(folder, text, **environment)
    assert shown.lines == lines, shown.text
    assert shown.inner <= 1, shown.text
    assert shown.other == [], shown.text
    assert error in shown.error, shown.text
    assert shown.text.count("Traceback (most recent call last)") == 1, shown.text
