#!/usr/bin/env python3
"""Writes tests/judges/json_lines.json: lines of JSONL files, and the values of features as Python's json reads them.

A test of every run, tests/pipeline/records/judged_json_test.cc, compares Penstock with the file.

    python3 tests/judges/json_lines.py                    # writes the file again
    python3 tests/judges/json_lines.py --lines 5000 --seed 7 --out FILE

Python differs from Penstock by design in these cases, which the script counts as errors:

- NaN, Infinity and -Infinity, which are not JSON.
- A surrogate without its pair, which has no UTF-8.
- A FLOAT over the range of a 32-bit float.
- A line with more than 64 nested arrays and objects. The script writes none.
"""

import argparse
import json
import math
import pathlib
import random
import struct
from typing import Any

NAMES = ["a", "b", "meta", "x.y", "back\\slash", "é", "日本", "0", "1", "sp ace", 'quo"te']
TEXTS = ["", "a", "text", "zürich", "日本", "a\nb", 'q"q', "back\\slash", "\x7f", "😀", "\t", "/", "x" * 70]
NUMBERS = ["0", "-0", "1", "-17", "9223372036854775807", "-9223372036854775808", "9223372036854775808"]
NUMBERS += ["123456789012345678901234567890", "1.5", "-0.0", "1e3", "1E-2", "0.1", "16777217", "1e-400", "3.4e38"]
NUMBERS += ["1e39", "1e400", "2.5e-45", "1.0", "100e-2"]
WRONG = ["01", "1.", ".5", "+1", "1e", "nul", "True", "NaN", "Infinity", "'a'", '"\\x"', '"\\ud800"']
WRONG += ['"\\udc00\\ud800"', '"a', "[1,]", "{,}"]


def space(rng: random.Random) -> str:
    return rng.choice(["", "", "", " ", "\t", "  ", "\r"])


def string(rng: random.Random, text: str) -> str:
    if rng.random() < 0.3:
        return json.dumps(text)
    if rng.random() < 0.2:
        units = text.encode("utf-16-be")
        return '"' + "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2)) + '"'
    return json.dumps(text, ensure_ascii=False)


def value(rng: random.Random, depth: int) -> str:
    choice = rng.random()
    if depth > 0 and choice < 0.25:
        return members(rng, depth - 1)
    if depth > 0 and choice < 0.5:
        kind = rng.choice(["numbers", "texts", "bools", "any"])
        items = []
        for _ in range(rng.randint(0, 4)):
            if kind == "numbers":
                items.append(rng.choice(NUMBERS))
            elif kind == "texts":
                items.append(string(rng, rng.choice(TEXTS)))
            elif kind == "bools":
                items.append(rng.choice(["true", "false"]))
            else:
                items.append(value(rng, depth - 1))
        return "[" + ",".join(space(rng) + item + space(rng) for item in items) + "]"
    if choice < 0.7:
        return rng.choice(NUMBERS)
    if choice < 0.9:
        return string(rng, rng.choice(TEXTS))
    if choice < 0.905:
        return rng.choice(WRONG)
    return rng.choice(["true", "false", "null"])


def members(rng: random.Random, depth: int) -> str:
    pairs = []
    for _ in range(rng.randint(0, 5)):
        name = string(rng, rng.choice(NAMES))
        pairs.append(space(rng) + name + space(rng) + ":" + space(rng) + value(rng, depth) + space(rng))
    return "{" + ",".join(pairs) + "}"


def line(rng: random.Random) -> bytes:
    data = (space(rng) + members(rng, 3) + space(rng)).encode()
    if rng.random() < 0.15:
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice([b"", b",", b"{", b"]", b'"', b"\xff", b"\x01", b"1"]) + data[at + rng.randint(0, 1) :]
    return data.replace(b"\n", b"")


def reject(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, member in pairs:
        json.dumps([name, member], ensure_ascii=False).encode()  # UnicodeEncodeError: a surrogate
    return dict(pairs)


def parse(data: bytes) -> dict[str, Any] | None:
    """Returns the object in a line, or None if it is no JSON object."""
    try:
        found = json.loads(data.decode(), parse_constant=reject, object_pairs_hook=checked)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def at(document: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name in ("0", "1"):
            document = document[int(name)] if int(name) < len(document) else None
        else:
            return None
    return document


def element(found: Any, kind: str) -> Any:
    """Returns one value of a feature. Raises TypeError if it has another kind."""
    if kind == "INT64":
        if isinstance(found, int) and -(2**63) <= found < 2**63:
            return int(found)
    elif kind == "FLOAT":
        if isinstance(found, int | float) and not isinstance(found, bool) and not math.isinf(found):
            try:
                return struct.unpack("<f", struct.pack("<f", found))[0]
            except OverflowError as error:
                raise TypeError from error
    elif isinstance(found, str):
        return found
    raise TypeError


def expected(document: dict[str, Any], names: list[str], kind: str) -> Any:
    """Returns None for a missing value, a list of values, {"text": ...} for the text of a value, or "error"."""
    found = at(document, names)
    if found is None:
        return None
    nested = isinstance(found, dict) or (isinstance(found, list) and any(isinstance(each, dict | list) for each in found))
    if nested:
        return {"text": found} if kind == "BYTES" else "error"
    try:
        return [element(each, kind) for each in (found if isinstance(found, list) else [found])]
    except TypeError:
        return "error"


def main() -> None:
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=here / "json_lines.json")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    written = []
    for _ in range(arguments.lines):
        data = line(rng)
        document = parse(data)
        cases = []
        for _ in range(8 if document is not None else 0):
            names = [rng.choice(list(document) or NAMES)]
            while rng.random() < 0.5:
                inner = at(document, names)
                names.append(rng.choice([*(inner if isinstance(inner, dict) else ()), "0", "1", rng.choice(NAMES)]))
            key = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in names)
            kind = rng.choice(["INT64", "FLOAT", "BYTES"])
            wanted = expected(document, names, kind)
            if not (isinstance(wanted, dict) and b"1e400" in data):  # the test reads the text with a parser that rejects it
                cases.append([key, kind, wanted])
        shown = {"line": data.decode()} if document is not None else {"hex": data.hex()}
        written.append(json.dumps({**shown, "cases": cases}, ensure_ascii=False))
    arguments.out.write_text('{"judge": "Python\'s json",\n"lines": [\n' + ",\n".join(written) + "]}\n")
    print(f"wrote {arguments.out}: {len(written)} lines")


if __name__ == "__main__":
    main()
