"""`python -m penstock`: the command `penstock` of this Python, also if PATH lacks it."""

from __future__ import annotations

import os
import sys
from typing import List

from ._convert_command import main as convert
from ._errors import ConfigurationError
from ._program import find_program


def main(arguments: List[str]) -> int:
    if arguments[:1] == ["convert"]:
        return convert(arguments[1:])
    try:
        program = find_program()
    except ConfigurationError as error:
        print(f"penstock: {error}", file=sys.stderr)
        return 1
    os.execv(program, ["penstock", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
