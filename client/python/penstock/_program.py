"""Where the programs are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ._errors import ConfigurationError

_BUNDLED = Path(__file__).resolve().parent / "_programs" / "bin"


def find_program(name: str = "penstock") -> str:
    """The path of `penstock` or `penstockd`.

    The wheel's own, else PENSTOCK_PROGRAM (the path of `penstock`; `penstockd` is looked for beside it), else PATH.
    """
    bundled = _BUNDLED / name
    if os.access(bundled, os.X_OK):
        return str(bundled)
    named = os.environ.get("PENSTOCK_PROGRAM")
    if named:
        path = named if name == "penstock" else os.path.join(os.path.dirname(named), name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
        raise ConfigurationError(
            f"PENSTOCK_PROGRAM={named}: {path} is no program that can be run; name the file `penstock`, or unset it"
        )
    found = shutil.which(name)
    if found:
        return os.path.abspath(found)
    raise ConfigurationError(
        f"the program {name} was not found: not in this package ({_BUNDLED}), not in PATH, and PENSTOCK_PROGRAM is "
        "not set. Install the wheel (pip install penstock), or set PENSTOCK_PROGRAM to its path"
    )
