"""Documents name existing files and types, and each folder's README names the folder's headers.

Paths: the target of each link in Markdown with its heading (`page.md#heading`), and each path in backquotes, exists. A path is
relative to the document's folder, one of the folders above it, or a folder of includes. The path of a program is that of its
.cc file without the suffix. Words in capitals stand for any name (`ops/FAMILY/`), as * does.
Types: each CamelCase name in backquotes of a folder's README is a word of the sources.
Headers: the README of a header's folder, or of the nearest folder above, names the header (`reader.h`, `reader`,
`session/reader.h`) or a group that includes it (`session/*.h`).
"""

import fnmatch
import functools
import os
import re

from ratchet import Finding
from tree import CPP, FENCE, blank

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_PATH = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/?")
_PLACEHOLDER = re.compile(r"(?<![A-Za-z0-9.])(?!README|CHANGELOG|LICENSE)[A-Z]{2,}(?![A-Za-z0-9])")
_SOURCE = (".cc", ".h", ".proto", ".cmake")
_TYPE = re.compile(r"(?:[\w:]*::)?([A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*)+)(?:::\w+)?(?:\(.*\))?")
_WITH_HEADERS = ("base", "bench", "client", "config", "examples", "net", "pipeline", "server", "transport")
_INCLUDE_FOLDERS = ("", "client/include", "client/python", "proto", "cmake")


def quoted(text):
    """Yields the line number and the text of each span of inline code."""
    prose = FENCE.sub(lambda match: blank(match[0]), text)
    for match in _CODE.finditer(prose):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[2].split())


def _anchors(text):
    """Returns the names by which links refer to the headings of a document."""
    headings = _HEADING.findall(re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


class _Names:
    """Names that a document may use."""

    def __init__(self, tree):
        self._tree = tree
        self._names = tree.file_set | tree.folders

    @functools.cached_property
    def words(self):
        """All capitalized words of the sources, and the names of their files."""
        found = {name.split(".")[0] for name in self._base_names}
        for path in self._tree.select((*CPP, ".py", ".proto", ".cmake", ".service")):
            text = self._tree.code(path) if path.endswith(CPP) else self._tree.text(path)
            found.update(re.findall(r"\b[A-Z]\w+", text))
        return found

    @functools.cached_property
    def _base_names(self):
        return {os.path.basename(path) for path in self._names}

    def match(self, folder, path):
        """Returns whether a path exists, relative to a document in `folder`."""
        path = _PLACEHOLDER.sub("*", path.rstrip("/"))
        bases = [folder]
        while folder:
            folder = os.path.dirname(folder)
            bases.append(folder)
        for base in [*bases, *_INCLUDE_FOLDERS]:
            full = os.path.normpath(os.path.join(base, path))
            full = "" if full == "." else full
            if full in self._names or f"{full}.cc" in self._names:
                return True
            if "*" in full and any(fnmatch.fnmatchcase(name, full) for name in self._names):
                return True
        return False

    def is_base_name(self, name):
        name = re.sub(r"(?:\.grpc)?\.pb\.(?:h|cc)$", ".proto", _PLACEHOLDER.sub("*", name))
        return name in self._base_names or ("*" in name and bool(fnmatch.filter(self._base_names, name)))

    def first_folders(self, folder):
        """Returns the first names of all paths of this project, relative to `folder`."""
        return {name.split("/")[0] for name in self._names} | {
            name[len(folder) + 1 :].split("/")[0] for name in self._names if name.startswith(folder + "/")
        }


def _wrong_paths(tree, names, document):
    folder, text = os.path.dirname(document), tree.text(document)
    prose = FENCE.sub(lambda match: blank(match[0]), text)
    for match in _LINK.finditer(_CODE.sub(lambda match: blank(match[0]), prose)):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        full = os.path.normpath(os.path.join(folder, target)) if target else document
        exists = full in tree.file_set or full.rstrip("/") in tree.folders
        if not exists or (anchor and full.endswith(".md") and anchor not in _anchors(tree.text(full))):
            yield text.count("\n", 0, match.start()) + 1, match[1]
    first = names.first_folders(folder) - {""}
    for number, code in quoted(text):
        if not _PATH.fullmatch(code) or code.startswith(("build/", "penstock-demo")):
            continue
        if "/" in code.rstrip("/"):
            if code.split("/")[0] in first and not names.match(folder, code):
                yield number, code
        elif code.endswith(_SOURCE) and not code.startswith(".") and not names.is_base_name(code):
            yield number, code


def _unnamed_headers(tree):
    """Yields README, header for each header that its folder's README does not name."""
    readmes = {os.path.dirname(path) for path in tree.files if os.path.basename(path) == "README.md"} - {""}
    named = {folder: {code.rstrip("/") for _, code in quoted(tree.text(f"{folder}/README.md"))} for folder in readmes}
    groups = {folder: [code for code in codes if "*" in code] for folder, codes in named.items()}
    for header in tree.select((".h",), _WITH_HEADERS):
        folder = os.path.dirname(header)
        while folder and folder not in readmes:
            folder = os.path.dirname(folder)
        if not folder:
            yield "README.md", header
            continue
        path = header[len(folder) + 1 :]
        forms = {path, path[:-2], header, header[:-2], os.path.basename(path), os.path.basename(path)[:-2]}
        if not forms & named[folder] and not any(fnmatch.fnmatchcase(path, group) for group in groups[folder]):
            yield f"{folder}/README.md", header


def find(tree, targets=None):
    names = _Names(tree)
    for document in tree.select((".md",)):
        if document == "CHANGELOG.md":  # its older entries name deleted files
            continue
        for number, path in sorted(_wrong_paths(tree, names, document)):
            yield Finding(document, number, path, "No such file, folder or heading.")
        if os.path.basename(document) == "README.md" and os.path.dirname(document) not in ("", "docs"):
            for number, code in quoted(tree.text(document)):
                match = _TYPE.fullmatch(code)
                if match and match[1] not in names.words:
                    yield Finding(document, number, code, "The sources have no such name.")
    for document, header in _unnamed_headers(tree):
        yield Finding(document, 1, header, "Name this header in the README of its folder, or a group of headers (`ops/*.h`).")
