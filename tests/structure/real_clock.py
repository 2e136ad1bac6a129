"""Unit suites do not depend on elapsed time: they read no real clock, do not sleep and do not poll.

The rule covers the sources of each penstock_test() that runs as a unit test, and the headers of tests/ that they include,
with the .cc file of the same name. A timed wait that only ends a hanging test (std::future::wait_for) is allowed.
"""

import re

import targets as cmake
from ratchet import Finding

ADVICE = "Pass a ManualClock or a SimScheduler; wait for an event instead of sleeping or polling (tests/README.md)."
_SLOW_LABELS = {"integration", "faults"}
_CLOCK = re.compile(
    r"""
    \bClock::Real\(\)
  | \b\w+_clock::now\b
  | \babsl::(?:Now|SleepFor)\(
  | \b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep|gettimeofday)\(
  | (?<![\w.>]) (?:std::|::)? (?:sleep|time) \( (?:\d+|nullptr|NULL) \)
  | \bclock_gettime\( (?! CLOCK_(?:THREAD|PROCESS)_CPUTIME_ID )
  | \bWaitUntil\(
    """,
    re.VERBOSE,
)


def suite_files(tree, targets):
    """Returns the sources of unit suites, and the files of tests/ that they include."""
    waiting = set()
    for target in targets():
        labels = set(cmake.items(target["labels"]))
        if labels and not labels & _SLOW_LABELS:
            waiting |= set(cmake.sources(target, tree.root))
    found = set()
    while waiting:
        path = waiting.pop()
        if path in found or path not in tree.file_set:
            continue
        found.add(path)
        for _, name in tree.includes(path):
            if name.startswith("tests/"):
                waiting |= {name, re.sub(r"\.h$", ".cc", name)}
    return sorted(found)


def find(tree, targets):
    for path in suite_files(tree, targets):
        for number, line in tree.grep(path, _CLOCK):
            yield Finding(path, number, line, ADVICE)
