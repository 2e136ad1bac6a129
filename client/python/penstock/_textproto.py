"""Encodes values in protobuf's text format."""

from __future__ import annotations

import math

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}
# Three octal digits end by themselves, whatever follows.
_BYTES = [_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in range(256)]


def quoted(data: bytes) -> str:
    return '"' + "".join([_BYTES[b] for b in data]) + '"'


def number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)
