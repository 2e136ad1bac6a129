"""Targets that CMake declares, from targets.json (cmake/PenstockTargetList.cmake)."""

import os
import re


def items(value):
    """Returns the items of a CMake list."""
    return [item for item in value.split(";") if item]


def sources(target, root):
    """Returns the sources of a target below `root`, as paths relative to it, without generated files."""
    found = []
    for source in items(target["sources"]):
        if "$<" not in source:
            path = os.path.relpath(os.path.join(target["folder"], source), root)
            if not path.startswith(("..", "build" + os.sep)):
                found.append(path)
    return found


def libraries(value):
    """Returns the libraries in a list of links. A generator expression stands for the libraries inside it."""
    return [item for item in items(re.sub(r"\$<\w+:|>|::@(?:\(\w+\))?", "", value)) if not item.startswith("-")]


def public_libraries(value):
    """Returns the libraries in INTERFACE_LINK_LIBRARIES that users of a target link too. $<LINK_ONLY:...> is private."""
    return libraries(";".join(item for item in items(value) if "$<LINK_ONLY:" not in item))
