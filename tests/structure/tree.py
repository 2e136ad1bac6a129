"""The project's source tree, and C++ text split into code, comments and literals."""

import bisect
import functools
import os
import re

# Outputs of builds and of ./run demo, next to the sources.
OUTPUTS = ("build", "penstock-demo")
CPP = (".cc", ".h", ".c")


class Tree:
    """Files below a folder, by their paths relative to it."""

    def __init__(self, root):
        self.root = root
        self._texts = {}

    @functools.cached_property
    def files(self):
        """All paths, sorted, without outputs and hidden folders other than .ci."""
        found = []
        for folder, folders, names in os.walk(self.root):
            top = folder == self.root
            folders[:] = [
                name
                for name in folders
                if name == ".ci" or not (name.startswith(".") or name == "__pycache__" or (top and name.startswith(OUTPUTS)))
            ]
            found += (os.path.relpath(os.path.join(folder, name), self.root) for name in names)
        return sorted(found)

    @functools.cached_property
    def file_set(self):
        return frozenset(self.files)

    @functools.cached_property
    def folders(self):
        """Paths of all folders that contain files, at any depth; the root is ""."""
        found = {""}
        for path in self.files:
            while path := os.path.dirname(path):
                found.add(path)
        return frozenset(found)

    def select(self, suffixes, under=()):
        """Returns the files whose names end with one of `suffixes`, below one of the folders `under` (anywhere if empty)."""
        below = tuple(folder + "/" for folder in under)
        return [path for path in self.files if path.endswith(suffixes) and (not below or path.startswith(below))]

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    @functools.cache  # noqa: B019  one tree in a process
    def code(self, path):
        """Returns C++ without comments and contents of literals. Each line keeps its number."""
        return code_of(self.text(path))

    def grep(self, path, pattern):
        """Yields the number and text of each line of C++ whose code matches."""
        text = self.text(path)
        if not pattern.search(text):  # most files need no closer look
            return
        lines = text.splitlines()
        for number, code in enumerate(self.code(path).splitlines(), 1):
            if pattern.search(code):
                yield number, lines[number - 1].strip()

    @functools.cache  # noqa: B019
    def includes(self, path):
        """Returns the line number and name of each #include "name" with a folder."""
        return [
            (number, match[1])
            for number, line in enumerate(self.text(path).splitlines(), 1)
            if (match := _INCLUDE.match(line)) and "/" in match[1]
        ]


# Code in Markdown: fences and indented lines.
FENCE = re.compile(
    r"^[ >]*(```|~~~).*?^[ >]*\1[^\n]*$|^(?: {4}|\t)(?!\s*(?:[-*+]|\d+\.)\s)[^\n]*$", re.MULTILINE | re.DOTALL
)
_INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')

_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> \bR"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)" )
  | (?P<string> "(?:\\.|[^"\\\n])*" )
  | (?P<number> \b[0-9][0-9a-zA-Z]*(?:'[0-9a-zA-Z]+)+ )
  | (?P<char> '(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(text):
    """Yields (kind, start, end) of the comments and literals of C++: comment, raw, string, char."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "number":
            kind = "raw" if match["raw"] is not None else match.lastgroup
            yield kind, match.start(), match.end()


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    parts, last = [], 0
    for kind, start, end in tokens(text):
        parts.append(text[last:start])
        token = text[start:end]
        # A literal keeps its quotes, so that a call f("x") still has an argument.
        parts.append(blank(token) if kind == "comment" else token[0] + blank(token[1:-1]) + token[-1])
        last = end
    parts.append(text[last:])
    return "".join(parts)


def end_of_block(code, start):
    """Returns the offset of the brace that closes the block around `start`, or the end of `code`. `code` has no literals."""
    depth = 0
    for match in _BRACE.finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth < 0:
            return match.start()
    return len(code)


_BRACE = re.compile("[{}]")


class Lines:
    """Line numbers of offsets in a text."""

    def __init__(self, text):
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def number(self, offset):
        return bisect.bisect_right(self._starts, offset)
