"""Jobs: made in Python, read from files, looked at, and given to a coordinator."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from ._commands import answer_of, run
from ._errors import ConfigurationError
from ._messages import CLASSES, SCHEMA
from ._messages import unknown as unknown_name
from ._request import DataRoot, Path, data_roots

_HEAD = "# proto-file: penstock/v1/job.proto\n# proto-message: penstock.v1.JobSpec\n\n"
_BLOCKS = ("dataset", "features", "ops", "order")  # an empty line before each

if TYPE_CHECKING:
    from . import messages
    from .messages import JobSpec as _JobSpec
else:
    _JobSpec = CLASSES[SCHEMA.root]

_Fields = Mapping[str, Any]


class Job(_JobSpec):
    """What to read, how to make a row of it, in which order, in which batches: a job file, as an object.

        job = penstock.Job(
            files="/data/train-*",
            features={"image/encoded": {"column": "image", "type": "BYTES"},
                      "image/class/label": {"column": "label", "type": "INT64"}},
            ops=[penstock.ops.decode_image(),
                 penstock.ops.random_resized_crop(height=224, width=224),
                 penstock.ops.random_horizontal_flip()],
            batch=256,
        )
        loader = penstock.Loader(job)

    Fields are those of a job file (help(penstock.messages)): a name that is none is refused at once, with the nearest one.
    Besides: `files`, a glob or several, stands for `dataset`; `features` may be a dict by key; `batch` a size. A job without a
    name is called after its files.
    """

    def __init__(
        self,
        *,
        files: Union[Path, Sequence[Path], None] = None,
        name: Optional[str] = None,
        dataset: Union[messages.Dataset, _Fields, Sequence[Union[messages.Dataset, _Fields]], None] = None,
        features: Union[Sequence[Union[messages.Feature, _Fields]], Mapping[str, Union[str, _Fields]], None] = None,
        ops: Optional[Sequence[Union[messages.Op, _Fields]]] = None,
        order: Union[messages.Order, _Fields, None] = None,
        batch: Union[messages.Batch, _Fields, int, None] = None,
        errors: Union[messages.Errors, _Fields, None] = None,
        assignment: Union[messages.Assignment, _Fields, None] = None,
        weight: Optional[int] = None,
        limits: Union[messages.Limits, _Fields, None] = None,
        annotations: Union[messages.Annotations, _Fields, None] = None,
        mix: Union[messages.Mix, _Fields, None] = None,
        **unknown: Any,
    ) -> None:
        if files is not None:
            if dataset is not None:
                raise ConfigurationError("files and dataset: files stands for dataset, give one of the two")
            given = [files] if isinstance(files, (str, os.PathLike)) else files
            dataset = {"files": [os.fspath(file) for file in given]}
        if isinstance(features, Mapping):
            features = [_feature(key, value) for key, value in features.items()]
        if isinstance(batch, int):
            batch = {"size": batch}
        fields: Dict[str, Any] = {
            "name": name,
            "dataset": dataset,
            "features": features,
            "ops": ops,
            "order": order,
            "batch": batch,
            "errors": errors,
            "assignment": assignment,
            "weight": weight,
            "limits": limits,
            "annotations": annotations,
            "mix": mix,
        }
        for field in unknown:
            raise unknown_name("field of a job", field, ["files", *fields])
        super().__init__(**fields)
        if not self.name and self.dataset and self.dataset[0].files:
            self.name = _name_of(self.dataset[0].files[0])

    def to_text(self) -> str:
        """The job file's text."""
        out: List[str] = []
        last = ""
        for line in super().to_text().splitlines():
            block = line.split(" ", 1)[0]
            if block in _BLOCKS and block != last:
                out.append("")
            if line[:1] not in (" ", "}"):
                last = block
            out.append(line)
        return _HEAD + "\n".join(out) + "\n"

    def save(self, path: Path) -> None:
        """Writes the job file; one that is there is replaced, in one step."""
        target = os.path.abspath(os.fspath(path))
        fd, temporary = tempfile.mkstemp(prefix=".", suffix=".textproto", dir=os.path.dirname(target))
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as out:
                out.write(self.to_text())
                umask = os.umask(0)
                os.umask(umask)
                os.fchmod(out.fileno(), 0o666 & ~umask)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    def check(self) -> None:
        """ConfigurationError where a loader would refuse the job; the message lists all mistakes."""
        _check_text(self.to_text(), "this job")

    @classmethod
    def from_text(cls, text: str) -> Job:
        """The job of a job file's text. ConfigurationError lists all its mistakes."""
        return cls(**_set_fields(SCHEMA.root, _check_text(text, "the job")))

    @classmethod
    def load(cls, path: Path) -> Job:
        """The job of a job file. ConfigurationError lists all its mistakes."""
        try:
            text = FilePath(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{os.fspath(path)} cannot be read: {error}") from None
        return cls(**_set_fields(SCHEMA.root, _check_text(text, os.fspath(path))))


CLASSES[SCHEMA.root] = Job


def _feature(key: str, value: Any) -> Any:
    fields = {"type": value} if isinstance(value, str) else value
    if not isinstance(fields, Mapping):
        raise ConfigurationError(f"features[{key!r}] is a type's name or a dict of a Feature's fields, not {value!r}")
    return CLASSES["Feature"](**{"key": key, **fields})


def _name_of(glob: str) -> str:
    """train of /data/train-*, as `penstock init` names jobs."""
    stem = re.sub(r"[^A-Za-z0-9_.-].*$", "", os.path.basename(glob)).strip("-_.")
    return stem or re.sub(r"[^A-Za-z0-9_.-]", "-", os.path.basename(os.path.dirname(glob))).strip("-_.") or "job"


def _check_text(text: str, what: str) -> Dict[str, Any]:
    """The job, all of its fields; ConfigurationError lists its mistakes."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"{what} is no text that UTF-8 can hold") from None
    answer = answer_of("check-config", run("check-config", "-", "--kind=job", "--json", stdin=data, check=False))
    if answer["ok"]:
        job: Dict[str, Any] = answer["job"]
        return job
    lines = []
    for mistake in answer["mistakes"]:
        place = [f"line {mistake['line']}:"] if mistake["line"] else []
        place += [f"{mistake['field']}:"] if mistake["field"] else []
        lines.append(" ".join([*place, mistake["message"]]))
    count = "a mistake" if len(lines) == 1 else f"{len(lines)} mistakes"
    raise ConfigurationError("\n".join([f"{what} has {count}:", *lines]), "INVALID_ARGUMENT")


def _set_fields(message: str, values: Mapping[str, Any]) -> Dict[str, Any]:
    """Of a message's JSON, in which all fields are, those that are set."""
    out: Dict[str, Any] = {}
    for name, value in values.items():
        field = SCHEMA.messages[message][name]
        if field.label == "map":
            said: Any = {entry["key"]: entry["value"] for entry in value}
        elif field.label == "repeated":
            said = [_set_value(field.type, field.of, entry) for entry in value]
        else:
            said = _set_value(field.type, field.of, value)
        unset = not said if field.label != "single" else said == _zero(field.type, field.of)
        # Of these even a zero is something that was said.
        if not unset or field.oneof or (field.presence and field.type != "message"):
            out[name] = said
    return out


def _set_value(kind: str, of: str, value: Any) -> Any:
    if kind == "message":
        return _set_fields(of, value)
    if kind == "bytes":
        return bytes.fromhex(value)
    return float(value) if kind in ("float", "double") else value


def _zero(kind: str, of: str) -> Any:
    if kind == "enum":
        return SCHEMA.zeros[of]
    return {"message": {}, "string": "", "bytes": b"", "bool": False}.get(kind, 0)


# ---- with the programs


def _root_flags(data_root: Optional[DataRoot]) -> List[str]:
    return [f"--data-root={root}" for root in data_roots(data_root)]


def _argument(job: Any, folder: str) -> str:
    """A job as a command takes it: a file."""
    if isinstance(job, Job):
        path = os.path.join(folder, "job.textproto")
        job.save(path)
        return path
    if isinstance(job, (str, os.PathLike)):
        return os.fspath(job)
    raise ConfigurationError(f"a job is a penstock.Job or a job file, not {type(job).__name__}")


def init(glob: Path, *, data_root: Optional[DataRoot] = None, name: str = "", records: int = 100) -> Job:
    """A job that fits what the first records of the files hold: change it, then save() it or give it to a Loader.

    `glob` names shards, or a folder of them. Where there is an image the job has a training recipe.
    """
    arguments = [f"--records={records}", *([f"--name={name}"] if name else []), *_root_flags(data_root)]
    return Job.from_text(run("init", *arguments, "--", os.fspath(glob)).decode())


class Preview:
    """What a pipeline makes, as a notebook or print() shows it: a sheet of pictures, or rows as text where there are none."""

    def __init__(self, png: Optional[bytes], text: str = "") -> None:
        #: The PNG file's bytes; None for a job without pictures.
        self.png = png
        #: The rows of a job without pictures.
        self.text = text

    def _repr_png_(self) -> Optional[bytes]:
        return self.png

    def save(self, path: Path) -> None:
        """The sheet as a PNG file, or the text."""
        FilePath(path).write_bytes(self.text.encode() if self.png is None else self.png)

    def __repr__(self) -> str:
        if self.png is None:
            return self.text
        return f"<penstock.Preview, a PNG of {len(self.png)} bytes: shown by a notebook, or save() it>"


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
    """What the job's pipeline really makes: each line a record as it is, then `draws` draws of it. In a notebook: the sheet.

    Of a job without pictures: rows as text, which print() shows.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        sheet = os.path.join(folder, "sheet.png")
        flags = [f"--records={records}", f"--draws={draws}", f"--epoch={epoch}", f"--position={position}", f"--cell={cell}"]
        rest = [*flags, *_root_flags(data_root), "--", _argument(job, folder)]
        # Without pictures rows are printed, and there is no sheet.
        run("preview", f"--out={sheet}", *rest, check=False)
        if os.path.exists(sheet):
            return Preview(FilePath(sheet).read_bytes())
        return Preview(None, run("preview", *rest).decode())


def submit(
    job: Union[Job, Path],
    *,
    coordinator: Optional[str] = None,
    replace: bool = False,
    wait: bool = True,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """Registers the job with the coordinator, and waits until it is ready: `job`, `state`, `shards`, `records`, `bytes`.

    The same job again changes nothing; another job of the same name is refused unless `replace`. Then
    `penstock.Loader(answer["job"], coordinator=...)`.
    """
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        flags = ["--json", *(["--replace"] if replace else []), *([] if wait else ["--no-wait"])]
        said = run("submit", *flags, *_address(coordinator), "--", _argument(job, folder), timeout=timeout)
        return answer_of("submit", said)


def status(*, coordinator: Optional[str] = None, timeout: Optional[float] = 60.0) -> Dict[str, Any]:
    """Jobs, workers and readers, as `penstock status --json` says them."""
    return answer_of("status", run("status", "--json", *_address(coordinator), timeout=timeout))


def cancel(job: str, *, coordinator: Optional[str] = None, timeout: Optional[float] = 60.0) -> None:
    """Ends a job: its readers are told, its name is free again."""
    run("cancel", *_address(coordinator), "--", job, timeout=timeout)


def _address(coordinator: Optional[str]) -> List[str]:
    return [f"--coordinator={coordinator}"] if coordinator is not None else []
