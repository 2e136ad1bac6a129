"""Files of samples with an index.json, as MDS and LitData write them: what both sources of `convert` have in common.

A file is a uint32 with the number of samples, their offsets (one more than samples, uint32), and the samples.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Sequence, Tuple

import numpy as np

from ._column_options import ColumnOptions
from ._convert_source import PIECE_BYTES, ConvertedColumn, Frames, Piece, Source
from ._errors import ConfigurationError, DataError
from ._packing import FEATURES, frame
from ._remote_files import Facts, is_remote, open_unbuffered
from ._scratch import Scratch
from ._source_files import INDEX
from ._source_folders import Folder
from ._values import RowEncoder

_MOST_ROWS = 4096
# A compressed file is unpacked as a whole. Up to this size one process reads it, so that it is unpacked once.
_UNPACKED_BYTES = 4 * PIECE_BYTES


class SampleFile(NamedTuple):
    path: str
    rows: int
    size: int  # bytes without compression; 0: not known before it is unpacked
    compression: str  # the library's name for it; "" for none
    facts: Facts


class Damage(Exception):
    """A sample that cannot be read. The text is the reason."""


class SampleFiles(Source):
    """The samples of files, one file after another. A subclass unpacks files and decodes samples with the library."""

    def __init__(
        self, folder: Folder, files: List[SampleFile], types: Dict[str, str], options: ColumnOptions, scratch: Scratch
    ) -> None:
        """Opens the files. `types` has the columns with their types in the library's words, without the dropped ones.
        Compressed files in a bucket are copied to `scratch`.
        """
        name = self.name = folder.path
        self._files = files
        self._scratch = scratch
        self._types = types
        self._options = options
        self._unpacked: Tuple[int, Any] = (-1, None)
        self._head: Tuple[int, bytes] = (-1, b"")
        self.pieces: List[Piece] = []
        # A run of an earlier release may have begun to convert a local folder, which its other files identify.
        digest = hashlib.sha256(folder.identity(INDEX).encode() if is_remote(folder.path) else b"")
        for number, file in enumerate(files):
            size, state = file.facts
            if not file.compression and size != file.size:
                self._fail(number, f"the file has {size} bytes, but {file.size} in the index; copy it again")
            digest.update(f"{file.path} {size} {state} {file.rows}\n".encode())
            self._add_pieces(number, file.size or size)
        if any(file.compression and is_remote(file.path) for file in files):
            scratch.made()
        if not self.rows:
            raise ConfigurationError(f"{name} has no rows")
        if not types:
            raise ConfigurationError(f"{name} has no column with values")
        self._content = f"{self.rows} rows, {digest.hexdigest()[:16]}"
        self._encoder = RowEncoder(options)
        first = next(piece for piece in self.pieces if piece.rows)
        self._encode(first._replace(rows=1), 0, {})
        unknown = next((column for column in options.tokenizers if column not in self._encoder.columns), None)
        if unknown is not None:
            found = ", ".join(self._encoder.columns)
            raise ConfigurationError(f"tokenize: the first row of {name} has no text {unknown!r}; it has {found}")

    def _add_pieces(self, number: int, size: int) -> None:
        file = self._files[number]
        piece, most = (_UNPACKED_BYTES, file.rows) if file.compression else (PIECE_BYTES, _MOST_ROWS)
        rows = max(1, min(most, piece * file.rows // max(1, size)))
        before = self.rows
        self.pieces += [Piece(before + at, min(rows, file.rows - at), (number, at)) for at in range(0, file.rows, rows)]

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_unpacked": (-1, None), "_head": (-1, b"")}

    @property
    def columns(self) -> List[ConvertedColumn]:  # type: ignore[override]
        return list(self._named_columns().values())

    def _named_columns(self) -> Dict[str, ConvertedColumn]:
        """Returns the columns so far, with the types of the library."""
        return {name: column._replace(source=self._type_of(column)) for name, column in self._encoder.columns.items()}

    def _type_of(self, column: ConvertedColumn) -> str:
        known = self._types.get(column.name)
        if known is None:
            return column.source
        tokenizer = self._options.tokenizers.get(column.name)
        return known if tokenizer is None else f"{known}, by {tokenizer.name}"

    def arguments(self) -> Dict[str, str]:
        return {"source": self.name, "content": self._content, **self._options.arguments()}

    def frames(self, piece: Piece, skip: int) -> Frames:
        missing: Dict[str, int] = {}
        data = self._encode(piece, skip, missing)
        return Frames(b"".join(data), len(data), missing, self._named_columns())

    def written(self, piece: Piece) -> None:
        number, at = piece.place
        self._scratch.drop_before(number + (at + piece.rows == self._files[number].rows))

    def _encode(self, piece: Piece, skip: int, missing: Dict[str, int]) -> List[bytes]:
        number, at = piece.place
        out: List[bytes] = []
        for row, sample in enumerate(self._samples(number, at + skip, at + piece.rows), at + skip):
            try:
                out.append(frame(FEATURES, self._encoder.encoded(self._row(sample), missing)))
            except Damage as damage:
                self._fail(number, f"row {row}: {damage}")
            except ConfigurationError as error:
                reason = f"{self._files[number].path}, row {row}: {error}; drop (--drop COLUMN) leaves a column out"
                raise ConfigurationError(reason) from None
        return out

    def _samples(self, number: int, begin: int, end: int) -> Sequence[Any]:
        """Returns samples as bytes, or as _unpack() returned them."""
        file = self._files[number]
        try:
            if file.compression:
                read, base = self._whole(number), 0
                if not isinstance(read, bytes):
                    samples: Sequence[Any] = read[begin:end]
                    return samples
                offsets = self._offsets(number, read, begin, end, len(read))
            else:
                with open_unbuffered(file.path, file.facts) as stream:
                    if self._head[0] != number:
                        self._head = (number, stream.read(4 * (2 + file.rows)))
                    offsets = self._offsets(number, self._head[1], begin, end, file.size)
                    base = offsets[0]
                    stream.seek(base)
                    read = stream.read(offsets[-1] - base)
        except OSError as error:
            self._fail(number, error.strerror or str(error))
        return [read[first - base : last - base] for first, last in zip(offsets, offsets[1:])]

    def _offsets(self, number: int, head: bytes, begin: int, end: int, size: int) -> List[int]:
        """Returns the offsets of samples and of their end. `head` begins as the file does."""
        expected = self._files[number].rows
        table = head[4 * (1 + begin) : 4 * (2 + end)]
        if len(table) != 4 * (1 + end - begin) or int.from_bytes(head[:4], "little") != expected:
            self._fail(number, f"it does not have the {expected} samples that the index names; copy the file again")
        offsets = np.frombuffer(table, "<u4").astype(np.int64)
        if (np.diff(offsets) < 0).any() or offsets[-1] > size:
            self._fail(number, "the offsets of its samples are damaged; copy the file again")
        out: List[int] = offsets.tolist()
        return out

    def _whole(self, number: int) -> Any:
        """Returns an unpacked file. Only the last one stays in memory."""
        if self._unpacked[0] != number:
            file = self._files[number]
            with open(self._scratch.path(number, file.path, file.facts), "rb") as stream:
                packed = stream.read()
            self._unpacked = (-1, None)
            try:
                whole = self._unpack(file, packed)
            except ConfigurationError:
                raise
            except Exception as error:  # each library of compression has errors of its own
                self._fail(number, f"it cannot be unpacked: {error}; copy the file again")
            expected = file.size if isinstance(whole, bytes) else file.rows
            if expected and len(whole) != expected:
                unit = "bytes" if isinstance(whole, bytes) else "samples"
                self._fail(number, f"unpacked, it has {len(whole)} {unit}, but {expected} in the index; copy the file again")
            self._unpacked = (number, whole)
        return self._unpacked[1]

    def _fail(self, number: int, reason: str) -> NoReturn:
        raise DataError(f"{self._files[number].path}: {reason}") from None

    def _unpack(self, file: SampleFile, packed: bytes) -> Any:
        """Returns the file without compression, or its samples in a form that _row() takes."""
        raise NotImplementedError

    def _row(self, sample: Any) -> Dict[str, Any]:
        """Returns the values of a sample. Raises Damage that names the column."""
        raise NotImplementedError


def images(skip: int, data: bytes) -> List[bytes]:
    """Returns the files of images in a list: after `skip` bytes their number, their sizes, and their bytes."""
    (count,) = struct.unpack_from("<I", data, skip)
    sizes = struct.unpack_from(f"<{count}I", data, skip + 4)
    begin = skip + 4 + 4 * count
    if begin + sum(sizes) != len(data):
        raise ValueError("the list is cut off")
    out: List[bytes] = []
    for size in sizes:
        out.append(data[begin : begin + size])
        begin += size
    return out


def decoded(decode: Callable[[bytes], Any], name: str, value: bytes) -> Any:
    """Returns a value of column `name`. Raises Damage for any error of the library, or of a class that is unpickled."""
    try:
        return decode(value)
    except Exception as error:
        reason = f"column {name!r} cannot be decoded: {str(error) or type(error).__name__}"
        raise Damage(f"{reason}; drop (--drop {name}) leaves it out") from None


def check_pickles(name: str, pickled: Sequence[str], trust: bool) -> None:
    """Raises ConfigurationError for columns that the library would unpickle, except with `trust`."""
    if pickled and not trust:
        drops = " ".join(f"--drop {column}" for column in pickled)
        raise ConfigurationError(
            f"{name}: the library would unpickle {', '.join(map(repr, pickled))}, and unpickling runs code that the files "
            f"contain; leave out what is pickled with drop ({drops}), or give trust=True (--trust) if you trust the author "
            "of the files"
        )


def check_names(
    name: str, options: ColumnOptions, types: Sequence[str], nested: Sequence[str], parents: Sequence[str] = ()
) -> None:
    """Raises ConfigurationError for a name that is no column, and no part of a column in `nested`. Only drop may have
    `parents` of columns.
    """
    given = [*options.drop, *options.tokenizers]
    parts_of = [one for one in given if any(one.startswith(f"{column}.") for column in nested)]
    options.check(name, [*types, *parts_of], parents)


def parts(sample: bytes, sizes: List[int]) -> List[bytes]:
    """Returns the values of a sample. A size of 0 is not fixed: the sample begins with it."""
    variable = sizes.count(0)
    begin = 4 * variable
    if len(sample) < begin:
        raise Damage("the sample is cut off; copy the file again")
    given = iter(struct.unpack_from(f"<{variable}I", sample))
    out: List[bytes] = []
    for size in sizes:
        end = begin + (size or next(given))
        out.append(sample[begin:end])
        begin = end
    if begin != len(sample):
        raise Damage(f"its values have {begin} bytes, and the sample {len(sample)}; copy the file again")
    return out
