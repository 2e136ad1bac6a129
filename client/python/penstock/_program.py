"""Finds the programs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ._errors import ConfigurationError
from ._tracebacks import public

_BUNDLED = Path(__file__).resolve().parent / "_programs" / "bin"


@public
def find_program(name: str = "penstock") -> str:
    """Returns the path of `penstock` or `penstockd`.

    Prefers the wheel's own program, then PENSTOCK_PROGRAM (the path of `penstock`; `penstockd` must be in the same
    folder), then PATH.
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
            f"PENSTOCK_PROGRAM={named}: {path} cannot be executed. Set PENSTOCK_PROGRAM to the "
            "path of `penstock`, or unset it"
        )
    found = shutil.which(name)
    if found:
        return os.path.abspath(found)
    raise ConfigurationError(
        f"the program {name} was not found: not in this package ({_BUNDLED}), not in PATH, and PENSTOCK_PROGRAM is "
        "not set. Install the wheel (pip install penstock), or set PENSTOCK_PROGRAM to the path of `penstock`"
    )
