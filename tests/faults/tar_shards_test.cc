// Tar shards on real workers: a worker that is killed, and copies with flipped bits. Tar has no checksum of data, so
// the index that the job froze decides which copy is damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;

constexpr int kTarShards = 4, kSamples = 60;
// The damaged samples of each shard.
constexpr int kFlipped[] = {0, 3, 4, 41, 59};

class TarShards : public ::testing::Test {
 protected:
  TarShards()
      : dataset_(support::MakeImageDataset({.shards = kTarShards, .records_per_shard = kSamples, .tar = true},
                                           folder_.path())) {
    v1::JobSpec& job = dataset_.job;
    job.mutable_dataset(0)->clear_files();
    job.mutable_dataset(0)->add_files("data-*");
    job.mutable_dataset(0)->set_source(v1::Source::TAR);
    job.mutable_batch()->set_size(16);
    job.mutable_batch()->set_last(v1::PAD);
    job.mutable_errors()->set_policy(v1::MASK);
    job.mutable_errors()->set_max_bad_fraction(0.5F);
    expected_ = support::PlainDigest(dataset_, job, 2);
  }

  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 2;
    plan.options.prefetch_steps = 4;
    plan.timeout = absl::Seconds(90);
    return plan;
  }
  // Copies the shards, with their times, and flips bits of some samples.
  std::vector<sources::DataRoot> FlippedCopies() const {
    for (const std::string& file : dataset_.files) {
      const std::string copy = absl::StrCat(copies_.path(), "/", std::filesystem::path(file).filename().string());
      std::filesystem::copy_file(file, copy);
      for (const int sample : kFlipped) support::BreakRecord(copy, static_cast<uint64_t>(sample));
      std::filesystem::last_write_time(copy, std::filesystem::last_write_time(file));
    }
    return {{"data", copies_.path()}};
  }

  support::TempFolder folder_, copies_;
  support::TestDataset dataset_;
  std::string expected_;
};

TEST_F(TarShards, GiveTheSameRowsWhenAWorkerIsKilled) {
  support::ProcessCluster cluster({.workers = 3}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 3)) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps == 7) cluster.worker(1).process->Signal(SIGKILL);
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, expected_);
}

TEST_F(TarShards, WithFlippedBitsBesideAnIntactCopyGiveTheRowsOfIntactData) {
  const std::vector<sources::DataRoot> flipped = FlippedCopies();
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::SUBSTITUTE, v1::MASK}) {
    dataset_.job.mutable_errors()->set_policy(policy);
    support::ProcessClusterOptions options{.workers = 1};
    options.dead_after_ms = 30'000;  // on a busy machine too, both workers stay in the view
    support::ProcessCluster cluster(options, dataset_.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
    cluster.AddWorkerAt(flipped);
    ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
    const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, expected_) << v1::ErrorPolicy_Name(policy);
    EXPECT_EQ(result.stats.masked_rows + result.stats.substituted_rows, 0u);
    EXPECT_EQ(cluster.control().Quarantine(dataset_.job.name()).bad_records(), 0u);
    EXPECT_THAT(cluster.Logs(), HasSubstr("a copy is damaged"));
  }
}

TEST_F(TarShards, WithFlippedBitsInEveryCopyFollowTheErrorPolicy) {
  support::ProcessCluster cluster({.workers = 1}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  cluster.AddWorkerAt(FlippedCopies());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  ASSERT_TRUE(cluster.control().Drain(cluster.worker(0).id).ok());
  ASSERT_TRUE(cluster.control().WaitForState(cluster.worker(0).id, v1::WorkerStatus::LEFT)) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.stats.masked_rows, 2 * kTarShards * std::size(kFlipped));
  const v1::QuarantineReply reply = cluster.control().Quarantine(dataset_.job.name());
  EXPECT_EQ(reply.bad_records(), kTarShards * std::size(kFlipped));
  std::set<std::string> listed;
  for (const auto& entry : reply.entries()) {
    EXPECT_EQ(entry.reason(), "wrong CRC");
    listed.insert(absl::StrCat(entry.path(), " ", entry.record()));
  }
  EXPECT_EQ(listed.size(), kTarShards * std::size(kFlipped));
}

}  // namespace
}  // namespace penstock::faults
