// Jobs that balance groups of records, in the coordinator's state: names of all shards, restarts, and wrong reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/ordered_key.h"
#include "pipeline/plan/snapshot_groups.h"
#include "server/coordinator/state/found_groups.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Groups = std::map<std::string, uint32_t>;  // records by name

class CoordinatorBalance : public ::testing::Test {
 protected:
  CoordinatorBalance() {
    spec_.mutable_dataset(0)->add_select()->mutable_balance()->set_by("kind");
    v1::RegisterWorkerRequest worker = WorkerCalled("a");
    worker.mutable_protocols()->set_oldest(1);
    worker.mutable_protocols()->set_newest(2);
    h.Do<v1::RegisterWorkerReply>(worker);
  }

  // Prepares the job. The n-th index has the groups of shards[n], and further ones have those of the last.
  void Prepare(const std::vector<Groups>& shards) {
    h.Do<v1::SubmitReply>(SubmitOf(spec_));
    size_t next = 0;
    for (bool any = true; any;) {
      any = false;
      for (const v1::Task& task : TasksIn(h.Beat("a"))) {
        uint32_t records = 0;
        v1::ShardGroups reported;
        if (task.has_index()) {
          for (const auto& [name, count] : shards.at(std::min(next++, shards.size() - 1))) {
            reported.add_names(name);
            reported.add_records(count);
            records += count;
          }
        }
        v1::ReportTaskRequest report = DoneBy("a", task, StateHarness::kShards, records);
        if (task.has_prepare()) *report.mutable_selection()->mutable_steps() = spec_.dataset(0).select();
        if (task.has_index()) {
          report.mutable_shard()->set_whole_records(records);
          if (records > 0) *report.mutable_shard()->mutable_groups() = reported;
        }
        h.Report(report);
        any = true;
      }
    }
  }

  StateHarness h;
  v1::JobSpec spec_ = SimpleSpec("train");
};

TEST_F(CoordinatorBalance, NumbersTheGroupsOfAllShardsByName) {
  static_assert(StateHarness::kShards >= 4);
  Prepare({{{"b", 3}, {"d\xff", 4}}, {}, {{"a", 50}}, {{"b", 20}}});
  const auto check = [this] {
    const v1::Job job = h.Job("train");
    ASSERT_EQ(job.state(), v1::READY) << job.error();
    const plan::RecordGroups groups = plan::GroupsOf(job.snapshot());
    EXPECT_THAT(groups.names, ElementsAre("a", "b", "d\xff"));
    EXPECT_THAT(groups.shards[0].groups, ElementsAre(1, 2));
    EXPECT_THAT(groups.shards[0].records, ElementsAre(3, 4));
    EXPECT_TRUE(groups.shards[1].groups.empty());
    EXPECT_THAT(groups.shards[2].groups, ElementsAre(0));
    EXPECT_EQ(job.snapshot().shards(0).groups().names_size(), 0);
  };
  check();
  const uint64_t fingerprint = h.Job("train").order_fingerprint();
  h.Restart();
  check();
  EXPECT_EQ(h.Job("train").order_fingerprint(), fingerprint);
}

TEST_F(CoordinatorBalance, SortedValuesBecomeBins) {
  v1::Sort* const sort = spec_.mutable_dataset(0)->mutable_select(0)->mutable_sort();
  sort->set_by("kind");
  sort->set_bins(3);
  const auto key = [](int64_t value) { return OrderedKey(value); };
  Prepare({{{key(-7), 3}, {key(5), 4}}, {}, {{key(5), 1}, {key(60), 2}}, {{key(700), 3}}});
  const v1::Job job = h.Job("train");
  ASSERT_EQ(job.state(), v1::READY) << job.error();
  const plan::RecordGroups groups = plan::GroupsOf(job.snapshot());
  EXPECT_THAT(groups.names, ElementsAre("00000 -7 to 5", "00001 60", "00002 700"));
  EXPECT_EQ(groups.shards[0], (plan::ShardGroups{{0}, {7}}));
  EXPECT_EQ(groups.shards[2], (plan::ShardGroups{{0, 1}, {1, 2}}));
}

v1::Shard Reported(const Groups& groups) {
  v1::Shard shard;
  uint64_t records = 0;
  for (const auto& [name, count] : groups) {
    shard.mutable_groups()->add_names(name);
    shard.mutable_groups()->add_records(count);
    records += count;
  }
  shard.set_records(records);
  return shard;
}

// The coordinator keeps no name twice, so reports of many values end the preparation before they fill its memory.
TEST(FoundGroups, TooManyAreRefusedWhileTheyAreReported) {
  FoundGroups found;
  absl::Status status;
  int shards = 0;
  for (; status.ok() && shards < 100; ++shards) {
    Groups own;
    for (int i = 0; i < 1000; ++i) own[std::to_string(1000 * shards + i)] = 1;
    v1::Shard shard = Reported(own);
    status = found.Take(&shard);
    EXPECT_EQ(shard.groups().names_size(), 0);
  }
  EXPECT_EQ(shards, 17);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("more than 16384 groups of records; group by a value that many records"));

  Groups all;
  for (int i = 0; i < 10'000; ++i) all[std::to_string(i)] = 1;
  FoundGroups pairs;
  for (shards = 0, status = absl::OkStatus(); status.ok() && shards < 1000; ++shards) {
    v1::Shard shard = Reported(all);
    status = pairs.Take(&shard);
  }
  EXPECT_EQ(shards, 420);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 4194304 pairs of a group and a shard"));
}

TEST(FoundGroups, AWrongReportIsRefused) {
  FoundGroups found;
  v1::Shard shard = Reported({{"a", 1}, {"b", 2}});
  shard.mutable_groups()->mutable_names()->SwapElements(0, 1);
  EXPECT_TRUE(absl::IsInternal(found.Take(&shard)));
  shard = Reported({{"a", 1}, {"b", 2}});
  shard.set_records(4);
  EXPECT_TRUE(absl::IsInternal(found.Take(&shard)));
  shard = Reported({{"a", 1}, {"b", 0}});
  EXPECT_TRUE(absl::IsInternal(found.Take(&shard)));
  shard = Reported({{"a", 1}});
  shard.mutable_groups()->add_groups(0);
  EXPECT_TRUE(absl::IsInternal(found.Take(&shard)));
}

TEST_F(CoordinatorBalance, AReportWithoutGroupsFailsTheJob) {
  spec_.mutable_dataset(0)->mutable_select(0)->mutable_balance()->set_power(0.5);
  Prepare({{{"b", 30}}, {{"b", 30}}});
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  spec_.set_name("other");
  h.Do<v1::SubmitReply>(SubmitOf(spec_));
  for (bool any = true; any;) {
    any = false;
    for (const v1::Task& task : TasksIn(h.Beat("a"))) {
      v1::ReportTaskRequest report = DoneBy("a", task, StateHarness::kShards, 9);
      if (task.has_prepare()) *report.mutable_selection()->mutable_steps() = spec_.dataset(0).select();
      h.Report(report);
      any = true;
    }
  }
  EXPECT_EQ(h.Job("other").state(), v1::FAILED);
  EXPECT_THAT(h.Job("other").error(), HasSubstr("a worker reports wrong groups of "));
}

}  // namespace
}  // namespace penstock::coordinator
