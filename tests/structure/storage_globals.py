"""The host provides the storage: no code uses the process-wide storages.

pipeline/storage/files.* defines AnyFiles() and Objects(), the storages of the process.
"""

import re

from ratchet import Finding
from tree import CPP

ADVICE = "Take a Storage* from the caller (pipeline/storage/storage.h) instead of the process's own."
_CALL = re.compile(r"\b(?:AnyFiles|Objects)\(\)")


def find(tree, targets=None):
    for path in tree.select(CPP):
        if not path.startswith("pipeline/storage/files."):
            for number, line in tree.grep(path, _CALL):
                yield Finding(path, number, line, ADVICE)
