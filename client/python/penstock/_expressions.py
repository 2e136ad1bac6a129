"""Expressions of dataset.select, built with Python's operators: col("width") >= 256 is the text `width >= 256`."""

from __future__ import annotations

import math
import re
from typing import Any, Iterable, NoReturn

from ._errors import ConfigurationError
from ._tracebacks import public

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED = {"and", "or", "not", "in", "col", "len", "bytes", "has", "hash", "startswith", "matches"}
# Strengths of operators, as in docs/select.md. A stronger one binds its operands first.
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _MINUS, _ATOM = range(8)


class Expression:
    """A condition over the features of a record, or a value. str() returns its text.

    Comparisons, `+ - * / // %` and `& | ~` (for and, or, not) give new expressions. Write each comparison in parentheses:
    `(col("width") >= 256) & (col("lang") == "en")`. docs/select.md describes the meaning.
    """

    def __init__(self, text: str, strength: int) -> None:
        self.text, self.strength = text, strength

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<penstock expression {self.text}>"

    @public
    def __bool__(self) -> NoReturn:
        raise ConfigurationError(
            f"`{self.text}` has no value before a record is read; write & for and, | for or, ~ for not, isin() for in, and"
            " (a <= x) & (x <= b) for a chain"
        )

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: Any) -> Expression:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> Expression:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._compared(">=", other)

    def __and__(self, other: Any) -> Expression:
        return _joined(self, "and", _condition(other), _AND)

    def __or__(self, other: Any) -> Expression:
        return _joined(self, "or", _condition(other), _OR)

    # 1 & col("b"): without parentheses, & binds before a comparison.
    __rand__ = __ror__ = lambda self, other: _condition(other)

    def __invert__(self) -> Expression:
        return Expression(f"not {_operand(self, _NOT)}", _NOT)

    def __add__(self, other: Any) -> Expression:
        return _joined(self, "+", other, _ADD)

    def __radd__(self, other: Any) -> Expression:
        return _joined(other, "+", self, _ADD)

    def __sub__(self, other: Any) -> Expression:
        return _joined(self, "-", other, _ADD)

    def __rsub__(self, other: Any) -> Expression:
        return _joined(other, "-", self, _ADD)

    def __mul__(self, other: Any) -> Expression:
        return _joined(self, "*", other, _MULTIPLY)

    def __rmul__(self, other: Any) -> Expression:
        return _joined(other, "*", self, _MULTIPLY)

    def __truediv__(self, other: Any) -> Expression:
        return _joined(self, "/", other, _MULTIPLY)

    def __rtruediv__(self, other: Any) -> Expression:
        return _joined(other, "/", self, _MULTIPLY)

    def __floordiv__(self, other: Any) -> Expression:
        return _joined(self, "//", other, _MULTIPLY)

    def __rfloordiv__(self, other: Any) -> Expression:
        return _joined(other, "//", self, _MULTIPLY)

    def __mod__(self, other: Any) -> Expression:
        return _joined(self, "%", other, _MULTIPLY)

    def __rmod__(self, other: Any) -> Expression:
        return _joined(other, "%", self, _MULTIPLY)

    def __neg__(self) -> Expression:
        return Expression(f"-{_operand(self, _MINUS)}", _MINUS)

    @public
    def isin(self, values: Iterable[Any]) -> Expression:
        """Returns whether the value is one of these numbers or texts."""
        if isinstance(values, (str, bytes)):
            raise ConfigurationError(f"isin({values!r}): a list of values is expected, such as [{values!r}]")
        listed = [_literal(value) for value in values]
        if not listed:
            raise ConfigurationError("isin([]): at least one value is expected")
        return Expression(f"{_operand(self, _COMPARE + 1)} in ({', '.join(listed)})", _COMPARE)

    @public
    def startswith(self, prefix: str) -> Expression:
        """Returns whether the text starts with `prefix`."""
        return Expression(f"startswith({self}, {_literal(prefix)})", _ATOM)

    @public
    def matches(self, pattern: str) -> Expression:
        """Returns whether the regular expression (RE2) matches any part of the text."""
        return Expression(f"matches({self}, {_literal(pattern)})", _ATOM)

    def len(self) -> Expression:
        """Returns the number of values of the feature."""
        return Expression(f"len({self})", _ATOM)

    def bytes(self) -> Expression:
        """Returns the total length of the values of a BYTES feature."""
        return Expression(f"bytes({self})", _ATOM)

    def has(self) -> Expression:
        """Returns whether the record has the feature with at least one value."""
        return Expression(f"has({self})", _ATOM)

    def hash(self) -> Expression:
        """Returns an integer from 0 to 2**63 - 1 that depends only on the value."""
        return Expression(f"hash({self})", _ATOM)

    def _compared(self, operator: str, other: Any) -> Expression:
        return Expression(f"{_operand(self, _COMPARE + 1)} {operator} {_operand(other, _COMPARE + 1)}", _COMPARE)


@public
def col(name: str) -> Expression:
    """Returns the feature of a record with this key, for conditions: `col("image/width") >= 256`."""
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"col({name!r}): the key of a feature is expected")
    plain = _PLAIN.match(name) and name not in _RESERVED
    return Expression(name if plain else f"col({_literal(name)})", _ATOM)


def _joined(left: Any, operator: str, right: Any, strength: int) -> Expression:
    # a - b - c is (a - b) - c, so that only the right side needs parentheses.
    return Expression(f"{_operand(left, strength)} {operator} {_operand(right, strength + 1)}", strength)


def _operand(value: Any, strength: int) -> str:
    if not isinstance(value, Expression):
        return _literal(value)
    return value.text if value.strength >= strength else f"({value.text})"


def _condition(value: Any) -> Expression:
    if isinstance(value, Expression):
        return value
    advice = "write each comparison in parentheses: (col('a') > 1) & (col('b') > 2)"
    raise ConfigurationError(f"{value!r} is no condition; {advice}")


def _literal(value: Any) -> str:
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a NumPy scalar
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return "'" + "".join(map(_escaped, value)) + "'"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63:
        return repr(value)
    raise ConfigurationError(f"{value!r} in an expression: a text, a whole number of 64 bits or a finite number is expected")


def _escaped(byte: int) -> str:
    special = {ord("\\"): "\\\\", ord("'"): "\\'", ord("\n"): "\\n", ord("\t"): "\\t"}
    return special.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}")
