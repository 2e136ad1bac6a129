#!/usr/bin/env python3
"""Writes tests/judges/selections.json: expressions of docs/select.md with the records that they match.

pandas and pyarrow.compute compute the masks independently, and the script fails if they differ. A test of every run,
tests/pipeline/select/judged_cases_test.cc, compares Penstock with the file.

    python3 -m venv venv && venv/bin/pip install pandas pyarrow
    venv/bin/python tests/judges/selections.py            # writes the file again
    venv/bin/python tests/judges/selections.py --cases 5000 --seed 7 --out FILE

The judges differ from Penstock by design in these cases, which the script avoids:

- `!=` with NaN is true in both judges and false in Penstock. The feature with NaN (`f`) occurs in no `!=` and `not in`.
- A comparison with a missing value is missing in both judges and false in Penstock. The script replaces missing results
  of comparisons by false.
- `/` of integers truncates in pyarrow, and // and % do not exist there. The script divides in float64 and floors.
- Integers that meet a real number become float64 in both judges. Penstock compares exactly. Large integers occur only
  in comparisons with integers.
- Overflow and division by 0 are errors of a record in Penstock only. Arithmetic has small operands, and divisors are
  literals other than 0.
"""

import argparse
import json
import math
import pathlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

ROWS = 40
TEXTS = ["", "a", "ab", "abc", "b", "de", "en", "en-GB", "fr", "zürich", "z", "日本"]
PATTERNS = ["^en", "b$", "a.c", "[a-c]+", "^$", "z|日", "e(n|-)", "[äü]r", "^..$"]
LARGE = [2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1]


@dataclass
class Part:
    """A part of an expression: its text, and its value as computed by each judge."""

    text: str
    pandas: Any
    arrow: Any
    has_nan: bool = False


def records(rng: random.Random) -> list[dict[str, Any]]:
    """Returns the records. A missing feature has no key; a list has several values."""
    rows = []
    for number in range(ROWS):
        row: dict[str, Any] = {
            "i": rng.randint(-20, 20),
            "j": rng.randint(-20, 20),
            "large": rng.choice(LARGE),
            "f": rng.choice([math.nan, rng.randint(-40, 40) / 4]),
            "g": rng.randint(-40, 40) / 4,
            "s": rng.choice(TEXTS),
            "t/u": rng.choice(TEXTS),
            "tokens": [rng.randint(0, 9) for _ in range(rng.randint(0, 5))],
            "captions": [rng.choice(TEXTS) for _ in range(rng.randint(0, 3))],
        }
        for name in ("i", "f", "s", "tokens"):
            if rng.random() < 0.15:
                del row[name]
        row["number"] = number
        rows.append(row)
    return rows


