"""`penstock pack --resume` as a child process: it writes the records of `convert` as shards."""

from __future__ import annotations

import contextlib
import subprocess
import time
from typing import IO, Any, Dict, List, Optional

from ._commands import answer_of, failure_of, start_pack, stderr_file
from ._errors import PenstockError
from ._packing import END, frame

_CAST = 5
_PATIENCE = 10.0  # s in which the program of a killed run may still end


class ShardProgram:
    """The program that writes the shards. It ends with the records that it has if this process dies."""

    def __init__(self, out: str, prefix: str, shard_bytes: int, arguments: Dict[str, str], replay: bool) -> None:
        """Starts the program. Raises its error, for example if the folder has shards of another source."""
        lines = "\n".join(f"{name}={' '.join(value.splitlines())}" for name, value in arguments.items())
        self._command = [f"--out={out}", f"--prefix={prefix}", f"--shard-size={shard_bytes}", f"--resume={lines}"]
        self._command += ["--replay"] if replay else []
        self._process: subprocess.Popen[bytes]
        self._errors: IO[bytes]
        end = time.monotonic() + _PATIENCE
        while True:
            line = self._start()
            if line is not None:
                break
            error = self.failure()
            # The program of a run that was killed a moment ago may still hold the folder's lock.
            if error.code != "UNAVAILABLE" or time.monotonic() > end:
                raise error
            time.sleep(0.05)
        before = answer_of("convert", line)
        #: The records that earlier runs have finished, and whether they finished all.
        self.finished: int = before["records"]
        self.complete: bool = before["complete"]

    def _start(self) -> Optional[bytes]:
        self._errors = stderr_file()
        self._process = start_pack(self._errors, *self._command)
        assert self._process.stdout is not None
        return self._process.stdout.readline() or None

    @property
    def input(self) -> int:
        """The descriptor to which the records go."""
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def cast(self, types: Dict[str, int]) -> bytes:
        """Returns the frames that name the types of columns."""
        return b"".join(frame(_CAST, bytes([kind]) + name.encode()) for name, kind in types.items())

    def finish(self, last: bytes) -> Dict[str, Any]:
        """Sends the last frames and the end, and returns the program's result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(last + frame(END, b""))
            self._process.stdin.close()
        lines: List[bytes] = self._process.stdout.read().splitlines()
        self._process.wait()
        if self._process.returncode != 0:
            raise self.failure()
        self._process.stdout.close()
        self._errors.close()
        return answer_of("convert", lines[-1])

    def failure(self) -> PenstockError:
        """Waits for the end of the program, and returns its error."""
        self.end()
        with self._errors:
            return failure_of("convert", self._process.returncode, self._errors)

    def end(self) -> None:
        """Ends the program. Finished shards stay."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
