"""Errors for unknown names, with the nearest known name, like the command line (base/near_name.cc)."""

from __future__ import annotations

from typing import Iterable, List

from ._errors import ConfigurationError

_LEAST_PART = 4
_LONGEST = 100
_FEW_NAMES = 16  # the error lists up to this number of names, even if one is near


def near_name(word: str, names: Iterable[str]) -> str:
    """Returns the nearest of `names`, or "" if none is near."""
    known = list(names)
    if not word or len(word) > _LONGEST:
        return ""
    best, best_distance = "", max(2, len(word) // 3) + 1
    for name in known:
        distance = _distance(word.lower(), name.lower())
        if distance < best_distance:
            best, best_distance = name, distance
    if best or len(word) < _LEAST_PART:
        return best
    # "horizontal_flip" of "random_horizontal_flip"
    return min((name for name in known if f"_{word}_" in f"_{name}_"), key=len, default="")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    near = near_name(word, names)
    return f" (did you mean {near!r}?)" if near else ""


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> ConfigurationError:
    """Returns the error for an unknown name, with the nearest one, in the words of the command line."""
    names = list(known)
    sides = name == "size" and {"height", "width"} <= set(names)
    hint = " (write height= and width=)" if sides else did_you_mean(name, names)
    listed = f"; there are: {', '.join(names)}" if not hint or len(names) <= _FEW_NAMES else ""
    return ConfigurationError(f"there is no {kind} {name!r}{where}{hint}{listed}")


def _distance(a: str, b: str) -> int:
    """Returns the Levenshtein distance. A swap of two adjacent letters counts once."""
    before: List[int] = []
    row = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        before, last, row = row, before, [i]
        for j in range(1, len(b) + 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
