"""The packets between a trainer and its feeder (docs/feed.md). This module uses no sockets."""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._errors import MachineError

VERSION = 1
MAX_PACKET = 131072
MAX_RELEASES = 512

HELLO, WELCOME, OPEN, RELEASE, ERROR = 1, 2, 3, 4, 5
OPENED, WANT, BATCH, SEEK, SOUGHT, FAILED, ASK, ANSWER, NOTICE = 16, 17, 18, 19, 20, 21, 22, 23, 24

SEND_AGAIN, GIVE_BACK = 1, 2  # flags of WANT
LAST_OF_EPOCH, SOURCES_DIFFER, SETS_FOLLOW_IDS = 1, 2, 4  # flags of BATCH

HEADER = struct.Struct("<II")
_WANT = struct.Struct("<IIQII")
_BATCH = struct.Struct("<QIIQQQQIIQQQQ")
_COLUMN = struct.Struct("<QQQQQ")
BATCH_HEADER = HEADER.size + _BATCH.size
RELEASE_HEADER = HEADER.pack(RELEASE, 0)


class BatchFields(NamedTuple):
    sequence: int
    slot: int
    generation: int
    epoch: int
    step: int
    position: int
    rows: int
    flags: int
    columns: int
    ids: int
    sources: int
    valid: int
    held_bytes: int


class ColumnFields(NamedTuple):
    values: int
    bytes: int
    row_splits: int
    offsets: int
    elements: int


class ColumnInfo(NamedTuple):
    name: str
    type: str
    ragged: bool
    shape: Tuple[int, ...]


class Opened(NamedTuple):
    job: str
    columns: Tuple[ColumnInfo, ...]
    batch_size: int
    rank_rows: int
    last: str
    rows_per_epoch: int
    steps_per_epoch: int
    state: str
    epoch: int
    step_in_epoch: int
    steps_left: int
    local: bool
    datasets: Tuple[str, ...] = ()
    #: (rows of the run before it, size): the job's later batch sizes. `batch_size` is then that of the first batches.
    batch_changes: Tuple[Tuple[int, int], ...] = ()
    #: Not 0: the sizes of batches depend on the values of records. They are multiples of this, at most `batch_size`.
    batch_multiple: int = 0


class Sought(NamedTuple):
    state: str
    epoch: int
    step_in_epoch: int
    steps_left: int


class Welcome(NamedTuple):
    version: int
    release: str
    arena_bytes: int
    threads: int


class Failed(NamedTuple):
    code: str
    message: str
    sequence: Optional[int]


def wrong(what: str) -> MachineError:
    return MachineError(f"the feeder sent {what}: are this package and the program penstock of one release?")


def want_packet(stream: int, sequence: int, count: int, flags: int) -> bytes:
    return _WANT.pack(WANT, stream, sequence, count, flags)


def json_packet(kind: int, stream: int, body: Dict[str, Any]) -> bytes:
    packet = HEADER.pack(kind, stream) + json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    if len(packet) > MAX_PACKET:
        raise ValueError(f"a message of {len(packet)} bytes; at most {MAX_PACKET} can be sent")
    return packet


def header(packet: bytes) -> Tuple[int, int]:
    if not HEADER.size <= len(packet) <= MAX_PACKET:
        raise wrong(f"a packet of {len(packet)} bytes")
    kind, stream = HEADER.unpack_from(packet)
    return kind, stream


def release_of(packet: bytes) -> bytes:
    """Returns the entry of RELEASE for this BATCH: slot and generation."""
    return packet[16:24]


def batch_fields(packet: bytes) -> BatchFields:
    if len(packet) < BATCH_HEADER:
        raise wrong(f"a BATCH of {len(packet)} bytes")
    return BatchFields._make(_BATCH.unpack_from(packet, HEADER.size))


def column_fields(packet: bytes, number: int) -> ColumnFields:
    return ColumnFields._make(_COLUMN.unpack_from(packet, BATCH_HEADER + _COLUMN.size * number))


