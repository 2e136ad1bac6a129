"""Where the package and the programs are, and what the tests share."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "client" / "python"))
sys.path.insert(0, str(HERE))
# What subprocesses of tests import.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "client" / "python"), str(HERE)])
# Where `build/release/bin` is; ctest says it.
BIN = Path(os.environ.get("PENSTOCK_BIN", ROOT / "build" / "release" / "bin"))
