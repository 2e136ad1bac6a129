"""Jobs: created in Python, read from files, previewed, and submitted to a coordinator."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._arguments import Path, path_text
from ._checks import text_mistakes
from ._commands import answer_of, run
from ._connection import connection_of
from ._errors import ConfigurationError
from ._messages import CLASSES
from ._near_name import unknown as unknown_name
from ._request import DataRoot, data_roots
from ._schema import SCHEMA
from ._tracebacks import meant, public

_HEAD = "# proto-file: penstock/v1/job.proto\n# proto-message: penstock.v1.JobSpec\n\n"
_BLOCKS = ("dataset", "features", "ops", "order")  # preceded by an empty line

if TYPE_CHECKING:
    from . import messages
    from .messages import JobSpec as _JobSpec
else:
    _JobSpec = CLASSES[SCHEMA.root]

_Fields = Mapping[str, Any]


class Job(_JobSpec):
    """A job file as an object: the data, the pipeline of a row, the order and the batches.

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

    The fields are those of a job file (help(penstock.messages)). `files`, a glob or several, may replace `dataset`.
    `features` may be a dict by key: its values are types or fields. `batch` may be a size. A job without a name is named
    after its files. The error for an unknown field has the nearest name.
    """

    @public
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
        caps: Union[messages.Caps, _Fields, None] = None,
        idle_expiry_seconds: Optional[int] = None,
        blend: Union[messages.Blend, _Fields, None] = None,
        **unknown: Any,
    ) -> None:
        if files is not None:
            if dataset is not None:
                raise ConfigurationError("files and dataset: files stands for dataset, give one of the two")
            if not isinstance(files, (str, os.PathLike, Iterable)):
                raise ConfigurationError(f"files={files!r}: a glob or several are expected")
            given = [files] if isinstance(files, (str, os.PathLike)) else files
            dataset = {"files": [path_text("files", file) for file in given]}
        if isinstance(features, Mapping):
            features = [_feature(key, value) for key, value in features.items()]
        if isinstance(dataset, Mapping):
            dataset = _with_features(dataset)
        elif isinstance(dataset, (list, tuple)):
            dataset = [_with_features(each) for each in dataset]
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
            "caps": caps,
            "idle_expiry_seconds": idle_expiry_seconds,
            "blend": blend,
        }
        for field in unknown:
            raise unknown_name("field", field, ["files", *fields], " in a job")
        super().__init__(**fields)
        if not self.name and self.dataset and self.dataset[0].files:
            self.name = _name_of(self.dataset[0].files[0])

    def to_text(self) -> str:
        """Returns the job file's text."""
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

    @public
    def save(self, path: Path) -> None:
        """Writes the job file. Replaces an existing file atomically."""
        target = os.path.abspath(path_text("path", path))
        try:
            fd, temporary = tempfile.mkstemp(prefix=".", suffix=".textproto", dir=os.path.dirname(target))
        except OSError as error:
            raise meant(OSError(error.errno, error.strerror, target)) from None
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

    @public
    def check(self) -> None:
        """Raises ConfigurationError if the job is invalid. The message lists all mistakes. Does not read the data."""
        _check_text(self.to_text(), "this job")

    @classmethod
    @public
    def from_text(cls, text: str) -> Job:
        """Returns the job of a job file's text. Raises ConfigurationError that lists all mistakes of the text."""
        return cls(**_set_fields(SCHEMA.root, _check_text(text, "the job")))

    @classmethod
    @public
    def load(cls, path: Path) -> Job:
        """Returns the job of a job file. Raises ConfigurationError that lists all mistakes of the file."""
        name = path_text("path", path)
        try:
            text = FilePath(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{name} cannot be read: {error}") from None
        return cls(**_set_fields(SCHEMA.root, _check_text(text, name)))


CLASSES[SCHEMA.root] = Job


def _feature(key: str, value: Any) -> Any:
    fields = {"type": value} if isinstance(value, str) else value
    if not isinstance(fields, Mapping):
        raise ConfigurationError(f"features[{key!r}] is a type's name or a dict of a Feature's fields, not {value!r}")
    return CLASSES["Feature"](**{"key": key, **fields})


def _with_features(dataset: Any) -> Any:
    """Returns a data set whose `features` may have been a dict by key."""
    if not isinstance(dataset, Mapping) or not isinstance(dataset.get("features"), Mapping):
        return dataset
    return {**dataset, "features": [_feature(key, value) for key, value in dataset["features"].items()]}


def _name_of(glob: str) -> str:
    """Returns the name that `penstock init` gives to a job of these files: "train" for "/data/train-*"."""
    folder, _, name = glob.rpartition("/")
    return _clean(name) or _clean(folder.rpartition("/")[2]) or "my-job"


# The end of a shard's name: its format, or its number with at least 4 digits (cifar-10 keeps its number).
_END = re.compile(r"(\.gz|\.zlib|\.tfrecords?|\.tfrec|\.record|-of|-[0-9]{4,})\Z")


def _clean(name: str) -> str:
    stem = re.split(r"[*?\[]", name, maxsplit=1)[0]
    while _END.search(stem):
        stem = _END.sub("", stem)
    # The program replaces each byte, not each character.
    safe = re.sub(rb"[^A-Za-z0-9_.-]", b"-", stem.encode("utf-8", "surrogateescape")).decode()
    return safe.rstrip("-._").lstrip("-.")


def _check_text(text: str, what: str) -> Dict[str, Any]:
    """Returns the job with all of its fields. Raises ConfigurationError that lists all mistakes."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"{what} contains characters that UTF-8 cannot encode; remove them") from None
    answer = answer_of("check-config", run("check-config", "-", "--kind=job", "--json", stdin=data, check=False))
    if answer["ok"]:
        job: Dict[str, Any] = answer["job"]
        return job
    raise text_mistakes(what, answer)


def _set_fields(message: str, values: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the fields that are set in a message's JSON, which contains all fields."""
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
        # A zero of these fields differs from an unset field.
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
