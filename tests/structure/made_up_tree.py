"""Small made-up source trees for the self-tests."""

import os
import tempfile
import unittest

from tree import Tree


class RuleTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, files):
        """Writes files, by path, and returns their tree."""
        for path, text in files.items():
            place = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        return Tree(self.root)

    def found(self, rule, files, targets=None):
        """Returns the places where `rule` has findings in `files`: "path:line", sorted."""
        return sorted(f"{each.path}:{each.line}" for each in rule.find(self.write(files), lambda: targets))
