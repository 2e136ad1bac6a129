#include "server/worker/jobs/bad_record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BadRecordLogTest : public ::testing::Test {
 protected:
  bool Find(const std::string& job, uint64_t uid, uint64_t record) {
    return log.Found(job, uid, record, true, [&] { return "record " + std::to_string(record); });
  }
  std::vector<std::string> lines, jobs;  // the lines, and the job of each
  BadRecordLog log{[this](const std::string& job, const std::string& line) {
                     jobs.push_back(job);
                     lines.push_back(line);
                   },
                   3};
};

TEST_F(BadRecordLogTest, NamesEachRecordOnceForAllEpochsAndSessions) {
  for (int epoch = 0; epoch < 3; ++epoch) {
    Find("train", 1, 7);
    Find("train", 1, 8);
  }
  Find("eval", 2, 7);
  EXPECT_THAT(lines, ElementsAre("job 'train': a bad record, its row is masked: record 7",
                                 "job 'train': a bad record, its row is masked: record 8",
                                 "job 'eval': a bad record, its row is masked: record 7"));
  EXPECT_THAT(jobs, ElementsAre("train", "train", "eval"));
}

TEST_F(BadRecordLogTest, RemembersABoundedNumberAndReportsThatMoreExist) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (uint64_t record = 0; record < 10; ++record) {
      EXPECT_EQ(Find("train", 1, record), epoch == 0 || record >= 3) << record;
    }
  }
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[3], HasSubstr("more than 3 records are bad"));
  EXPECT_THAT(lines[3], HasSubstr("penstock quarantine train"));
}

TEST_F(BadRecordLogTest, AnotherSubmissionIsNamedAgainAndRemovedJobsAreForgotten) {
  Find("train", 1, 7);
  Find("train", 2, 7);
  EXPECT_EQ(lines.size(), 2u);
  log.Keep({"train"});
  Find("train", 2, 7);
  EXPECT_EQ(lines.size(), 2u);
  log.Keep({"eval"});
  Find("train", 2, 7);
  EXPECT_EQ(lines.size(), 3u);
}

}  // namespace
}  // namespace penstock::worker
