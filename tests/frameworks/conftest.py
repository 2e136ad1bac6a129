"""Fixtures of every test in this folder: those of tests/python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from fixtures import fake, no_feeder_is_left, small_files, small_job  # noqa: F401
