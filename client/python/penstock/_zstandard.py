"""Files that are compressed with Zstandard, by pyarrow."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import pyarrow as pa


class Decompressed(io.RawIOBase):
    """The decompressed bytes of all frames of a file, which it closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._file.close()
        super().close()
