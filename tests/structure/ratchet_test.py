import contextlib
import io
import os
import unittest

import check
import made_up_tree
import ratchet
from ratchet import Finding

CALL = "auto* s = Objects();\n"


def findings(*counts):
    return [Finding(path, line, "text", "advice") for path, count in counts for line in range(1, count + 1)]


class ListTest(made_up_tree.RuleTest):
    def list_of(self, text="", allowed=""):
        self.write({"rule.txt": text, "rule.allowed.txt": allowed})
        return ratchet.List(self.root, "rule")

    def test_accepts_as_many_as_listed(self):
        self.assertEqual(self.list_of("a.cc 2\nb c.cc 1\n").problems(findings(("a.cc", 2), ("b c.cc", 1))), [])

    def test_fails_on_more_and_names_each(self):
        (problem,) = self.list_of("a.cc 1\n").problems(findings(("a.cc", 2)))
        self.assertIn("a.cc:1: text", problem)
        self.assertIn("a.cc:2: text", problem)
        self.assertIn("accepts 1 of these 2", problem)

    def test_fails_on_a_file_without_a_line(self):
        self.assertEqual(len(self.list_of("a.cc 1\n").problems(findings(("a.cc", 1), ("b.cc", 1)))), 1)

    def test_fails_on_fewer_until_lowered(self):
        accepted = self.list_of("a.cc 3\nb.cc 1\nc.cc 1\n")
        fewer = findings(("a.cc", 2), ("c.cc", 1))
        self.assertEqual(len(accepted.problems(fewer)), 2)
        accepted.lower(fewer)
        self.assertEqual(accepted.problems(fewer), [])
        self.assertEqual(ratchet.List(self.root, "rule").counts, {"a.cc": 2, "c.cc": 1})

    def test_lowering_raises_and_adds_nothing(self):
        accepted = self.list_of("a.cc 1\n")
        more = findings(("a.cc", 2), ("b.cc", 1))
        accepted.lower(more)
        self.assertEqual(accepted.counts, {"a.cc": 1})
        self.assertEqual(len(accepted.problems(more)), 2)

    def test_begins_only_once(self):
        accepted = ratchet.List(self.root, "rule")
        accepted.begin(findings(("a.cc", 2)))
        self.assertEqual(ratchet.List(self.root, "rule").counts, {"a.cc": 2})
        with self.assertRaises(ratchet.BadListError):
            accepted.begin(findings(("a.cc", 3)))

    def test_an_allowed_finding_does_not_count(self):
        accepted = self.list_of(allowed="# why\na.cc | tex | it must\n")
        self.assertEqual(accepted.problems(findings(("a.cc", 1))), [])

    def test_an_allowance_without_a_finding_is_a_problem(self):
        accepted = self.list_of(allowed="a.cc | other | it must\n")
        self.assertIn("a.cc has no finding with 'other'", accepted.problems([])[0])

    def test_rejects_lines_of_another_form(self):
        for text, allowed in [("a.cc\n", ""), ("a.cc 0\n", ""), ("", "a.cc | text\n"), ("", "a.cc | text | \n")]:
            with self.assertRaises(ratchet.BadListError):
                self.list_of(text, allowed)


class CheckTest(made_up_tree.RuleTest):
    def check(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
            code = check.main(["storage_globals", "--root", self.root, "--lists", os.path.join(self.root, "lists"), *arguments])
        return code, errors.getvalue()

    def test_follows_a_rule_from_its_first_list_to_none(self):
        self.write({"lists/other.txt": "", "a.cc": CALL * 2})
        self.assertEqual(self.check()[0], 1)
        self.assertEqual(self.check("--begin")[0], 0)
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(self.check("--begin")[0], 2)
        self.write({"a.cc": CALL * 3})
        code, errors = self.check("--update")
        self.assertEqual(code, 1)
        self.assertIn("a.cc:3", errors)
        self.write({"a.cc": "\n"})
        self.assertEqual(self.check()[0], 1)
        self.assertEqual(self.check("--update")[0], 0)
        self.assertEqual(self.check()[0], 0)


if __name__ == "__main__":
    unittest.main()
