"""From a Loader's arguments to what OPEN says."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._errors import ConfigurationError

Path = Union[str, "os.PathLike[str]"]
DataRoot = Union[Path, Sequence[Path], Mapping[str, Path]]


def job_members(job: Any, coordinator: Optional[str]) -> Dict[str, Any]:
    """`job`, and `coordinator`; or `job_file`; or `job_text`."""
    text = _text_of(job)
    if coordinator is not None:
        if text is not None or not isinstance(job, str):
            raise ConfigurationError(
                f"coordinator={coordinator!r} serves jobs by their names: submit this one (penstock.submit), and give its name"
            )
        return {"job": job, "coordinator": coordinator}
    if text is not None:
        return {"job_text": text}
    if not isinstance(job, (str, os.PathLike)):
        raise ConfigurationError(f"a job is a file, a name or a penstock.Job, not {type(job).__name__}")
    path = os.fspath(job)
    if _is_url(path):
        return {"job_file": path}
    if os.path.isfile(path):
        return {"job_file": os.path.abspath(path)}
    named_file = not isinstance(job, str) or os.sep in path or path.endswith((".textproto", ".txtpb", ".pbtxt"))
    if named_file:
        raise ConfigurationError(f"{os.path.abspath(path)}: no such job file; `penstock init` writes one")
    if os.environ.get("PENSTOCK_COORDINATOR"):
        return {"job": path}
    raise ConfigurationError(
        f"{path}: no such job file here; for a job of that name at a coordinator give coordinator='HOST:PORT', or set "
        "PENSTOCK_COORDINATOR"
    )


def _is_url(path: str) -> bool:
    """A bucket's or a web server's, which the program reads."""
    return "://" in path


def _absolute(path: Path) -> str:
    name = os.fspath(path)
    return name if _is_url(name) else os.path.abspath(os.path.expanduser(name))


def _text_of(job: Any) -> Optional[str]:
    """A penstock.Job's text; None for other things."""
    to_text = getattr(job, "to_text", None)
    return str(to_text()) if callable(to_text) else None


def data_roots(value: Optional[DataRoot]) -> List[str]:
    """As `penstock preview --data-root` takes them. Folders are made absolute: the feeder may have started elsewhere."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        value = [value]
    if isinstance(value, Mapping):
        return [f"{name}={_absolute(path)}" for name, path in value.items()]
    roots = []
    for entry in value:
        name, equals, path = os.fspath(entry).rpartition("=")
        roots.append(name + equals + _absolute(path))
    return roots


def refuse_data_loader_workers() -> None:
    """A loader inside a worker of torch's DataLoader would be one feeder for each worker, each with all the data."""
    torch_data: Any = sys.modules.get("torch.utils.data")
    if torch_data is not None and torch_data.get_worker_info() is not None:
        raise ConfigurationError(
            "a penstock.Loader does not run inside a worker of torch.utils.data.DataLoader: every worker would read all of "
            "the data, and cores would be shared twice. It has its own threads: loop over it in the trainer's process, in "
            "place of the DataLoader (penstock.torch.Loader)"
        )
