"""A file includes the headers of what it names, itself or through headers of the project.

Files are compiled in batches and with precompiled headers, where a file compiles without its own includes. The rule covers
types and macros that one header of the project declares, and those of the standard library in _STANDARD. Headers of other
projects count as headers that include nothing.
"""

import collections
import functools
import re

from ratchet import Finding

_PUBLIC_HEADERS = "client/include/"
_STANDARD = {
    "array": "array",
    "atomic": "atomic",
    "condition_variable": "condition_variable",
    "deque": "deque",
    "function": "functional",
    "map": "map",
    "make_shared": "memory",
    "make_unique": "memory",
    "multimap": "map",
    "mutex": "mutex",
    "optional": "optional",
    "set": "set",
    "shared_ptr": "memory",
    "span": "span",
    "stop_token": "stop_token",
    "thread": "thread",
    "unique_ptr": "memory",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant",
    "vector": "vector",
    "weak_ptr": "memory",
}
_DECLARED = re.compile(
    r"^(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum(?:\s+class)?|union)\s+(?:PS_\w+(?:\([^)]*\))?\s+)?(\w+)(?:\s+final)?\s*"
    r"(?::[^:;{]*(?:::[^:;{]*)*)?\{",
    re.MULTILINE,
)
_ALIAS = re.compile(r"^using\s+(\w+)\s*=", re.MULTILINE)
_MACRO = re.compile(r"^#define\s+(\w+)", re.MULTILINE)
_OTHER = re.compile(
    r"^ +(?:class|struct|enum class|enum|using)\s+(\w+)\b"
    r"|^ *(?:[\w:<>,]+[&*\s]+)+([A-Z]\w+)\("
    r"|\btypename\s+([A-Z]\w+)",
    re.MULTILINE,
)
_FORWARD = re.compile(r"\b(?:class|struct)\s+(\w+)\s*;")
_SYSTEM = re.compile(r"^\s*#\s*include\s+<(\w+)>", re.MULTILINE)
_STD = re.compile(r"\bstd::(\w+)")
_WORD = re.compile(r"(?<!::)(?<!\.)(?<!->)\b[A-Z]\w+")


class _Names:
    """The types and macros that one header declares, and whose names no member, function or other file has."""

    def __init__(self, tree):
        places, others = collections.defaultdict(set), set()
        for path in tree.select((".h", ".cc")):
            code = tree.code(path)
            for pattern in (_DECLARED, _ALIAS, _MACRO):
                for match in pattern.finditer(code):
                    places[match[1]].add(path)
            for match in _OTHER.finditer(code):
                others |= {name for name in match.groups() if name}
        self.header = {}
        for name, paths in places.items():
            (path, *more) = paths
            if not more and name not in others and path.endswith(".h") and name[0].isupper() and not name.endswith("_H_"):
                self.header[name] = path


def find(tree, _targets):
    header_of = _Names(tree).header

    @functools.cache
    def included(path):
        """Returns the project's files that a file includes directly."""
        return [
            each
            for _, name in tree.includes(path)
            for each in (name, _PUBLIC_HEADERS + name)
            if each in tree.file_set
        ]

    def closure(path):
        found, waiting = {path}, [path]
        while waiting:
            for each in included(waiting.pop()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    @functools.cache
    def system(path):
        return set(_SYSTEM.findall(tree.text(path)))

    for path in tree.select((".h", ".cc")):
        reached = closure(path)
        standard = set().union(*(system(each) for each in reached))
        forward = set().union(*(set(_FORWARD.findall(tree.code(each))) for each in reached))
        missing = set()
        for number, line in enumerate(tree.code(path).splitlines(), 1):
            for name in _WORD.findall(line):
                header = header_of.get(name)
                if header and header not in reached and name not in forward and name not in missing:
                    missing.add(name)
                    yield Finding(path, number, name, f'It must include "{header}".')
            for name in _STD.findall(line):
                header = _STANDARD.get(name)
                if header and header not in standard and header not in missing:
                    missing.add(header)
                    yield Finding(path, number, f"std::{name}", f"It must include <{header}>.")
