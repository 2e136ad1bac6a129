"""Only pipeline/storage looks at a name to decide which storage holds it."""

import re

from ratchet import Finding
from tree import CPP

ADVICE = "Ask the Storage for what the code needs to know, not the name for the kind of storage."
_CALL = re.compile(r"\b(?:Is|Parse)ObjectName\b")


def find(tree, targets=None):
    for path in tree.select(CPP):
        if not path.startswith(("pipeline/storage/", "tests/pipeline/storage/")):
            for number, line in tree.grep(path, _CALL):
                yield Finding(path, number, line, ADVICE)
