import os
import typing
import unittest

import includes
import lock_release
import made_up_tree
import message_branches
import namespaces
import object_names
import own_includes
import readmes
import real_clock
import storage_globals
import tree


class CodeOfTest(unittest.TestCase):
    def test_blanks_comments_and_literals_and_keeps_lines(self):
        code = tree.code_of('f("a//b"); // g()\n/* h()\n */ i(\'"\'); j(R"x(k() " )" )x"); n = 1\'000;\n')
        self.assertEqual(code.count("\n"), 3)
        for name in ("f(", "i(", "j(", "1'000"):
            self.assertIn(name, code)
        for name in ("g(", "h(", "k(", "a//b"):
            self.assertNotIn(name, code)


class MessageBranchesTest(made_up_tree.RuleTest):
    def test_finds_branches_on_a_message(self):
        text = """
if (absl::StrContains(status.message(), "x")) return;
if (status.message() == "x") return;
if (s.message().substr(0, 4) != "ops[") return;
if (a.message().find("x") != 0) return;
{
  const std::string text(status.message());
  if (absl::StartsWith(text, "x")) return;
}
if (absl::StartsWith(text, "y")) return;
"""
        self.assertEqual(self.found(message_branches, {"a.cc": text}), [f"a.cc:{n}" for n in (2, 3, 4, 5, 8)])

    def test_finds_them_in_python(self):
        text = 'try:\n  f()\nexcept OSError as e:\n  if "full" in str(e): g()\n'
        self.assertEqual(self.found(message_branches, {"a.py": text}), ["a.py:4"])

    def test_leaves_out_tests_comments_and_messages_that_are_passed_on(self):
        files = {
            "tests/a.cc": 'if (s.message() == "x") {}\n',
            "a.cc": '// if (s.message() == "x")\nreturn absl::DataLossError(s.message());\n',
        }
        self.assertEqual(self.found(message_branches, files), [])


class StorageTest(made_up_tree.RuleTest):
    FILES: typing.ClassVar = {
        "pipeline/storage/files.cc": "Storage* AnyFiles() { return IsObjectName(x) ? Objects() : 0; }\n",
        "a.cc": '// Objects()\nf(AnyFiles(), "Objects()");\nif (IsObjectName(x)) {}\n',
    }

    def test_finds_the_storages_of_the_process(self):
        self.assertEqual(self.found(storage_globals, self.FILES), ["a.cc:2"])

    def test_finds_decisions_by_name(self):
        self.assertEqual(self.found(object_names, self.FILES), ["a.cc:3"])


class RealClockTest(made_up_tree.RuleTest):
    def target(self, folder, labels, *sources):
        return {"name": "t", "folder": f"{self.root}/{folder}", "sources": ";".join(sources), "labels": labels}

    def test_finds_clocks_and_sleeps_in_unit_suites_and_in_what_they_include(self):
        files = {
            "tests/a/a_test.cc": '#include "tests/support/s.h"\nClock* c = Clock::Real();\n// usleep(1)\nusleep(1);\n'
            "auto t = std::chrono::steady_clock::now();\nsleep(1);\n",
            "tests/support/s.h": "inline void F() { std::this_thread::sleep_for(kLong); }\n",
            "tests/support/s.cc": "\nvoid G() { absl::SleepFor(x); }\n",
            "tests/support/unused.cc": "void G() { absl::SleepFor(x); }\n",
            "tests/faults/b_test.cc": "usleep(1);\n",
        }
        targets = [
            self.target("tests/a", "unit", "a_test.cc"),
            self.target("tests/faults", "faults", "b_test.cc"),
            self.target("tests/support", "", "unused.cc"),
        ]
        places = ["a/a_test.cc:2", "a/a_test.cc:4", "a/a_test.cc:5", "a/a_test.cc:6", "support/s.cc:2", "support/s.h:1"]
        self.assertEqual(self.found(real_clock, files, targets), [f"tests/{place}" for place in places])

    def test_leaves_out_cpu_clocks_and_own_names(self):
        files = {"a_test.cc": "clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);\nrow.time(0);\nclock.now();\n"}
        self.assertEqual(self.found(real_clock, files, [self.target("", "unit", "a_test.cc")]), [])


