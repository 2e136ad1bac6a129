#include "client/cli/read_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ReadReport Plain() {
  ReadReport report;
  report.job = "train";
  report.steps = 4;
  report.rows = 1000;
  report.seconds = 2;
  report.rows_per_second = 700;
  return report;
}

TEST(ReadReport, CountsRowsOfAnotherWorkerOnlyIfAnotherWorkerSentThem) {
  ReadReport report = Plain();
  EXPECT_THAT(ReadReportText(report), Not(HasSubstr("fetched")));
  report.stats.fetched_rows = 120;
  report.stats.broken_streams = 1;
  EXPECT_THAT(ReadReportText(report), HasSubstr("120 rows fetched again; 1 broken stream\n"));
  EXPECT_THAT(ReadReportText(report), Not(HasSubstr("another worker")));
  report.stats.fetched_elsewhere = 80;
  EXPECT_THAT(ReadReportText(report), HasSubstr("120 rows fetched again, 80 of them from another worker; 1 broken"));
  report.stats.fetched_elsewhere = 120;
  EXPECT_THAT(ReadReportText(report), HasSubstr("120 rows fetched from another worker; 1 broken stream\n"));
}

TEST(ReadReport, TextAndJsonHaveTheSameNumbers) {
  ReadReport report = Plain();
  report.stats.masked_rows = 822;
  report.stats.substituted_rows = 3;
  report.stats.duplicate_rows = 17;
  report.digest = "abc";
  const std::string text = ReadReportText(report), json = ReadReportJson(report);
  for (const char* part : {"1,000 rows in 4 steps", "700 rows/s", "822 rows masked, 3 substituted",
                           "17 rows came twice", "penstock quarantine train", "digest abc"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* part : {R"("rows": 1000)", R"("rows_per_second": 700)", R"("masked_rows": 822)",
                           R"("substituted_rows": 3)", R"("duplicate_rows": 17)", R"("digest": "abc")"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
}

}  // namespace
}  // namespace penstock::cli
