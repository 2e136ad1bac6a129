"""Converts a Loader's arguments to the members of OPEN."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Iterable, List, Mapping, NoReturn, Optional, Sequence, Union

from ._arguments import Path, path_text
from ._checks import is_job_file_name
from ._connection import Connection
from ._errors import ConfigurationError

DataRoot = Union[Path, Sequence[Path], Mapping[str, Path]]


def job_members(job: Any, connection: Connection) -> Dict[str, Any]:
    """Returns the members that name the job: `job` and those of the connection, or `job_file`, or `job_text`."""
    text = _text_of(job)
    if text is None and not isinstance(job, (str, os.PathLike)):
        raise ConfigurationError(f"a job is a file, a name or a penstock.Job, not {type(job).__name__}")
    path = "" if text is not None else os.fspath(job)
    names_a_file = not isinstance(job, str) or os.sep in path or is_job_file_name(path)
    coordinator = connection.coordinator
    if coordinator is not None:
        if text is not None or names_a_file:
            raise ConfigurationError(
                f"coordinator={coordinator!r} serves jobs by their names, and {'this' if text is not None else path} is "
                f"{'a penstock.Job' if text is not None else 'a file'}: submit it (penstock.submit), and give its name"
            )
        return {"job": path, **connection.members()}
    if text is None and not names_a_file and not os.path.isfile(path) and os.environ.get("PENSTOCK_COORDINATOR"):
        return {"job": path, **connection.members()}
    connection.check_unused()
    if text is not None:
        return {"job_text": text}
    return {"job_file": path if _is_url(path) else os.path.abspath(path)}


def _is_url(path: str) -> bool:
    """Returns True for the URL of a bucket or a web server, which the program reads."""
    return "://" in path


def _absolute(path: object) -> str:
    name = path_text("data_root", path)
    return name if _is_url(name) else os.path.abspath(os.path.expanduser(name))


def _text_of(job: Any) -> Optional[str]:
    """Returns a penstock.Job's text, or None for other objects."""
    to_text = getattr(job, "to_text", None)
    return str(to_text()) if callable(to_text) else None


def data_roots(value: Optional[DataRoot]) -> List[str]:
    """Returns the roots as values of --data-root. Makes folders absolute, because the feeder may have started in another
    folder.
    """
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        value = [value]
    if isinstance(value, Mapping):
        return [f"{name}={_absolute(path)}" for name, path in value.items()]
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"data_root={value!r}: a folder, several folders, or {{name: folder}} is expected")
    roots = []
    for entry in value:
        name, equals, path = path_text("data_root", entry).rpartition("=")
        roots.append(name + equals + _absolute(path))
    return roots


_IN_PLACE_OF_A_DATA_LOADER = (
    "every worker would read all of the data, and cores would be shared twice. It has its own threads: loop over it in the "
    "trainer's process, in place of the DataLoader (penstock.torch.Loader)"
)


def refuse_data_loader_workers() -> None:
    """Rejects a loader inside a worker of torch's DataLoader: each worker would have a feeder that reads all the data."""
    torch_data: Any = sys.modules.get("torch.utils.data")
    if torch_data is not None and torch_data.get_worker_info() is not None:
        raise ConfigurationError(
            f"a penstock.Loader does not run inside a worker of torch.utils.data.DataLoader: {_IN_PLACE_OF_A_DATA_LOADER}"
        )


def refuse_index() -> NoReturn:
    """Raises the error for access by index, which a DataLoader over a loader uses."""
    raise ConfigurationError(
        "a penstock.Loader has batches in order, and none by index. It does not run inside a "
        f"torch.utils.data.DataLoader: {_IN_PLACE_OF_A_DATA_LOADER}"
    )