def batch_parts(packet: bytes) -> List[Tuple[int, int]]:
    """Returns the begin and the end of each part of this BATCH in the arena."""
    fields = batch_fields(packet)
    ids_bytes = (20 if fields.flags & SETS_FOLLOW_IDS else 16) * fields.rows
    parts = [(fields.ids, ids_bytes), (fields.sources, 16 * fields.rows), (fields.valid, fields.rows)]
    for number in range(fields.columns):
        column = column_fields(packet, number)
        parts.append((column.values, column.bytes))
        parts.append((column.row_splits, 8 * (fields.rows + 1)))
        parts.append((column.offsets, 8 * (column.elements + 1)))
    return [(begin, begin + size) for begin, size in parts if begin and size]


def batch_state(packet: bytes, columns: int) -> str:
    """Returns the state after the batch. `columns` is the number in OPENED. Rejects a batch with another number."""
    begin = BATCH_HEADER + _COLUMN.size * columns
    if len(packet) < begin:
        raise wrong(f"a BATCH of {len(packet)} bytes with {columns} columns")
    return packet[begin:].decode()


# ---- JSON bodies. Every member must be known and have the right type.

_WELCOME = {"version": int, "release": str, "arena_bytes": int, "threads": int}
_SOUGHT = {"state": str, "epoch": int, "step_in_epoch": int, "steps_left": int}
_OPENED = {
    "job": str,
    "columns": list,
    "batch_size": int,
    "rank_rows": int,
    "last": str,
    "rows_per_epoch": int,
    "steps_per_epoch": int,
    **_SOUGHT,
    "local": bool,
}
_COLUMN_INFO = {"name": str, "type": str, "ragged": bool, "shape": list}
_FAILED = {"code": str, "message": str}


def body(packet: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(packet[HEADER.size :])
    except ValueError as error:
        raise wrong(f"a message that is no JSON ({error})") from None
    if not isinstance(value, dict):
        raise wrong("JSON that is no object")
    return value


def _checked(what: str, value: Any, types: Dict[str, Any], optional: Tuple[str, ...] = ()) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong(f"{what} that is no object")
    for name, of in types.items():
        if name not in value:
            if name in optional:
                continue
            raise wrong(f"{what} without {name}")
        # A bool is an int in Python, but not in the protocol. Counts are not negative.
        got = value[name]
        if not isinstance(got, of) or (of is int and (isinstance(got, bool) or got < 0)):
            raise wrong(f"{what} with {name} {got!r}")
    for name in value:
        if name not in types:
            raise wrong(f"{what} with a member {name}, which is not known here")
    return value


def welcome(packet: bytes) -> Welcome:
    fields = _checked("WELCOME", body(packet), _WELCOME)
    if fields["version"] != VERSION:
        raise wrong(f"version {fields['version']} of the protocol, not {VERSION}")
    return Welcome(**fields)


def opened(packet: bytes) -> Opened:
    more = {"datasets": list, "batch_changes": list, "batch_multiple": int}
    fields = _checked("OPENED", body(packet), {**_OPENED, **more}, optional=tuple(more))
    datasets = fields.get("datasets", [])
    if not all(isinstance(name, str) for name in datasets):
        raise wrong(f"data sets with the names {datasets!r}")
    columns: List[ColumnInfo] = []
    for column in fields["columns"]:
        _checked("a column", column, _COLUMN_INFO)
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in column["shape"]):
            raise wrong(f"a column of shape {column['shape']!r}")
        columns.append(ColumnInfo(column["name"], column["type"], column["ragged"], tuple(column["shape"])))
    changes = tuple(map(tuple, fields.get("batch_changes", [])))
    if not all(len(change) == 2 and all(isinstance(n, int) and n > 0 for n in change) for change in changes):
        raise wrong(f"batch sizes {changes!r}")
    lists = {"columns": tuple(columns), "datasets": tuple(datasets), "batch_changes": changes}
    return Opened(**{**fields, **lists})


def sought(packet: bytes) -> Sought:
    return Sought(**_checked("SOUGHT", body(packet), _SOUGHT))


def failed(packet: bytes) -> Failed:
    fields = _checked("FAILED", body(packet), {**_FAILED, "sequence": int}, optional=("sequence",))
    return Failed(fields["code"], fields["message"], fields.get("sequence"))


def message(packet: bytes, what: str) -> str:
    """Returns the text of a NOTICE, an ERROR or an ANSWER to `waiting`."""
    text = body(packet).get("message")
    if not isinstance(text, str):
        raise wrong(f"{what} without a message")
    return text
