#!/usr/bin/env python3
"""Checks rules about the sources that no compiler checks; see README.md in this folder.

Exit codes: 0 if the rules pass, 1 if one does not, 2 if the command line, a list or a file is wrong; 0 with --show.
"""

import argparse
import importlib
import json
import os
import sys

import ratchet
from tree import Tree

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = (
    "message_branches",
    "object_names",
    "storage_globals",
    "real_clock",
    "lock_release",
    "namespaces",
    "readmes",
    "prose",
    "includes",
    "own_includes",
)


class NoTargetsError(Exception):
    """The rule needs the targets, and the command line names no file with them."""


class Targets:
    """The targets that CMake declares, read when a rule first asks for them (cmake/PenstockTargetList.cmake)."""

    def __init__(self, path):
        self._path = path
        self._targets = None

    def __call__(self):
        if self._targets is None:
            if self._path is None:
                raise NoTargetsError
            with open(self._path, encoding="utf-8") as file:
                self._targets = json.load(file)
        return self._targets


def main(arguments):
    parser = argparse.ArgumentParser(description="Checks rules about the sources.")
    parser.add_argument("rules", nargs="+", metavar="RULE", choices=[*RULES, "all"], help=f"all, or any of {', '.join(RULES)}")
    parser.add_argument("--root", default=os.path.join(HERE, "..", ".."), help="the source tree")
    parser.add_argument("--lists", default=os.path.join(HERE, "lists"), help="folder of the accepted findings")
    parser.add_argument("--targets", help="targets.json of a build folder, for the rules 'includes' and 'real_clock'")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--update", action="store_true", help="lower the counts in the lists to what is found")
    action.add_argument("--begin", action="store_true", help="write the list of a rule that has none")
    action.add_argument("--show", action="store_true", help="print every finding, also those whose number a list accepts")
    options = parser.parse_args(arguments)

    tree = Tree(os.path.abspath(options.root))
    targets = Targets(options.targets)
    failed = False
    try:
        for rule in RULES if "all" in options.rules else options.rules:
            accepted = ratchet.List(options.lists, rule)
            findings = list(importlib.import_module(rule).find(tree, targets))
            if options.begin:
                accepted.begin(findings)
            elif options.update:
                accepted.lower(findings)
            elif options.show:
                print(*sorted(accepted.split(findings)[0]), sep="\n")
            problems = [] if options.show else accepted.problems(findings)
            for problem in problems:
                print(f"{problem}", file=sys.stderr)
            if problems:
                print(f"\n{rule}: {len(problems)} problems. See tests/structure/README.md.", file=sys.stderr)
                failed = True
    except NoTargetsError:
        print(f"{rule} needs --targets build/PRESET/targets.json, which cmake writes.", file=sys.stderr)
        return 2
    except (ratchet.BadListError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
