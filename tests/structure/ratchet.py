"""Lists of findings that may only shrink.

lists/RULE.txt has a line for each file with findings: the path and their number. A file with more findings than its
line allows fails the rule. A file with fewer fails too, until its line is lowered. Lists hold counts, not line
numbers, so that code can move within a file.

lists/RULE.allowed.txt names findings that are correct, each with its reason:
    path | text of the finding | reason
"""

import collections
import dataclasses
import os


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str  # the file whose count includes the finding
    line: int
    text: str  # the source line, or the wrong name
    advice: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}\n    {self.advice}"


class BadListError(Exception):
    """A list has an invalid line, or exists although it must not."""


class List:
    """The findings that one rule accepts."""

    def __init__(self, folder, rule):
        self.rule = rule
        self.path = os.path.join(folder, f"{rule}.txt")
        self.allowed_path = os.path.join(folder, f"{rule}.allowed.txt")
        self.counts = {}
        for number, line in _lines(self.path):
            path, _, count = line.rpartition(" ")
            if not path or not count.isdigit() or int(count) == 0:
                raise BadListError(f"{self.path}:{number}: expected a path and a count above 0, not {line!r}")
            self.counts[path] = int(count)
        self.allowed = {}  # (path, text) -> reason
        for number, line in _lines(self.allowed_path):
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                raise BadListError(f"{self.allowed_path}:{number}: expected path | text | reason, not {line!r}")
            self.allowed[parts[0], parts[1]] = parts[2]

    def split(self, findings):
        """Returns the findings that are not allowed, and the allowances that no finding needs."""
        kept, used = [], set()
        for finding in findings:
            matches = {key for key in self.allowed if key[0] == finding.path and key[1] in finding.text}
            used |= matches
            if not matches:
                kept.append(finding)
        return kept, sorted(self.allowed.keys() - used)

    def problems(self, findings):
        """Returns the problems that make the rule fail, as text; empty if it passes."""
        kept, unused = self.split(findings)
        by_path = collections.defaultdict(list)
        for finding in sorted(kept):
            by_path[finding.path].append(finding)
        problems = []
        for path, found in sorted(by_path.items()):
            accepted = self.counts.get(path, 0)
            if len(found) > accepted:
                lines = [str(finding) for finding in found]
                if accepted > 0:
                    lines.append(f"    {self.path} accepts {accepted} of these {len(found)}: correct the new ones.")
                problems.append("\n".join(lines))
        for path, accepted in sorted(self.counts.items()):
            found = len(by_path.get(path, ()))
            if found == 0:
                problems.append(f"{self.path}: {path} has no finding any longer: remove it from the list (--update)")
            elif found < accepted:
                problems.append(f"{self.path}: {path} has {found} findings, not {accepted}: lower its count (--update)")
        problems += [
            f"{self.allowed_path}: {path} has no finding with {text!r} any longer: remove it from the list"
            for path, text in unused
        ]
        return problems

    def lower(self, findings):
        """Lowers counts to the numbers found, and writes the list. Raises no count and adds no path."""
        kept, _ = self.split(findings)
        found = collections.Counter(finding.path for finding in kept)
        counts = {path: min(accepted, found[path]) for path, accepted in self.counts.items()}
        self.counts = {path: count for path, count in counts.items() if count > 0}
        self.write()

    def begin(self, findings):
        """Writes the first list of a rule. Never replaces an existing list, because that could raise a count."""
        if os.path.exists(self.path):
            raise BadListError(f"{self.path} exists: correct the findings, or lower it with --update")
        kept, _ = self.split(findings)
        self.counts = dict(collections.Counter(finding.path for finding in kept))
        self.write()

    def write(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(f"# Findings of the rule {self.rule} by file. Counts only fall: see tests/structure/README.md.\n")
            file.writelines(f"{path} {count}\n" for path, count in sorted(self.counts.items()))


def _lines(path):
    """Yields the number and text of each line that is not empty and not a comment. An absent file has none."""
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                yield number, line.strip()
