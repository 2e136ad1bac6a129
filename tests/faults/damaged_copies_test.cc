// Damaged copies of records on real workers. One intact copy anywhere gives the rows of intact data. If every copy is
// damaged there is one decision, which all readers and workers follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;

constexpr int kShards = 4, kRecords = 60;
// The damaged records of each shard.
constexpr int kDamaged[] = {3, 4, 20, 41, 59};

std::string NameOf(const testing::TestParamInfo<std::tuple<v1::ErrorPolicy, v1::AssignmentPolicy>>& info) {
  return absl::StrCat(v1::ErrorPolicy_Name(std::get<0>(info.param)), "_",
                      v1::AssignmentPolicy_Name(std::get<1>(info.param)));
}

class DamagedCopies : public ::testing::Test {
 protected:
  DamagedCopies()
      : dataset_(support::MakeImageDataset({.shards = kShards, .records_per_shard = kRecords}, folder_.path())) {
    v1::JobSpec& job = dataset_.job;
    job.mutable_dataset(0)->clear_files();
    job.mutable_dataset(0)->add_files("data-*");
    job.mutable_batch()->set_size(16);
    job.mutable_batch()->set_last(v1::PAD);
    job.mutable_errors()->set_policy(v1::MASK);
    job.mutable_errors()->set_max_bad_fraction(0.5F);
    for (const std::string& file : dataset_.files) {
      const std::string copy = absl::StrCat(copies_.path(), "/", std::filesystem::path(file).filename().string());
      std::filesystem::copy_file(file, copy);
      for (const int record : kDamaged) support::BreakRecord(copy, static_cast<uint64_t>(record));
    }
    damaged_.push_back({"data", copies_.path()});
  }

  support::ReadPlan Plan(uint64_t epochs = 2) const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = epochs;
    plan.options.prefetch_steps = 4;
    plan.timeout = absl::Seconds(90);
    return plan;
  }
  static constexpr support::ProcessClusterOptions Empty() { return {.workers = 0}; }

  // The digest of `epochs` epochs of the intact data.
  std::string Intact(uint64_t epochs = 2) const { return support::PlainDigest(dataset_, dataset_.job, epochs); }
  // The digest if every copy is damaged.
  std::string Damaged(uint64_t epochs = 2) const {
    support::TestDataset damaged = dataset_;
    damaged.roots = damaged_;
    return support::PlainDigest(damaged, dataset_.job, epochs);
  }

  void ExpectIntactRows(const support::ReadResult& result, support::ProcessCluster& cluster) const {
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, Intact());
    EXPECT_EQ(result.stats.masked_rows + result.stats.substituted_rows, 0u);
    EXPECT_EQ(cluster.control().Quarantine(dataset_.job.name()).bad_records(), 0u);
  }

  support::TempFolder folder_, copies_;
  support::TestDataset dataset_;
  std::vector<sources::DataRoot> damaged_;
};

// Flips a bit in every fifth answer with records while `flips` is set.
class FlippedAnswers {
 public:
  void Put(const std::string& key, const std::string& content) { s3_.Put("bucket", key, content); }
  std::vector<std::string> Environment() const {
    return {absl::StrCat("AWS_ENDPOINT_URL_S3=", server_.url()), "AWS_ACCESS_KEY_ID=id",
            "AWS_SECRET_ACCESS_KEY=secret"};
  }
  std::atomic<bool> flips{false};
  std::atomic<int> flipped{0};

 private:
  support::ServedAnswer Answer(const support::ServedRequest& request) {
    support::ServedAnswer answer = s3_(request);
    if (flips && answer.status == 206 && answer.body.size() > 64 && asked_.fetch_add(1) % 5 == 0) {
      answer.body[static_cast<size_t>(flipped.fetch_add(1)) * 31 % answer.body.size()] ^= 4;
    }
    return answer;
  }
  support::FakeS3 s3_;
  std::atomic<int> asked_{0};
  support::HttpServer server_{[this](const support::ServedRequest& request) { return Answer(request); }};
};

