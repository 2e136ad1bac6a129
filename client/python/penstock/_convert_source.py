"""What a source of `convert` is: columns, pieces of rows, and their frames. The reader of each format is a subclass."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Tuple

from ._errors import ConfigurationError

#: Bytes of the records that a reader encodes at a time, approximately.
PIECE_BYTES = 16 << 20


class ConvertedColumn(NamedTuple):
    """A column of a source, and its feature."""

    name: str
    #: The type in the source's own words.
    source: str
    #: The feature: "INT64", or "FLOAT64 as raw bytes". "" if the source has no values.
    feature: str
    #: The shape of a value: "[]" for a scalar, "[3, 4]", "[*]" for any number of elements.
    shape: str
    #: The type that the job restores, if the feature has another one; 0: the same.
    cast: int = 0


class Piece(NamedTuple):
    """Consecutive rows that one process reads."""

    begin: int  # in the source
    rows: int
    place: Tuple[int, ...]  # where the source finds it


class Frames(NamedTuple):
    """The records of a piece."""

    data: bytes
    rows: int
    missing: Dict[str, int]  # by column, rows without a value
    columns: Dict[str, ConvertedColumn]  # columns that the rows so far have, if only the rows define them


class BadValue(Exception):
    """A value without a counterpart in a record. `row` is its row in the array. The text follows the column's name."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row


def bad_value(place: str, name: str, bad: BadValue) -> ConfigurationError:
    """Returns the error for a value of column `name`. `place` names the row."""
    return ConfigurationError(f"{place}: column {name!r} {bad}; leave the column out with drop (--drop)")


class Source:
    """Rows in an order that does not change. A process pickles it for its readers, except where `is_local` is true."""

    #: Describes the source for the user, and for the folder that a run continues.
    name: str
    columns: List[ConvertedColumn]
    pieces: List[Piece]
    #: True if the rows come one after the other: a run that continues reads all of them again, from replay().
    is_replayed = False
    #: True if only the process that made the source, or a fork of it, can read it.
    is_local = False

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def arguments(self) -> Dict[str, str]:
        """Returns what decides about the records: a run continues only shards of equal arguments."""
        raise NotImplementedError

    def frames(self, piece: Piece, skip: int) -> Frames:
        """Returns the frames of a piece's rows, without its first `skip` rows."""
        raise NotImplementedError

    def written(self, piece: Piece) -> None:
        """Releases what only this piece and earlier ones need. Their frames are written."""

    def replay(self) -> Iterator[Frames]:
        """Yields all rows in order."""
        raise NotImplementedError


def needed(package: str, extra: str, what: str) -> ConfigurationError:
    """Returns the error for a library that is not installed."""
    return ConfigurationError(f"{what} needs {package}, which is not installed: pip install penstock[{extra}]")


def refusal(what: str, refused: List[str]) -> ConfigurationError:
    """Returns the error for columns without a counterpart in a record."""
    some = "\n".join(f"  {line}" for line in refused)
    return ConfigurationError(f"{what} has columns that a record cannot hold:\n{some}\nLeave them out: drop (--drop COLUMN)")
