"""No function releases its caller's lock.

A function that ABSL_EXCLUSIVE_LOCKS_REQUIRED(m) annotates is called with m held. If it unlocks m, guarded data changes in
the middle of its caller, which neither the caller's code nor clang's analysis shows.
"""

import re

from ratchet import Finding
from tree import CPP, Lines, end_of_block

ADVICE = "The function requires this lock, so its caller holds it. Return what is to be done without the lock instead."
_REQUIRES = re.compile(r"\bABSL_(?:EXCLUSIVE|SHARED)_LOCKS_REQUIRED\(([^()]*(?:\(\)[^()]*)*)\)")
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:[A-Z_]+(?:\([^()]*\))?\s+)?([A-Z]\w*)[^;{}()=]*\{")
_NAME = re.compile(r"(~?\w+)\s*\(")
# Text between the annotation and a body: further annotations, const, override ...
_TO_BODY = re.compile(r"(?:\s|const\b|override\b|final\b|noexcept\b|mutable\b|->\s*[\w:<>*&]+|\b[A-Z_]+\([^()]*\))*\{")


def _enclosing_class(classes, offset):
    inner = [(start, name) for start, end, name in classes if start < offset < end]
    return max(inner)[1] if inner else None


def _required(code):
    """Yields the class (None outside), the function's name (None for a lambda), the mutexes, and the body's start or None."""
    classes = [(match.start(), end_of_block(code, match.end()), match[1]) for match in _CLASS.finditer(code)]
    for match in _REQUIRES.finditer(code):
        begin = max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        head = re.sub(r"^\s*(?:(?:public|private|protected):\s*)+", "", code[begin : match.start()])
        name = _NAME.search(re.sub(r"\bABSL_\w+\([^()]*\)", "", head))
        mutexes = [re.split(r"[.>&*]", part)[-1].strip() for part in match[1].split(",")]
        body = _TO_BODY.match(code, match.end())
        yield _enclosing_class(classes, match.start()), name and name[1], mutexes, body and body.end()


def _releases(code, start, mutexes):
    """Yields the offsets at which the body from `start` unlocks one of `mutexes`."""
    names = "|".join(re.escape(mutex) for mutex in mutexes if mutex)
    unlock = re.compile(
        rf"\b(?:{names})\s*(?:\.|->)\s*[Uu]nlock\(|\b\w*(?:Unlock|Releasable)\w*\b[^;]*&\s*(?:{names})\b"
    )
    for match in unlock.finditer(code, start, end_of_block(code, start)):
        yield match.start()


def find(tree, targets=None):
    found = set()
    functions = {}  # (class, name) -> mutexes
    for path in tree.select(CPP):
        if "_LOCKS_REQUIRED" not in tree.text(path) or path == "base/mutex.h":
            continue
        code = tree.code(path)
        for owner, name, mutexes, body in _required(code):
            if body is not None:
                found |= {(path, offset) for offset in _releases(code, body, mutexes)}
            elif name is not None:
                functions.setdefault((owner, name), set()).update(mutexes)
    by_name = {}
    for (owner, name), mutexes in functions.items():
        by_name[f"{owner}::{name}" if owner else name] = mutexes
    definition = re.compile(r"^[^\s#/].*?((?:\w+::)?~?\w+)\s*\(", re.MULTILINE)
    for path in tree.select((".cc",)):
        if not re.search("[Uu]nlock|Releasable", tree.text(path)):
            continue
        code = tree.code(path)
        for match in definition.finditer(code):
            mutexes = by_name.get(match[1])
            body = code.find("{", match.end())
            semicolon = code.find(";", match.end())
            if mutexes and body >= 0 and not 0 <= semicolon < body:
                found |= {(path, offset) for offset in _releases(code, body + 1, mutexes)}
    for path, offset in sorted(found):
        text = tree.text(path)
        number = Lines(text).number(offset)
        yield Finding(path, number, text.splitlines()[number - 1].strip(), ADVICE)
