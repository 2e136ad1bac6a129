"""Commands on jobs: made from shards, previewed, submitted to a coordinator, continued with another blend."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path as FilePath
from typing import Any, Dict, List, Mapping, Optional, Union

from ._arguments import Path, path_text
from ._commands import answer_of, run
from ._connection import connection_of
from ._errors import ConfigurationError
from ._jobs import Job
from ._request import DataRoot, data_roots, job_members
from ._tracebacks import public


def _root_flags(data_root: Optional[DataRoot]) -> List[str]:
    return [f"--data-root={root}" for root in data_roots(data_root)]


def _argument(job: Any, folder: str) -> str:
    """Returns the path of a job file for a command. Writes a penstock.Job into `folder`."""
    if isinstance(job, Job):
        path = os.path.join(folder, "job.textproto")
        job.save(path)
        return path
    if isinstance(job, (str, os.PathLike)):
        return os.fspath(job)
    raise ConfigurationError(f"a job is a penstock.Job or a job file, not {type(job).__name__}")


@public
def init(
    glob: Path, *, data_root: Optional[DataRoot] = None, name: str = "", records: int = 100, eval: bool = False
) -> Job:
    """Returns a job that fits the content of the files' first records. Change it, then save() it or pass it to a
    Loader.

    `glob` names shards, or a folder of shards. If there are images, the job has a training recipe. With `eval`, the job is
    an evaluation: a resize and a center crop, no shuffling, and each record once.
    """
    flags = [f"--records={records}", *([f"--name={name}"] if name else []), *(["--eval"] if eval else [])]
    arguments = [*flags, *_root_flags(data_root)]
    return Job.from_text(run("init", *arguments, "--", path_text("glob", glob)).decode())


class Preview:
    """The result of a pipeline, for a notebook or print(): a sheet of images, or rows as text if there are no images."""

    def __init__(self, png: Optional[bytes], text: str = "") -> None:
        #: The PNG file's bytes, or None if the job has no images.
        self.png = png
        #: The rows of a job without images.
        self.text = text

    def _repr_png_(self) -> Optional[bytes]:
        return self.png

    def save(self, path: Path) -> None:
        """Writes the sheet as a PNG file, or the text."""
        FilePath(path).write_bytes(self.text.encode() if self.png is None else self.png)

    def __repr__(self) -> str:
        if self.png is None:
            return self.text
        return f"<penstock.Preview, a PNG of {len(self.png)} bytes: shown by a notebook, or save() it>"


@public
def preview(
    job: Union[Job, Path],
    *,
    data_root: Optional[DataRoot] = None,
    records: int = 6,
    draws: int = 6,
    epoch: int = 0,
    position: int = 0,
    cell: int = 160,
) -> Preview:
    """Returns a sheet of the pipeline's results. Each line has an unchanged record and `draws` draws of it. A notebook
    shows the sheet.

    For a job without images, returns rows as text, which print() shows.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        sheet = os.path.join(folder, "sheet.png")
        flags = [f"--records={records}", f"--draws={draws}", f"--epoch={epoch}", f"--position={position}", f"--cell={cell}"]
        rest = [*flags, *_root_flags(data_root), "--", _argument(job, folder)]
        # Without images, the command prints rows and writes no sheet.
        run("preview", f"--out={sheet}", *rest, check=False)
        if os.path.exists(sheet):
            return Preview(FilePath(sheet).read_bytes())
        return Preview(None, run("preview", *rest).decode())


@public
def submit(
    job: Union[Job, Path],
    *,
    coordinator: Optional[str] = None,
    tls_ca: Optional[Path] = None,
    tls_cert: Optional[Path] = None,
    tls_key: Optional[Path] = None,
    token_file: Optional[Path] = None,
    replace: bool = False,
    wait: bool = True,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """Registers the job with the coordinator, and waits until it is ready, unless `wait` is false. Returns a dict of `job`,
    `state`, `shards`, `records` and `bytes`. Raises TimeoutError after `timeout` seconds; the job stays registered.

    A second submission of the same job has no effect. The coordinator rejects another job of the same name unless
    `replace` is true. Afterwards use `penstock.Loader(answer["job"], coordinator=...)`. `tls_ca`, `tls_cert`, `tls_key`
    and `token_file` are those of Loader.
    """
    connection = connection_of(coordinator, tls_ca, tls_cert, tls_key, token_file)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        flags = ["--json", *(["--replace"] if replace else []), *([] if wait else ["--no-wait"])]
        said = run("submit", *flags, *connection.flags(), "--", _argument(job, folder), timeout=timeout)
        return answer_of("submit", said)


@public
def status(
    *,
    coordinator: Optional[str] = None,
    tls_ca: Optional[Path] = None,
    tls_cert: Optional[Path] = None,
    tls_key: Optional[Path] = None,
    token_file: Optional[Path] = None,
    timeout: Optional[float] = 60.0,
) -> Dict[str, Any]:
    """Returns jobs, workers and readers, as `penstock status --json` prints them. `tls_ca`, `tls_cert`, `tls_key` and
    `token_file` are those of Loader.
    """
    connection = connection_of(coordinator, tls_ca, tls_cert, tls_key, token_file)
    return answer_of("status", run("status", "--json", *connection.flags(), timeout=timeout))


@public
def cancel(
    job: str,
    *,
    coordinator: Optional[str] = None,
    tls_ca: Optional[Path] = None,
    tls_cert: Optional[Path] = None,
    tls_key: Optional[Path] = None,
    token_file: Optional[Path] = None,
    timeout: Optional[float] = 60.0,
) -> None:
    """Ends a job and notifies its readers. Another job may then have its name. `tls_ca`, `tls_cert`, `tls_key` and
    `token_file` are those of Loader.
    """
    run("cancel", *connection_of(coordinator, tls_ca, tls_cert, tls_key, token_file).flags(), "--", job, timeout=timeout)


@public
def continue_blend(
    job: Union[Job, Path],
    *,
    of: Union[Job, Path, str],
    state: Union[Mapping[str, Any], str],
    data_root: Optional[DataRoot] = None,
    coordinator: Optional[str] = None,
    tls_ca: Optional[Path] = None,
    tls_cert: Optional[Path] = None,
    tls_key: Optional[Path] = None,
    token_file: Optional[Path] = None,
) -> Job:
    """Returns `job` with the place (blend.start) from which it continues the run of the job `of`: that of the saved state.

    From there on, the rows have the weights and data sets of `job`. A data set of both gives its next row. A data
    set that `of` lacks begins with its first row. Load the state into a Loader of the returned job.

    `state` is that of Loader.state_dict(), or its text. `of` is a job or a job file, with the `data_root` of the run, or
    with `coordinator` the name of a job there: call this before you replace it. `tls_ca`, `tls_cert`, `tls_key` and
    `token_file` are those of Loader.
    """
    text = state.get("state") if isinstance(state, Mapping) else state
    if not isinstance(text, str):
        raise ConfigurationError(f"state={state!r:.200}: not a state of a penstock.Loader. Give what state_dict() returned")
    connection = connection_of(coordinator, tls_ca, tls_cert, tls_key, token_file)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder, tempfile.TemporaryDirectory(prefix="penstock-") as other:
        saved = os.path.join(folder, "state")
        FilePath(saved).write_text(text, encoding="utf-8")
        if "job" in job_members(of, connection):
            old = [f"--of={of}", *connection.flags()]
        else:
            old = [f"--of={os.path.abspath(_argument(of, other))}"]
        said = run("continue", *old, f"--state={saved}", *_root_flags(data_root), "--", _argument(job, folder))
    return Job.from_text(said.decode())
