// The pages of the runbook, its tests and the alerts fit together.
#include "tests/faults/runbook/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

namespace penstock::faults {
namespace {

std::vector<Situation> Sections() {
  auto read = ReadRunbook();
  EXPECT_TRUE(read.ok()) << read.status();
  return read.value_or(std::vector<Situation>());
}

// Each section of the pages has a test, and each test a section.
TEST(RunbookPageTest, EachSectionHasATestAndEachTestASection) {
  std::vector<std::string> sections, tests;
  for (const Situation& situation : Sections()) sections.push_back(situation.test);
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *program.GetTestSuite(i);
    if (std::string(suite.name()) == "RunbookPageTest") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) tests.push_back(suite.GetTestInfo(j)->name());
  }
  EXPECT_GE(sections.size(), 24u);
  EXPECT_THAT(sections, ::testing::UnorderedElementsAreArray(tests));
}

// Sections name alerts that exist. An alert whose annotation leads to a section is named there.
TEST(RunbookPageTest, SectionsAndAlertsNameEachOther) {
  const auto alerts = ReadWholeFile("deploy/monitoring/alerts.yml");
  ASSERT_TRUE(alerts.ok()) << alerts.status();
  std::vector<std::string> known;
  std::string alert;
  static const std::regex name("^ *- alert: (\\w+)"), page("^ *runbook: (docs/runbook[^#]*)#?(.*)");
  std::map<std::string, std::string> named;  // anchors to the alerts of the section
  for (const Situation& situation : Sections()) {
    std::string anchor;
    for (const char c : absl::AsciiStrToLower(situation.heading)) {
      if (c == ' ') anchor += '-';
      if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-') anchor += c;
    }
    named[situation.page + "#" + anchor] = absl::StrJoin(situation.alerts, " ");
  }
  for (const absl::string_view view : absl::StrSplit(*alerts, '\n')) {
    const std::string line(view);
    std::smatch found;
    if (std::regex_search(line, found, name)) {
      alert = found[1];
      known.push_back(alert);
    }
    if (std::regex_search(line, found, page) && named.contains(found[1].str() + "#" + found[2].str())) {
      EXPECT_THAT(named[found[1].str() + "#" + found[2].str()], ::testing::HasSubstr(alert));
    }
  }
  for (const Situation& situation : Sections()) EXPECT_THAT(known, ::testing::IsSupersetOf(situation.alerts));
}

}  // namespace
}  // namespace penstock::faults
