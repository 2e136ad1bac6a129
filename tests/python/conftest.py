"""Fixtures of every test in this folder."""

from fixtures import fake, no_feeder_is_left, small_files, small_job  # noqa: F401
