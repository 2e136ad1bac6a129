"""Writes new shards from Python: TFRecord files of dicts, all or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import threading
from typing import IO, Any, Dict, List, Mapping, NamedTuple, Optional, Type, TypeVar, Union

from ._arguments import path_text
from ._commands import answer_of, failure_of, start_pack, stderr_file
from ._errors import ConfigurationError
from ._packing import END, FEATURES, GIVE_UP, RECORD, features_body, frame
from ._sizes import parse_size
from ._tracebacks import public

_BUFFER = 256 << 10
_GIVE_UP_TIMEOUT = 10.0

Self = TypeVar("Self", bound="_Packer")


class ShardSet(NamedTuple):
    """The result of a ShardWriter."""

    #: The glob of the shards.
    files: str
    #: A job file that reads them back: penstock.Loader(job).
    job: str
    shards: int
    records: int
    bytes: int


class _Packer:
    """A `penstock pack` process and the buffered records for it. Thread-safe. Only for the process that started it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._errors: Optional[IO[bytes]] = None
        self._pid = 0
        self._pending: List[bytes] = []
        self._pending_bytes = 0
        self._records = 0
        self._broken = False  # true if an interrupt may have cut a frame
        self._over = False

    def _start(self, *arguments: str) -> None:
        self._errors = stderr_file()
        self._pid = os.getpid()
        self._process = start_pack(self._errors, *arguments)

    @public
    def write(self, features: Mapping[str, Any]) -> None:
        """Adds a record.

        Each feature is one of

        ============================  ==========================================================================
        bytes, str                    one value; str as UTF-8
        int, bool, float              one value, of int64 or float32
        a list or tuple of these      any number of values; a ragged column if the number varies
        a NumPy array, or a tensor    values with their type and shape, whose first axis may vary
        None, an empty list           no value
        ============================  ==========================================================================

        All records must have the same kind of value under a key. Raises ConfigurationError if a feature cannot be stored. The
        error names the feature, and the record is not added.
        """
        try:
            body = features_body(features)
        except ConfigurationError as error:
            raise ConfigurationError(f"record {self._records}: {error}") from None
        self._add(FEATURES, body)

    @public
    def write_example(self, serialized: bytes) -> None:
        """Adds a record that is already a serialized tf.train.Example."""
        self._add(RECORD, serialized)

    @property
    def records(self) -> int:
        """The number of records that were added here."""
        return self._records

    def _add(self, kind: int, body: bytes) -> None:
        if len(body) > 1 << 30:
            raise ConfigurationError(f"record {self._records} has {len(body)} bytes; a record has at most 1 GiB")
        with self._lock:
            self._check()
            self._pending.append(frame(kind, body))
            self._pending_bytes += len(body)
            self._records += 1
            if self._pending_bytes >= _BUFFER:
                self._flush()

    def _check(self) -> None:
        if self._process is None:
            raise ConfigurationError("nothing can be written yet: write inside of `with`")
        if self._pid != os.getpid():
            raise ConfigurationError(
                "this writer belongs to the process that made it: give each other process a part of its own, writer.part(n)"
            )
        if self._over:
            raise ConfigurationError("this writer is closed")
        if self._broken:
            raise ConfigurationError("a write was interrupted half way: nothing more can be written here")

    def _flush(self) -> None:
        data, self._pending, self._pending_bytes = memoryview(b"".join(self._pending)), [], 0
        process = self._running()
        assert process.stdin is not None
        self._broken = True
        try:
            while data:
                data = data[os.write(process.stdin.fileno(), data) :]
        except BrokenPipeError:
            raise self._failed() from None
        self._broken = False

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _finish(self, body: bytes) -> List[Dict[str, Any]]:
        """Sends the last frame, waits until the program ends, and returns its output."""
        with self._lock:
            self._check()
            self._pending.append(frame(END, body))
            self._flush()
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            said = process.stdout.read()
            process.wait()
            if process.returncode != 0:
                raise self._failed()
            self._end()
            return [answer_of("pack", line) for line in said.splitlines()]

    def _failed(self) -> Exception:
        process = self._running()
        process.wait()
        assert self._errors is not None
        error = failure_of("pack", process.returncode, self._errors)
        if process.returncode < 0:
            self._clear()
        self._end()
        return error

    def _end(self) -> None:
        """Closes this object and its streams."""
        self._over = True
        self._pending = []
        for stream in (self._process and self._process.stdin, self._process and self._process.stdout, self._errors):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def abandon(self) -> None:
        """Ends the program, which discards all records. No effect after close()."""
        if self._process is None or self._over or self._pid != os.getpid():
            return
        process = self._process
        assert process.stdin is not None
        # Closing the pipe is not sufficient: a forked process may have it open.
        with contextlib.suppress(OSError):
            if not self._broken and process.poll() is None:
                os.set_blocking(process.stdin.fileno(), False)
                os.write(process.stdin.fileno(), frame(GIVE_UP, b""))
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_GIVE_UP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self._clear()
        self._end()

    def _clear(self) -> None:
        """Removes files that a killed program could not remove."""

    def __enter__(self: Self) -> Self:
        return self

    @public
    def __exit__(self, kind: Optional[Type[BaseException]], error: object, trace: object) -> None:
        if kind is not None:
            self.abandon()
        elif not self._over:
            try:
                self.close()
            except BaseException:
                self.abandon()
                raise

    def close(self) -> Any:
        raise NotImplementedError

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._process is not None and not self._over:
                self.abandon()


