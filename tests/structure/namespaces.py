"""Each folder's code is in the namespace of its package.

A file opens namespace penstock::PACKAGE, or a namespace inside it. The client API, the API for own ops and base are in
namespace penstock. A test is in the namespace of the package that it tests. docs/dev/README.md explains the rule, and
_PACKAGES is the table of all packages.
"""

import re

from ratchet import Finding
from tree import CPP

ADVICE = "Open the namespace of the folder's package (tests/structure/namespaces.py has the table)."
_OPENS = re.compile(r"^namespace penstock\b(?P<inner>[\w:]*) \{")
# The first pattern that matches the start of a path gives its package; "" is namespace penstock itself.
_PACKAGES = tuple(
    (re.compile(pattern), package)
    for pattern, package in (
        (r"(?:base|client/include|client/examples|examples)/", ""),
        (r"client/reader\.cc|client/assembly/batch(?:_builder)?\.", ""),  # members of the client API
        (r"pipeline/augment/(?:op|value|ops/common)/", ""),  # the API for own ops
        (r"pipeline/import/", "imports"),  # import is a word of C++
        (r"pipeline/(\w+)/", r"\1"),
        (r"server/(worker|coordinator)/", r"\1"),
        (r"client/(cli|feed)/", r"\1"),
        (r"tests/(support|simulation)/", r"\1"),
        (r"(\w+)/", r"\1"),
    )
)


def package(path):
    tested = re.sub(r"^tests/(?!support/|simulation/)", "", path)
    for pattern, name in _PACKAGES:
        if match := pattern.match(tested):
            return match.expand(name)
    return ""


def find(tree, targets=None):
    for path in tree.select(CPP):
        space = "::" + package(path) if package(path) else ""
        for number, line in tree.grep(path, _OPENS):
            inner = _OPENS.match(line)["inner"]
            if inner != space and (not space or not inner.startswith(space + "::")):
                yield Finding(path, number, line, ADVICE)