class LockReleaseTest(made_up_tree.RuleTest):
    HEADER = """
class Core {
 public:
  void Held(int x = 1) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Free() ABSL_LOCKS_EXCLUDED(mutex_);
  void Inline() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { mutex_.Unlock(); }
  void Other() ABSL_EXCLUSIVE_LOCKS_REQUIRED(other_);
};
"""

    def test_finds_functions_that_release_a_required_lock(self):
        source = """
void Core::Held(int x) {
  if (x) { mutex_.Unlock(); }
  MutexUnlock unlocked(&mutex_);
}
void Core::Free() { mutex_.Unlock(); }
void Core::Other() { mutex_.Unlock(); }
void Another::Held(int) { mutex_.Unlock(); }
"""
        files = {"core.h": self.HEADER, "core.cc": source}
        self.assertEqual(self.found(lock_release, files), ["core.cc:3", "core.cc:4", "core.h:6"])

    def test_finds_lambdas(self):
        source = "\nconst auto f = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(a->mutex_) {\n  a->mutex_.Unlock();\n};\n"
        self.assertEqual(self.found(lock_release, {"a.cc": source}), ["a.cc:3"])


class NamespacesTest(made_up_tree.RuleTest):
    def test_finds_files_outside_the_namespace_of_their_package(self):
        files = {
            "pipeline/loader/a.h": "namespace penstock {\n}\nnamespace penstock::loader {\n}\n",
            "pipeline/loader/ranges/a.cc": "namespace penstock::ranges {\n}\n",
            "pipeline/image/a.h": "namespace penstock::image::internal {\n}\n",
            "base/a.h": "namespace penstock {\n}\nnamespace penstock::base {\n}\n",
            "tests/pipeline/loader/a_test.cc": "namespace penstock {\n}\n",
            "tests/support/a.h": "namespace penstock::support {\n}\n",
            "pipeline/augment/op/a.h": "namespace penstock {\n}\n",
        }
        places = ["base/a.h:3", "pipeline/loader/a.h:1", "pipeline/loader/ranges/a.cc:1", "tests/pipeline/loader/a_test.cc:1"]
        self.assertEqual(self.found(namespaces, files), places)


class ReadmesTest(made_up_tree.RuleTest):
    SOURCES: typing.ClassVar = {
        "a/README.md": "",
        "a/x.h": "class RowTask {};  // OldName\n",
        "a/ops/color/op.cc": "",
        "proto/p/job.proto": "",
        "docs/page.md": "# Page\n",
    }

    def wrong(self, text, document="a/README.md"):
        """Returns the findings of the rule in a document."""
        tree = self.write({**self.SOURCES, "a/README.md": "`x.h`\n", document: text + "\n`x.h`\n"})
        return [each.text for each in readmes.find(tree)]

    def test_accepts_what_exists(self):
        for text in ("`a/x.h` `x.h` `ops/color/op.cc` `ops/*/op.cc` `ops/FAMILY/` `p/job.proto` `job.pb.h` `ops/color/op`",
                     "[page](../docs/page.md#page) [web](https://example.org/a/y.h) `RowTask` `penstock::RowTask`"):
            self.assertEqual(self.wrong(text), [])

    def test_finds_paths_that_are_gone(self):
        self.assertEqual(self.wrong("`a/y.h` `y.h` `ops/y/` `ops/FAMILY/y.cc`"), ["a/y.h", "ops/FAMILY/y.cc", "ops/y/", "y.h"])
        self.assertEqual(self.wrong("[gone](../docs/gone.md) [here](page.md)", "docs/README.md"), ["../docs/gone.md"])

    def test_finds_headings_that_are_gone(self):
        text = "# Two `parts`: a/b\n[own](#two-parts-ab) [gone](#part) [page](page.md#page) [old](page.md#old)"
        self.assertEqual(self.wrong(text, "docs/README.md"), ["#part", "page.md#old"])

    def test_leaves_out_fences_and_paths_of_users(self):
        self.assertEqual(self.wrong("```\n`a/y.h`\n```\n\n    `a/y.h`\n`/data/train/x` `s3://bucket/a.h` `.proto`"), [])

    def test_finds_types_that_are_gone(self):
        self.assertEqual(self.wrong("`RowTask` `OldName` `GoneType::Get()`"), ["OldName", "GoneType::Get()"])

    def test_finds_headers_that_the_nearest_readme_does_not_name(self):
        headers = dict.fromkeys(("net/b.h", "net/c.h", "net/d/e.h", "net/d/f.h", "net/g/h.h"), "")
        tree = self.write({**headers, "net/g/README.md": "`c`\n", "net/README.md": "`b.h`, `d/*.h`\n"})
        self.assertEqual(sorted((each.path, each.text) for each in readmes.find(tree)),
                         [("net/README.md", "net/c.h"), ("net/g/README.md", "net/g/h.h")])


