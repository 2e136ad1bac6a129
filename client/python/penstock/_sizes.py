"""Sizes in bytes, as users write them."""

from __future__ import annotations

import re
from typing import Union

from ._errors import ConfigurationError

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def parse_size(name: str, value: Union[int, str]) -> int:
    """Returns the bytes of 4096, "4096" or "4GiB". `name` is the argument's name, for the error."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", value.strip())
        if match and match.group(2) in _UNITS:
            return int(float(match.group(1)) * _UNITS[match.group(2)])
    raise ConfigurationError(f"{name}={value!r} is no size: bytes as a number, or text such as '512MiB' or '4GiB'")
