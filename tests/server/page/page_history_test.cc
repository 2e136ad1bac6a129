// The history of ranks and events, on made-up statuses and times.
#include "server/page/page_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kStart = 1'800'000'000;

v1::StatusReply::SessionStatus* AddRank(v1::StatusReply* status, uint32_t rank, double rows, double waited) {
  if (status->jobs().empty()) {
    status->add_jobs()->set_name("train");
    status->mutable_jobs(0)->set_state(v1::READY);
  }
  v1::StatusReply::SessionStatus* session = status->mutable_jobs(0)->add_sessions();
  session->set_id(absl::StrCat("session-", rank));
  session->set_rank(rank);
  session->set_rows_per_second(rows);
  session->set_wait_fraction(waited);
  return session;
}

v1::WorkerStatus* AddWorker(v1::StatusReply* status, const std::string& id, v1::WorkerStatus::State state) {
  v1::WorkerStatus* worker = status->add_workers();
  worker->set_id(id);
  worker->set_state(state);
  return worker;
}

TEST(PageHistory, HasAPointForEachTenSecondsAndAGapWhereThereWasNoStatus) {
  PageHistory history;
  for (const int64_t second : {0, 5, 10, 15, 40}) {
    v1::StatusReply status;
    AddRank(&status, 3, 100.0 + static_cast<double>(second), 0.25);
    history.Add(kStart + second, status);
  }
  const std::string json = history.RanksJson("train", 10);
  EXPECT_THAT(json, HasSubstr("\"rank\": 3, \"rows_per_second\": [100, 110, null, null, 140]"));
  EXPECT_THAT(json, HasSubstr("\"waited_percent\": [25, 25, null, null, 25]"));
  EXPECT_THAT(history.RanksJson("other", 10), HasSubstr("\"ranks\": []"));
}

TEST(PageHistory, KeepsAnHour) {
  PageHistory history;
  for (int64_t second = 0; second <= 3600; second += PageHistory::kSeconds) {
    v1::StatusReply status;
    AddRank(&status, 0, second == 0 ? 7777 : 1, 0);
    history.Add(kStart + second, status);
  }
  const std::string json = history.RanksJson("train", 1);
  EXPECT_THAT(json, Not(HasSubstr("7777")));
  EXPECT_THAT(json, Not(HasSubstr("null")));
}

TEST(PageHistory, TheRanksThatWaitMostComeFirst) {
  PageHistory history;
  v1::StatusReply status;
  for (uint32_t rank = 0; rank < 9; ++rank) AddRank(&status, rank, 10, rank == 5 ? 0.9 : rank == 7 ? 0.5 : 0.1);
  history.Add(kStart, status);
  const std::string json = history.RanksJson("train", 2);
  EXPECT_LT(json.find("\"rank\": 5"), json.find("\"rank\": 7"));
  EXPECT_THAT(json, Not(HasSubstr("\"rank\": 0")));
}

TEST(PageHistory, HasAtMost16MebibytesForAnyNumberOfRanksAndEvents) {
  PageHistory history;
  for (int round = 0; round < 3; ++round) {
    v1::StatusReply status;
    for (uint32_t rank = 0; rank < 20'000; ++rank) {
      AddRank(&status, rank, 10, 0)->set_id(absl::StrCat("session-", round, "-", rank));
    }
    for (int w = 0; w < 500; ++w) {
      AddWorker(&status, absl::StrCat(round, "-", w), v1::WorkerStatus::LIVE)->set_name(std::string(10'000, 'x'));
    }
    history.Add(kStart + round * PageHistory::kSeconds, status);
    EXPECT_LE(history.bytes(), PageHistory::kMostBytes);
    EXPECT_GT(history.ranks(), 1000) << "the ranks of this round; those before have left";
  }
  EXPECT_LE(history.EventsJson().size(), PageHistory::kMostEvents * (PageHistory::kMostEventBytes + 100));
  history.Add(kStart + 100, v1::StatusReply());
  EXPECT_EQ(history.ranks(), 0);
}

TEST(PageHistory, ReportsWhatChangedTheLastEventFirst) {
  PageHistory history;
  v1::StatusReply status;
  status.set_version("1.2.3");
  history.Add(kStart, status);
  AddRank(&status, 0, 10, 0);
  AddWorker(&status, "w1", v1::WorkerStatus::LIVE)->set_name("gpu1");
  history.Add(kStart + 5, status);
  history.Add(kStart + 10, status);
  status.mutable_workers(0)->set_state(v1::WorkerStatus::DEAD);
  status.mutable_jobs(0)->set_view_number(2);
  status.mutable_jobs(0)->set_bad_records(3);
  history.Add(kStart + 15, status);
  history.Add(kStart + 20, v1::StatusReply());
  const std::string json = history.EventsJson();
  size_t before = 0;
  for (const char* text :
       {"\"job train was deleted\"", "\"job train has 3 new bad records\"", "\"job train has view 2\"",
        "\"worker gpu1 was lost\"", "\"job train has 1 reader, it had 0\"", "\"job train is ready\"",
        "\"worker gpu1 serves\"", "\"the coordinator started, penstock 1.2.3\""}) {
    const size_t at = json.find(text);
    EXPECT_NE(at, std::string::npos) << text << " in " << json;
    EXPECT_LT(before, at) << text;
    before = at;
  }
}

}  // namespace
}  // namespace penstock::server