class DamagedCopiesByPolicy : public DamagedCopies,
                              public testing::WithParamInterface<std::tuple<v1::ErrorPolicy, v1::AssignmentPolicy>> {
 protected:
  DamagedCopiesByPolicy() {
    dataset_.job.mutable_errors()->set_policy(std::get<0>(GetParam()));
    dataset_.job.mutable_assignment()->set_policy(std::get<1>(GetParam()));
  }
};

TEST_P(DamagedCopiesByPolicy, BesideAnIntactCopyGiveTheRowsOfIntactData) {
  support::ProcessClusterOptions options = Empty();
  options.dead_after_ms = 30'000;  // on a busy machine too, both workers stay in the view
  support::ProcessCluster cluster(options, dataset_.roots);
  cluster.AddWorker();
  cluster.AddWorkerAt(damaged_);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  // On a busy machine the worker with the damaged copies may be slow, and the other one serves its rows.
  const auto is_told = [&] {
    ExpectIntactRows(support::ReadThrough(cluster.address(), Plan()), cluster);
    return absl::StrContains(cluster.Logs(), "a copy is damaged");
  };
  EXPECT_TRUE(support::WaitUntil(is_told, std::chrono::minutes(2))) << cluster.Logs();
}

TEST_P(DamagedCopiesByPolicy, OnAKilledWorkerGiveTheRowsOfIntactData) {
  support::ProcessCluster cluster(Empty(), dataset_.roots);
  cluster.AddWorker();
  cluster.AddWorkerAt(damaged_);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps == 7) cluster.worker(1).process->Signal(SIGKILL);
  };
  ExpectIntactRows(support::ReadThrough(cluster.address(), plan), cluster);
}

TEST_P(DamagedCopiesByPolicy, InTransitFromObjectStorageGiveTheRowsOfIntactData) {
  for (const int workers : {1, 2}) {
    FlippedAnswers storage;
    for (const std::string& file : dataset_.files) {
      storage.Put("set/" + std::filesystem::path(file).filename().string(), ReadWholeFile(file).value());
    }
    support::ProcessCluster cluster(Empty(), dataset_.roots);
    for (int i = 0; i < workers; ++i) {
      cluster.AddWorkerAt({{"data", "s3://bucket/set"}}, {}, storage.Environment());
    }
    ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
    storage.flips = true;
    const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
    EXPECT_GT(storage.flipped.load(), 20);
    ExpectIntactRows(result, cluster);
  }
}

const auto kPolicies =
    testing::Combine(testing::Values(v1::FAIL, v1::SUBSTITUTE, v1::MASK), testing::Values(v1::BY_RECORD, v1::BY_RANK));
INSTANTIATE_TEST_SUITE_P(Policies, DamagedCopiesByPolicy, kPolicies, NameOf);

// This test is idle for ten seconds, so ctest runs the policies at the same time.
class IntactCopyAway : public DamagedCopiesByPolicy {};
TEST_P(IntactCopyAway, ForTenSecondsDelaysTheDecision) {
  support::ProcessCluster cluster(Empty(), dataset_.roots);
  cluster.AddWorker();
  cluster.AddWorkerAt(damaged_);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  std::atomic<bool> killed{false};
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps != 7) return;
    cluster.worker(0).process->Signal(SIGKILL);
    killed = true;
  };
  support::ReadResult result;
  // Processes die with the thread that started them, so this thread starts the worker.
  std::thread reader([&] { result = support::ReadThrough(cluster.address(), plan); });
  EXPECT_TRUE(support::WaitUntil([&] { return killed.load(); }));
  std::this_thread::sleep_for(std::chrono::seconds(10));  // the outage under test
  cluster.RestartWorker(0);
  reader.join();
  ExpectIntactRows(result, cluster);
}
INSTANTIATE_TEST_SUITE_P(Policies, IntactCopyAway, kPolicies, NameOf);

// These tests wait until readers decide without a worker or the coordinator. ctest runs them at the same time.
class DamagedCopiesLongAway : public DamagedCopies {};

