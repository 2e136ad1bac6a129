"""Checks the job of a loader when the loader is constructed. Runs `penstock check-config`, so each mistake has the same
message as on the command line.
"""

from __future__ import annotations

import os
from typing import Any, Dict, NamedTuple, NoReturn, Sequence

from ._commands import answer_of, run
from ._errors import ConfigurationError, PenstockError

_COMMAND = "check-config"
_PREFIX = f"penstock {_COMMAND}: "


class JobFacts(NamedTuple):
    """Facts about a job that a loader knows before it opens the job."""

    name: str
    batch_size: int  # 0: unknown


def check_job(members: Dict[str, Any], given: Any, roots: Sequence[str], timeout: float) -> JobFacts:
    """Checks the job of a request, and that its data roots are folders. Returns the facts about the job.

    Does not check a coordinator's job: the loader checks that job when it opens it. `members` is the result of
    job_members. `given` is the job as the caller wrote it, for messages. `timeout` limits the check, in seconds. Raises
    ConfigurationError for mistakes of the job, and otherwise the error of the command.
    """
    if "job" in members:
        return JobFacts(str(members["job"]), 0)
    text = members.get("job_text")
    path = "-" if text is not None else _file_argument(os.fspath(given))
    flags = ["--kind=job", "--json", *(f"--data-root={root}" for root in roots)]
    try:
        data = text.encode() if text is not None else None
        answer = answer_of(_COMMAND, run(_COMMAND, *flags, "--", path, stdin=data, timeout=timeout, check=False))
    except UnicodeEncodeError:
        raise ConfigurationError("the job contains characters that UTF-8 cannot encode; remove them") from None
    except PenstockError as error:
        _reraise(error, given, text is not None)
    if not answer["ok"]:
        raise text_mistakes("this job", answer) if text is not None else _file_mistakes(path, answer)
    job = answer["job"]
    return JobFacts(job["name"], job["batch"]["size"])


def text_mistakes(what: str, answer: Dict[str, Any]) -> ConfigurationError:
    """Returns the error for the mistakes of a job that comes from a text, not from a file."""
    lines = []
    for mistake in answer["mistakes"]:
        place = [f"line {mistake['line']}:"] if mistake["line"] else []
        place += [f"{mistake['field']}:"] if mistake["field"] else []
        lines.append(" ".join([*place, mistake["message"]]))
    count = "a mistake" if len(lines) == 1 else f"{len(lines)} mistakes"
    return ConfigurationError("\n".join([f"{what} has {count}:", *lines]), "INVALID_ARGUMENT")


def _file_mistakes(path: str, answer: Dict[str, Any]) -> ConfigurationError:
    """Returns the error for the mistakes of a job file. Its lines are those of commands: "train.textproto:12: field: message".
    """
    lines = []
    for mistake in answer["mistakes"]:
        place = path + (f":{mistake['line']}" if mistake["line"] else "")
        lines.append(": ".join([place, *([mistake["field"]] if mistake["field"] else []), mistake["message"]]))
    return ConfigurationError("\n".join(lines), "INVALID_ARGUMENT")


def _file_argument(path: str) -> str:
    """Returns `path` in a form that a command does not parse as a flag or as standard input ("-")."""
    return f"./{path}" if path.startswith("-") else path


def _reraise(error: PenstockError, given: Any, is_text: bool) -> NoReturn:
    """Raises `error` without the name of the command. Adds a hint if `given` may be the name of a coordinator's job."""
    message = str(error).removeprefix(_PREFIX)
    if error.code == "NOT_FOUND" and not is_text and _may_be_a_name(given):
        message += "; for a job of that name at a coordinator give coordinator='HOST:PORT', or set PENSTOCK_COORDINATOR"
    raise type(error)(message, error.code) from None


def _may_be_a_name(given: Any) -> bool:
    return isinstance(given, str) and os.sep not in given and not is_job_file_name(given)


def is_job_file_name(path: str) -> bool:
    """Returns True if `path` ends with a suffix of job files. Otherwise it may be the name of a job."""
    return path.endswith((".textproto", ".txtpb", ".pbtxt"))