class ShardPart(_Packer):
    """A part of a ShardWriter's records, for another process: `with part: part.write(...)`. ShardWriter.part creates it.

    It can be pickled until `with` starts it. A part that ends with an exception, or whose process dies, is missing. Write it
    again before the writer is closed: close() fails if a part is missing.
    """

    def __init__(self, staging: str, number: int) -> None:
        super().__init__()
        self._staging = staging
        self.number = number

    def __getstate__(self) -> Dict[str, Any]:
        if self._process is not None:
            raise ConfigurationError("a part that has begun stays in its process: send it before `with`")
        return {"staging": self._staging, "number": self.number}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(state["staging"], state["number"])  # type: ignore[misc]

    @public
    def __enter__(self) -> ShardPart:
        if self._process is not None:
            raise ConfigurationError(f"part {self.number} has begun already; writer.part({self.number}) begins it again")
        self._start("--staging", self._staging, "--part", str(self.number))
        return self

    @public
    def close(self) -> None:
        """Completes the part. The end of `with` calls this."""
        if not self._over:
            self._finish(b"")


class ShardWriter(_Packer):
    """Writes TFRecord shards, and a job file that reads them back:

        with penstock.ShardWriter("/data/shards", prefix="train", order="shuffled") as writer:
            for path, label in photos:
                writer.write({"image": path.read_bytes(), "label": label})
        loader = penstock.Loader(writer.result.job)

    `out`, which must not exist or must be an empty folder, appears atomically and complete at the end of `with`. After an
    exception, or if this process is killed, it does not appear. Until the end the records are in a hidden folder next to it.

    `out` may be a bucket's folder ("s3://bucket/shards"). Until the end of `with` the records are in TMPDIR. Then
    the shards appear one by one, and the job file appears last.

    Several processes can write parts. The order of the records does not depend on the processes' speed:

        with penstock.ShardWriter("/data/shards") as writer, multiprocessing.Pool() as pool:
            pool.starmap(convert, [(writer.part(n), files) for n, files in enumerate(chunks)])

        def convert(part, files):
            with part:
                for file in files:
                    part.write({"image": file.read_bytes()})
    """

    @public
    def __init__(
        self,
        out: Union[str, os.PathLike[str]],
        *,
        prefix: str = "data",
        shard_size: Union[int, str] = "128MiB",
        order: str = "sorted",
        seed: int = 17,
        threads: int = 0,
    ) -> None:
        """Writes shards `out`/`prefix`-00000.tfrecord ..., of at most `shard_size`. A larger record has a shard of its own.

        `order`: "sorted" keeps the order of the writes: the records of this writer, then those of each part. "shuffled"
        permutes all records by `seed`.
        """
        super().__init__()
        name = path_text("out", out)
        # A bucket's folder, in the program's form.
        self.out = name if "://" in name else os.path.abspath(os.path.expanduser(name))
        self._expected: Dict[int, None] = {}
        self._staging = ""
        self._result: Optional[ShardSet] = None
        size = parse_size("shard_size", shard_size)
        arguments = [f"--out={self.out}", f"--prefix={prefix}", f"--shard-size={size}", f"--order={order}"]
        arguments += [f"--seed={seed}", f"--threads={threads}"]
        self._start(*arguments)
        process = self._running()
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise self._failed()
        self._staging = str(answer_of("pack", line)["staging"])

    @public
    def part(self, number: int) -> ShardPart:
        """Returns a part of the records for another process, or for another machine that has the folder. The numbers give
        the order of the parts. Every part must be complete before this writer is closed.
        """
        if not 0 <= number < 1 << 32:
            raise ConfigurationError(f"parts are numbered from 0: {number}")
        self._check()
        self._expected[number] = None
        return ShardPart(self._staging, number)

    @public
    def close(self) -> ShardSet:
        """Completes the shards. The end of `with` calls this. After an error there are no shards."""
        if self._result is None:
            made = self._finish(struct.pack(f"<{len(self._expected)}I", *self._expected))[-1]
            self._result = ShardSet(made["files"], made["job"], made["shards"], made["records"], made["bytes"])
        return self._result

    @property
    @public
    def result(self) -> ShardSet:
        """The result, after `with` or close()."""
        if self._result is None:
            raise ConfigurationError("there are no shards yet: they appear at the end of `with`")
        return self._result

    def _clear(self) -> None:
        if self._staging:
            shutil.rmtree(self._staging, ignore_errors=True)