TEST_F(DamagedCopiesLongAway, AreDecidedOnceForTwoReadersIfTheIntactCopyIsAwayForLong) {
  support::ProcessCluster cluster(Empty(), dataset_.roots);
  cluster.AddWorker();
  cluster.AddWorkerAt(damaged_);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  cluster.worker(0).process->Signal(SIGKILL);
  std::vector<support::ReadResult> results(2);
  std::vector<std::thread> readers;
  for (size_t i = 0; i < results.size(); ++i) {
    readers.emplace_back([&, i] {
      support::ReadPlan plan = Plan(3);
      plan.options.group = absl::StrCat("reader ", i);
      // The intact copy is back for the second epoch.
      plan.after_step = [&, i](uint64_t steps) {
        if (i == 0 && steps == 14) cluster.RestartWorker(0);
      };
      results[i] = support::ReadThrough(cluster.address(), plan);
    });
  }
  for (std::thread& reader : readers) reader.join();
  for (const support::ReadResult& result : results) {
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, Damaged(3));
    EXPECT_GT(std::max(result.first_wait, result.longest_wait), 20) << "the lost worker was not waited for";
  }
  EXPECT_EQ(cluster.control().Quarantine(dataset_.job.name()).bad_records(), kShards * std::size(kDamaged));
}

// Checks the list of `penstock quarantine` if every copy is damaged.
void ExpectEachDamagedRecordOnce(const v1::QuarantineReply& reply) {
  EXPECT_EQ(reply.bad_records(), kShards * std::size(kDamaged));
  std::set<std::string> listed;
  for (const auto& entry : reply.entries()) {
    EXPECT_EQ(entry.reason(), "wrong CRC");
    listed.insert(absl::StrCat(entry.path(), " ", entry.record()));
  }
  EXPECT_EQ(listed.size(), kShards * std::size(kDamaged));
}

TEST_F(DamagedCopies, OnSharedStorageGiveOneDigestAndOneQuarantineForAnyNumberOfWorkers) {
  for (const auto policy : {v1::MASK, v1::SUBSTITUTE}) {
    dataset_.job.mutable_errors()->set_policy(policy);
    for (const int workers : {1, 2, 5}) {
      support::ProcessCluster cluster({.workers = workers}, damaged_);
      ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
      const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
      ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
      EXPECT_EQ(result.digest, Damaged()) << workers << " workers";
      ExpectEachDamagedRecordOnce(cluster.control().Quarantine(dataset_.job.name()));
    }
  }
}

TEST_F(DamagedCopiesLongAway, OnSharedStorageAreDecidedWithoutTheCoordinatorAndReportedLater) {
  const auto run = [&](int workers) {
    support::ProcessCluster cluster({.workers = workers}, damaged_);
    ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
    support::ReadPlan plan = Plan();
    plan.after_step = [&](uint64_t steps) {
      if (steps == 1) cluster.coordinator().Signal(SIGKILL);
      if (steps == 24) cluster.RestartCoordinator();
    };
    const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_GT(result.longest_wait, 20) << "the coordinator was not waited for";
    EXPECT_EQ(result.digest, Damaged()) << workers << " workers";
    // A second reader finds the decisions, and confirms those that it still needs.
    const support::ReadResult again = support::ReadThrough(cluster.address(), Plan());
    EXPECT_EQ(again.digest, result.digest);
    EXPECT_TRUE(support::WaitUntil([&] {
      return cluster.control().Quarantine(dataset_.job.name()).bad_records() == kShards * std::size(kDamaged);
    })) << cluster.Logs();
    ExpectEachDamagedRecordOnce(cluster.control().Quarantine(dataset_.job.name()));
  };
  // Both runs are idle for half a minute. Processes die with the thread that started them, so each run has a thread.
  std::thread one([&] { run(1); });
  run(2);
  one.join();
}

TEST_F(DamagedCopies, EndAReaderUnderFailIfEveryCopyIsDamaged) {
  dataset_.job.mutable_errors()->set_policy(v1::FAIL);
  support::ProcessCluster cluster({.workers = 2}, damaged_);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  EXPECT_TRUE(absl::IsDataLoss(result.status)) << result.status << cluster.Logs();
  EXPECT_THAT(std::string(result.status.message()), HasSubstr(", record "));
}

}  // namespace
}  // namespace penstock::faults
