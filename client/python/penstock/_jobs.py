"""Jobs as objects: created in Python, and read from files."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._arguments import Path, path_text
from ._checks import text_mistakes
from ._commands import answer_of, run
from ._errors import ConfigurationError
from ._messages import CLASSES
from ._near_name import unknown as unknown_name
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
