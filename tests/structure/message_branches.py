"""Code does not branch on the text of a message.

A message is for people, and its text may change at any time. Code decides by the status code or by a payload.
The rule covers programs and libraries; a test may compare the text that it expects.
"""

import re

from ratchet import Finding
from tree import CPP, Lines, end_of_block

ADVICE = "Branch on the status code or on a payload (absl::Status::SetPayload), not on the message's text."

_TEXT = r"\b(?:error_)?message\(\)"
_COMPARES = r"(?:StrContains|StrContainsIgnoreCase|StartsWith|StartsWithIgnoreCase|EndsWith|ConsumePrefix|ConsumeSuffix)"
# A message that the expression itself compares.
_DIRECT = re.compile(
    rf"""
    \b{_COMPARES}\(\s*&?[\w.>()*-]*?{_TEXT}
  | {_TEXT}(?:\.substr\([^()]*\))?\s*[!=]=
  | {_TEXT}\.(?:find|rfind|compare|starts_with|ends_with|contains)\(
  | [!=]=\s*[\w.>()*-]*?{_TEXT}
    """,
    re.VERBOSE,
)
# A variable that holds only a message.
_COPY = re.compile(rf"\b(?:string|string_view|auto)&?\s+(\w+)\s*[=({{]\s*(?:std::string\()?[\w.>()*-]*?{_TEXT}\)*\s*[)}}]?\s*;")
_PYTHON = re.compile(r"\bin (?:str|repr)\((?:e|err|error|exception|failure)\)|\bstr\((?:e|err|error|exception)\)\.startswith")


def _cpp(code):
    """Yields the offsets of branches on a message."""
    for match in _DIRECT.finditer(code):
        yield match.start()
    for copy in _COPY.finditer(code):
        scope = end_of_block(code, copy.end())
        name = re.escape(copy[1])
        use = rf"\b{_COMPARES}\(\s*&?{name}\b|\b{name}\s*[!=]=|\b{name}\.(?:find|rfind|compare|starts_with|ends_with)\("
        for match in re.finditer(use, code[copy.end() : scope]):
            yield copy.end() + match.start()


def find(tree, targets=None):
    for path in tree.select((*CPP, ".py")):
        if path.startswith(("tests/", "bench/")):
            continue
        text = tree.text(path)
        if "message()" not in text and not path.endswith(".py"):
            continue
        offsets = (match.start() for match in _PYTHON.finditer(text)) if path.endswith(".py") else _cpp(tree.code(path))
        lines, source = Lines(text), text.splitlines()
        for number in sorted({lines.number(offset) for offset in offsets}):
            yield Finding(path, number, source[number - 1].strip(), ADVICE)