class IncludesTest(made_up_tree.RuleTest):
    FILES: typing.ClassVar = {
        "base/b.h": "",
        "base/b.cc": '#include "base/b.h"\n#include "absl/x.h"\n',
        "net/n.h": '#include "base/b.h"\n',
        "net/n.cc": '#include "net/n.h"\n#include "net/other.h"\n#include "penstock/v1/m.pb.h"\n',
        "net/other.h": "",
        "tests/support/inline.h": '#include "base/b.h"\n',
        "app/main.cc": '#include "net/n.h"\n#include "base/b.h"\n#include "tests/support/inline.h"\n',
    }

    def target(self, name, source, links="", interface_links=""):
        folder = f"{self.root}/{os.path.dirname(source)}"
        links = {"links": links, "interface_links": interface_links}
        return {"name": name, "folder": folder, "sources": os.path.basename(source), **links}

    def targets(self, links_of_net, interface_of_net):
        proto = {"name": "proto", "folder": self.root, "links": "", "interface_links": ""}
        return [
            self.target("base", "base/b.cc"),
            self.target("net", "net/n.cc", links_of_net, interface_of_net),
            self.target("app", "app/main.cc", "net"),
            {**proto, "sources": f"{self.root}/build/release/proto/penstock/v1/m.pb.cc"},
        ]

    def test_accepts_what_is_declared(self):
        self.assertEqual(self.found(includes, self.FILES, self.targets("base;proto", "base;$<LINK_ONLY:proto>")), [])

    def test_finds_what_is_not_declared(self):
        self.assertEqual(
            self.found(includes, self.FILES, self.targets("$<BUILD_INTERFACE:base>", "base")), ["net/n.cc:3"]
        )
        found = self.found(includes, self.FILES, self.targets("proto", "proto"))
        self.assertEqual(found, ["app/main.cc:2", "app/main.cc:3", "net/n.h:1"])

    def test_passes_on_no_private_dependencies(self):
        found = self.found(includes, self.FILES, self.targets("base;proto", "$<LINK_ONLY:base>;proto"))
        self.assertEqual(found, ["app/main.cc:2", "app/main.cc:3"])


class OwnIncludesTest(made_up_tree.RuleTest):
    FILES: typing.ClassVar = {
        "base/lock.h": "#include <mutex>\n#define PS_LOCK(x)\nclass Lock {\n};\nenum class Kind { kA };\n",
        "base/both.h": '#include "base/lock.h"\nstruct Both {\n  struct Inner {};\n  Lock lock;\n};\n',
    }

    def found_in(self, text):
        return self.found(own_includes, {**self.FILES, "net/n.cc": text})

    def test_accepts_what_an_include_brings(self):
        text = '#include "base/both.h"\nLock a; Kind b; std::mutex c; PS_LOCK(a);\n'
        self.assertEqual(self.found_in(text), [])

    def test_finds_types_macros_and_standard_names_without_their_header_once(self):
        text = "#include <map>\nKind a;\nKind b;\nPS_LOCK(a)\nstd::map<int, int> c;\nstd::mutex d;\nstd::mutex e;\n"
        self.assertEqual(self.found_in(text), ["net/n.cc:2", "net/n.cc:4", "net/n.cc:6"])

    def test_accepts_forward_declarations_and_names_with_another_meaning(self):
        text = "class Lock;\nLock* a;\nint Kind(int);\nInner b; other::Both c; d.Both; // Both\n"
        self.assertEqual(self.found_in(text), [])


if __name__ == "__main__":
    unittest.main()
