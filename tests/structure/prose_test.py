import unittest

import made_up_tree
import prose


class ProseTest(made_up_tree.RuleTest):
    def phrases(self, path, text):
        """Returns the phrases that the rule finds in a file, in their order."""
        return [finding.text.split(":")[0] for finding in prose.find(self.write({path: text})) if finding.path == path]

    def test_finds_comments_and_messages_of_cpp(self):
        text = """// The row is brought
// back by nobody.
int told = 1;  /* so many
  rows */
Fail("the worker tells us", x, "tells", R"(what was kept
tells all)");
Split("the worker "
      "tells us");
#include "tells/the/worker.h"
"""
        self.assertEqual(self.phrases("a.cc", text), ["is brought", "nobody", "so many", "tells", "what was", "tells", "tells"])
        self.assertEqual(self.found(prose, {"a.cc": text}), [f"a.cc:{line}" for line in (1, 2, 3, 5, 5, 6, 8)])

    def test_finds_a_phrase_that_two_lines_share(self):
        self.assertEqual(self.found(prose, {"a.h": "int x;\n// Rows wait for so\n// many bytes.\n"}), ["a.h:2"])
        self.assertEqual(self.found(prose, {"a.h": "int a;  // and so\nint b;  // many bytes\n"}), [])

    def test_finds_fragments_at_the_beginning_of_sentences(self):
        text = "// Of the rows.\nint x;  // of a row\n// One of the rows. Else none.\n"
        self.assertEqual(self.phrases("a.h", text), ["of the", "of a", "else"])
        text = "- Of the rows\n\nOf all rows\n| a | Those that wait |\n"
        self.assertEqual(self.phrases("a.md", text), ["of the", "of all", "those that"])

    def test_a_literal_that_begins_with_a_blank_continues_a_sentence(self):
        self.assertEqual(self.phrases("a.cc", 'F("rank ", r, " of a world of ", w, ": no such rank");\n'), [])
        self.assertEqual(self.phrases("a.cc", 'F("of a world of ranks");\n'), ["of a"])
        self.assertEqual(self.phrases("a.cc", 'F("it waits", r, " and tells all of them");\n'), ["tells"])

    def test_leaves_out_names_code_and_quoted_output(self):
        text = "// Calls `Tell()`, Told(x), told_by, a::told, who.h; prints \"nobody tells\". See https://told.org/who.\n"
        self.assertEqual(self.phrases("a.h", text), [])
        self.assertEqual(self.phrases("a.md", "```\nnobody\n```\n\n    nobody\n\n[a](told/who.md) `nobody`\n"), [])
        self.assertEqual(self.phrases("a.cc", 'F("nobody", "told him");\n'), [])

    def test_reads_python(self):
        text = '"""Tells the worker all."""\n# nobody\nname = f"the worker {told} tells" + "nobody" + b"he tells us all"\n'
        self.assertEqual(self.phrases("a.py", text), ["tells", "nobody", "tells"])

    def test_reads_shell_and_cmake(self):
        text = "#!/bin/sh\n# nobody's\necho \"it tells ${who} all\" # who\ncat <<'END'\nIt tells you: don't\nEND\n# said\n"
        self.assertEqual(self.phrases("run", text), ["nobody", "tells", "who", "tells", "said"])
        text = '# nobody\nmessage("the worker tells all")\nset(who)\n'
        self.assertEqual(self.phrases("CMakeLists.txt", text), ["nobody", "tells"])

    def test_each_phrase_has_advice(self):
        pattern, advice = prose.words()
        self.assertEqual(pattern.groups, len(advice))
        self.assertTrue(all(advice))


if __name__ == "__main__":
    unittest.main()
