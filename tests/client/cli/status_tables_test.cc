// The tables of `penstock status` and `penstock top`.
#include "client/cli/status_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::StatusReply::DatasetStatus* AddDataset(v1::StatusReply::JobStatus* job, const std::string& name, double share) {
  v1::StatusReply::DatasetStatus* const dataset = job->add_datasets();
  dataset->set_name(name);
  dataset->set_records(1000);
  dataset->set_wanted_share(share);
  dataset->set_rows(static_cast<uint64_t>(share * 2400));
  dataset->set_actual_share(share);
  dataset->set_passes(share * 2.4);
  job->set_blend_rows(2400);
  job->set_datasets_total(static_cast<uint32_t>(job->datasets_size()));
  return dataset;
}

TEST(StatusTables, ADataSetHasRowsSharesPassesAndRecords) {
  v1::StatusReply status;
  auto* const job = status.add_jobs();
  job->set_name("both");
  job->add_sessions();
  AddDataset(job, "web", 0.875);
  AddDataset(job, "tiny", 9.5e-7);
  EXPECT_EQ(DatasetsTable(status, 10, false),
            "DATA SET    ROWS    WANTED    ACTUAL  PASSES  RECORDS\n"
            "both/web   2,100   87.50 %   87.50 %    2.10    1,000\n"
            "both/tiny      0  0.0001 %  0.0001 %    0.00    1,000\n");
}

TEST(StatusTables, ABlendWithoutAReaderIsInTheTableOnlyIfAllAre) {
  v1::StatusReply status;
  auto* const job = status.add_jobs();
  job->set_name("both");
  AddDataset(job, "web", 1);
  job->set_blend_rows(0);
  EXPECT_EQ(DatasetsTable(status, 10, false), "");
  EXPECT_THAT(DatasetsTable(status, 10, true), HasSubstr("both/web     -  100.00 %       -       -    1,000\n"));
  status.mutable_jobs(0)->clear_datasets();
  EXPECT_EQ(DatasetsTable(status, 10, true), "");
}

TEST(StatusTables, FurtherDataSetsAreCounted) {
  v1::StatusReply status;
  auto* const job = status.add_jobs();
  job->set_name("many");
  job->add_sessions();
  for (int set = 0; set < 30; ++set) AddDataset(job, absl::StrCat("set", set), 1.0 / 1000);
  job->set_datasets_total(1000);
  const std::string top = DatasetsTable(status, 10, false);
  EXPECT_THAT(top, HasSubstr("many/set9 "));
  EXPECT_THAT(top, Not(HasSubstr("many/set10")));
  EXPECT_THAT(top, HasSubstr("\n  many: 990 further data sets with 99.00 % of the rows (penstock status many)\n"));
  EXPECT_THAT(DatasetsTable(status, 20, true),
              HasSubstr("\n  many: 980 further data sets with 98.00 % of the rows (--json shows all)\n"));
  std::istringstream lines(top);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace penstock::cli
