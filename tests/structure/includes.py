"""A target includes headers of the project only from itself and from the targets that it declares.

For #include "dir/x.h" in a source of the target T, one owner of dir/x.h must be T, a library that T links, or a PUBLIC
dependency of such a library, and so on. Owners of a header are the targets with the source dir/x.cc; without one, the targets
with a source in dir/, or in the nearest folder above. Generated messages belong to their penstock_proto(). An include in a
header is correct if it is correct for one of the header's owners. The rule does not cover headers of other projects.

A header of tests/ without a .cc file has nothing to link: its includes count for each file that includes it.
"""

import collections
import os

import targets as cmake
from ratchet import Finding

_PUBLIC_HEADERS = "client/include/"
_ALIASES = {"Penstock::client": "penstock_client"}  # From add_library(... ALIAS).


class _Graph:
    def __init__(self, tree, targets):
        self._tree = tree
        self._direct, self._public = {}, {}
        self._by_stem = collections.defaultdict(set)  # path without its suffix -> targets
        self._by_folder = collections.defaultdict(set)
        self._reachable = {}
        self.sources = {}  # target -> paths
        for target in targets:
            name = target["name"]
            self._direct[name] = {_ALIASES.get(link, link) for link in cmake.libraries(target["links"])}
            self._public[name] = {_ALIASES.get(link, link) for link in cmake.public_libraries(target["interface_links"])}
            self.sources[name] = [path for path in cmake.sources(target, tree.root) if path in tree.file_set]
            for path in self.sources[name]:
                self._by_stem[os.path.splitext(path)[0]].add(name)
                self._by_folder[os.path.dirname(path)].add(name)
            for source in cmake.items(target["sources"]):
                if source.endswith(".pb.cc") and "/proto/" in source:
                    self._by_stem[source.split("/proto/", 1)[1].removesuffix(".cc")].add(name)

    def resolve(self, name):
        """Returns the path of an include of this project, without its suffix if it is generated; None for other projects."""
        for path in (name, _PUBLIC_HEADERS + name):
            if path in self._tree.file_set:
                return path
        return name.removesuffix(".h") if name.endswith(".pb.h") and name.removesuffix(".h") in self._by_stem else None

    def owners(self, path):
        if path.startswith(_PUBLIC_HEADERS):
            return {"penstock_client"}
        stem = path.removesuffix(".h")
        if stem in self._by_stem:
            return self._by_stem[stem]
        folder = os.path.dirname(path)
        while folder and folder not in self._by_folder:
            folder = os.path.dirname(folder)
        return self._by_folder.get(folder, set())

    def reachable(self, target):
        """Returns the target, the targets that it links, and their public dependencies."""
        if target not in self._reachable:
            found, waiting = {target}, set(self._direct[target]) | self._public[target]
            while waiting:
                link = waiting.pop()
                if link not in found:
                    found.add(link)
                    waiting |= self._public.get(link, set())
            self._reachable[target] = found
        return self._reachable[target]


    def is_inline(self, path):
        """Returns whether a file is a header of tests/ without a .cc file."""
        return path.startswith("tests/") and path.endswith(".h") and path.removesuffix(".h") not in self._by_stem

    def needs(self, path):
        """Yields the line, name and owners of each header that a file includes; for an inline header, those of its includes."""
        for number, name in self._tree.includes(path):
            waiting, seen = [name], set()
            while waiting:
                each = waiting.pop()
                included = self.resolve(each)
                if included is None or included in seen:
                    continue
                seen.add(included)
                if self.is_inline(included):
                    waiting += [inner for _, inner in self._tree.includes(included)]
                else:
                    yield number, each, self.owners(included)


def find(tree, targets):
    graph = _Graph(tree, targets())
    users = collections.defaultdict(set)  # file -> the targets that compile it
    for target, paths in graph.sources.items():
        for path in paths:
            users[path].add(target)
    for header in tree.select((".h",)):
        if not graph.is_inline(header):
            users[header] |= graph.owners(header)
    for path, of_targets in sorted(users.items()):
        is_header = path.endswith(".h")
        for number, name, owners in graph.needs(path):
            missing = sorted(target for target in of_targets if not owners & graph.reachable(target))
            if owners and missing and not (is_header and len(missing) < len(of_targets)):
                yield Finding(path, number, name, f"{', '.join(missing)} must link {' or '.join(sorted(owners))}.")
