"""Waits with deadlines. Nothing in this folder sleeps to be right."""

import time

LONG_SECONDS = 300  # deadline of events that take seconds on an idle machine


def eventually(what, condition, seconds=LONG_SECONDS, context=lambda: ""):
    """Polls until the condition returns something true, and returns it."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s\n{context()}")
        time.sleep(0.2)
    return result