class Judges:
    """Makes random parts of expressions over the records, with the results of both judges."""

    def __init__(self, rng: random.Random, rows: list[dict[str, Any]]) -> None:
        self.rng = rng
        self.columns: dict[str, Part] = {}
        for name in ("i", "j", "large"):
            values = [row.get(name) for row in rows]
            self.columns[name] = Part(name, pd.Series(values, dtype="Int64"), pa.array(values, pa.int64()))
        for name in ("f", "g"):
            values = [row.get(name) for row in rows]
            self.columns[name] = Part(
                name, pd.Series(values, dtype="float64"), pa.array(values, pa.float64()), has_nan=name == "f"
            )
        for name in ("s", "t/u"):
            values = [row.get(name) for row in rows]
            text = name if name.isidentifier() else f"col('{name}')"
            self.columns[name] = Part(text, pd.Series(values, dtype="object"), pa.array(values, pa.string()))
        self.lists = {
            "tokens": (
                pd.Series([row.get("tokens", []) for row in rows]),
                pa.array([row.get("tokens", []) for row in rows], pa.list_(pa.int64())),
            ),
            "captions": (
                pd.Series([row["captions"] for row in rows]),
                pa.array([row["captions"] for row in rows], pa.list_(pa.string())),
            ),
        }
        self.size = len(rows)

    def literal(self, value: Any) -> Part:
        text = json.dumps(value, ensure_ascii=False)
        kind = {int: "Int64", float: "float64", str: "object"}[type(value)]
        return Part(text, pd.Series([value] * self.size, dtype=kind), pa.array([value] * self.size))

    def small(self) -> Part:
        """Returns an integer or a real number of small size."""
        choice = self.rng.randrange(6)
        if choice == 0:
            return self.literal(self.rng.randint(-20, 20))
        if choice == 1:
            return self.literal(self.rng.randint(-40, 40) / 4)
        if choice == 2:
            name = self.rng.choice(list(self.lists))
            frame, array = self.lists[name]
            return Part(f"len({name})", frame.map(len).astype("Int64"), pc.list_value_length(array).cast(pa.int64()))
        return self.columns[self.rng.choice(["i", "j", "f", "g"])]

    def number(self, depth: int) -> Part:
        if depth == 0 or self.rng.random() < 0.4:
            return self.small()
        a = self.number(depth - 1)
        operator = self.rng.choice(["+", "-", "*", "/", "//", "%", "negate"])
        if operator == "negate":
            return Part(f"-({a.text})", -a.pandas, pc.negate(a.arrow), a.has_nan)
        if operator in ("+", "-", "*"):
            b = self.small()
            frame = {"+": a.pandas + b.pandas, "-": a.pandas - b.pandas, "*": a.pandas * b.pandas}[operator]
            compute = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[operator]
            return Part(f"({a.text} {operator} {b.text})", frame, compute(a.arrow, b.arrow), a.has_nan or b.has_nan)
        b = self.literal(self.rng.choice([-4, -3, 2, 5, 0.25, -2.5]))
        text = f"({a.text} {operator} {b.text})"
        x, y = a.arrow.cast(pa.float64()), b.arrow.cast(pa.float64())
        if operator == "/":
            return Part(text, a.pandas.astype("Float64") / b.pandas, pc.divide(x, y), a.has_nan)
        floored = pc.floor(pc.divide(x, y))
        arrow = floored if operator == "//" else pc.subtract(x, pc.multiply(floored, y))
        frame = a.pandas // b.pandas if operator == "//" else a.pandas % b.pandas
        return Part(text, frame, arrow, a.has_nan)

    def texts(self) -> Part:
        if self.rng.random() < 0.3:
            return self.literal(self.rng.choice(TEXTS))
        return self.columns[self.rng.choice(["s", "t/u"])]

    def operands(self) -> tuple[Part, Part]:
        choice = self.rng.randrange(4)
        if choice == 0:
            return self.texts(), self.texts()
        if choice == 1:
            large = self.columns["large"]
            return large, self.rng.choice([self.literal(self.rng.choice(LARGE)), self.columns["i"], large])
        return self.number(2), self.number(1)

    def compare(self) -> Part:
        a, b = self.operands()
        operators: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
            "==": (lambda x, y: x == y, pc.equal),
            "<": (lambda x, y: x < y, pc.less),
            "<=": (lambda x, y: x <= y, pc.less_equal),
            ">": (lambda x, y: x > y, pc.greater),
            ">=": (lambda x, y: x >= y, pc.greater_equal),
            "!=": (lambda x, y: x != y, pc.not_equal),
        }
        names = list(operators)[:5] if a.has_nan or b.has_nan else list(operators)
        name = self.rng.choice(names)
        frame, array = operators[name]
        pairs = zip(a.pandas.astype("object"), b.pandas.astype("object"), strict=True)
        if a.pandas.dtype == "object":  # pandas cannot order strings and missing values
            mask = pd.Series([not (pd.isna(x) or pd.isna(y)) and bool(frame(x, y)) for x, y in pairs])
        else:
            mask = frame(a.pandas, b.pandas)
        return self.condition_part(f"{a.text} {name} {b.text}", mask, array(a.arrow, b.arrow))

    def membership(self) -> Part:
        value = (
            self.texts()
            if self.rng.random() < 0.5
            else self.rng.choice([self.columns["i"], self.columns["large"], self.columns["g"], self.columns["f"]])
        )
        if value.pandas.dtype == "object":
            items: list[Any] = self.rng.sample(TEXTS, 3)
        elif value.pandas.dtype == "Int64":
            items = [self.rng.choice(LARGE), *(self.rng.randint(-20, 20) for _ in range(4))]
        else:
            items = [self.rng.randint(-40, 40) / 4 for _ in range(8)]
        negated = not value.has_nan and self.rng.random() < 0.5
        listed = ", ".join(json.dumps(item, ensure_ascii=False) for item in items)
        present = value.pandas.notna()
        mask = value.pandas.isin(items)
        arrow = pc.is_in(value.arrow, value_set=pa.array(items, value.arrow.type))
        if negated:
            mask, arrow = present & ~mask, pc.and_(pc.is_valid(value.arrow), pc.invert(arrow))
        return self.condition_part(f"{value.text} {'not in' if negated else 'in'} ({listed})", mask, arrow)

    def function(self) -> Part:
        value = self.columns[self.rng.choice(["s", "t/u"])]
        choice = self.rng.randrange(4)
        if choice == 0:
            prefix = self.rng.choice(TEXTS)
            return self.condition_part(
                f"startswith({value.text}, {json.dumps(prefix, ensure_ascii=False)})",
                value.pandas.str.startswith(prefix),
                pc.starts_with(value.arrow, prefix),
            )
        if choice == 1:
            pattern = self.rng.choice(PATTERNS)
            return self.condition_part(
                f"matches({value.text}, {json.dumps(pattern, ensure_ascii=False)})",
                pd.Series(value.pandas, dtype="string").str.contains(pattern.replace("(", "(?:"), regex=True),
                pc.match_substring_regex(value.arrow, pattern),
            )
        if choice == 2:
            return self.condition_part(f"has({value.text})", value.pandas.notna(), pc.is_valid(value.arrow))
        frame, array = self.lists["captions"]
        limit = self.rng.randint(0, 10)
        lengths = pa.array([pc.sum(pc.binary_length(texts.values), min_count=0).as_py() or 0 for texts in array], pa.int64())
        total = frame.map(lambda texts: sum(len(text.encode()) for text in texts))
        return self.condition_part(f"bytes(captions) > {limit}", total > limit, pc.greater(lengths, limit))

    def condition_part(self, text: str, mask: Any, arrow: Any) -> Part:
        """Returns a condition whose missing results are false."""
        return Part(text, pd.Series(mask, dtype="boolean").fillna(False).astype(bool), pc.fill_null(arrow, False))

    def condition(self, depth: int) -> Part:
        choice = self.rng.randrange(6)
        if depth == 0 or choice < 2:
            return self.rng.choice([self.compare, self.compare, self.membership, self.function])()
        a = self.condition(depth - 1)
        if choice == 2:
            return Part(f"not ({a.text})", ~a.pandas, pc.invert(a.arrow))
        b = self.condition(depth - 1)
        if choice < 5:
            return Part(f"({a.text}) and ({b.text})", a.pandas & b.pandas, pc.and_(a.arrow, b.arrow))
        return Part(f"({a.text}) or ({b.text})", a.pandas | b.pandas, pc.or_(a.arrow, b.arrow))


def main() -> None:
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=here / "selections.json")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    rows = records(rng)
    judges = Judges(rng, rows)
    cases: dict[str, str] = {}
    while len(cases) < arguments.cases:
        part = judges.condition(3)
        frame = "".join("01"[bool(match)] for match in part.pandas)
        arrow = "".join("01"[bool(match)] for match in part.arrow.to_pylist())
        if frame != arrow:
            raise SystemExit(f"pandas and pyarrow differ: {part.text}\n  {frame}\n  {arrow}")
        if len(part.text) < 400 and (("0" in frame and "1" in frame) or rng.random() < 0.1):
            cases[part.text] = frame
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    masks = ",\n".join(json.dumps([text, mask], ensure_ascii=False) for text, mask in cases.items())
    versions = {"pandas": pd.__version__, "pyarrow": pa.__version__}
    arguments.out.write_text(
        f'{{"judges": {json.dumps(versions)},\n"records": [\n{lines}],\n"cases": [\n{masks}]}}\n'.replace("NaN", '"NaN"')
    )
    print(f"wrote {arguments.out}: {len(cases)} cases of {len(rows)} records")


if __name__ == "__main__":
    main()
