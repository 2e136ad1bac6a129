"""Runs the program `penstock` and returns its output."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import tempfile
from typing import IO, Any, Dict, Optional

from ._arguments import check_number
from ._errors import MachineError, PenstockError, TimeoutError, error_of
from ._program import find_program

_TAIL = 64 << 10
_SET_PIPE_BYTES = 1031  # F_SETPIPE_SZ, which fcntl has since Python 3.10
_PIPE_BYTES = 1 << 20  # as much as `penstock pack` reads at once


def quiet_environment() -> Dict[str, str]:
    """Returns the environment of a child that prints its error as JSON, without colors."""
    return {**os.environ, "PENSTOCK_ERRORS": "json", "NO_COLOR": "1"}


def stderr_file() -> IO[bytes]:
    """Returns an unlinked file for a child's errors. Unlike a pipe, it never blocks the child."""
    return tempfile.TemporaryFile(prefix="penstock-")


def failure_of(command: str, code: int, errors: IO[bytes]) -> PenstockError:
    """Returns the exception for a child that exited with `code` and wrote to `errors`."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _TAIL))
    lines = errors.read().decode(errors="replace").strip().splitlines()
    for line in reversed(lines):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and {"code", "message"} <= said.keys():
            return error_of(said["code"], f"penstock {command}: {said['message']}", of_batch=False)
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    return MachineError("\n".join([f"penstock {command} {how}", *lines[-5:]]))


def start_pack(errors: IO[bytes], *arguments: str) -> subprocess.Popen[bytes]:
    """Starts `penstock pack`, which reads records from a pipe. It writes its errors to `errors`."""
    try:
        # The program has its own session, because Ctrl-C is for this process, which then ends the program.
        process = subprocess.Popen(
            [find_program(), "pack", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=quiet_environment(),
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineError(f"penstock pack could not be started: {error}") from None
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # a user may have too many pipes of this size
        fcntl.fcntl(process.stdin, _SET_PIPE_BYTES, _PIPE_BYTES)
    return process


def answer_of(command: str, text: bytes) -> Dict[str, Any]:
    """Returns the JSON object that a command printed. Raises MachineError for other output."""
    try:
        answer = json.loads(text)
    except ValueError:
        raise MachineError(f"penstock {command} printed {text[:200]!r} instead of JSON: is it of another release?") from None
    assert isinstance(answer, dict)
    return answer


def run(
    command: str, *arguments: str, stdin: Optional[bytes] = None, timeout: Optional[float] = None, check: bool = True
) -> bytes:
    """Returns the output of `penstock COMMAND ARGUMENTS...`. Raises its error. If `check` is false, an output takes
    precedence over the error.
    """
    if timeout is not None:
        check_number("timeout", timeout)
    with stderr_file() as errors:
        try:
            done = subprocess.run(
                [find_program(), command, *arguments],
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=quiet_environment(),
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"penstock {command} did not answer within {timeout:g} s") from None
        except OSError as error:
            raise MachineError(f"penstock {command} could not be started: {error}") from None
        if done.returncode != 0 and (check or not done.stdout):
            raise failure_of(command, done.returncode, errors)
        return bytes(done.stdout)
