// Clients that request far more than they read: a worker's memory stays within its promise, and readers are served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/cluster/deaf_client.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "transport/grpc/grpc_transport.h"

namespace penstock::faults {
namespace {

using ::testing::ContainsRegex;

constexpr uint64_t kBudget = uint64_t{256} << 20;
constexpr uint64_t kProcess = uint64_t{96} << 20;  // docs/caches.md, "Memory and CPU"
constexpr double kLongestWait = 3;                 // seconds
constexpr std::chrono::seconds kReading(5), kReadingAtMost(20);
constexpr int kFetches = 32, kFetchedRows = 15872;  // the most that a session may have open

class FloodTest : public ::testing::Test {
 protected:
  FloodTest() : cluster_(Options(), {{"data", folder_.path()}}) {}

  static support::ProcessClusterOptions Options() {
    support::ProcessClusterOptions options;
    options.threads = 2;
    // No row cache: all sessions would share its rows, and the flood would not fill the memory.
    options.worker_flags = {"--memory-budget", "256MiB", "--record-cache", "16MiB", "--row-cache", "0"};
    return options;
  }
  // Rows of 147 KiB, in steps of 8.
  support::TestDataset Images() {
    support::TestDataset dataset = support::MakeImageDataset(
        {.shards = 2, .records_per_shard = 60, .width = 256, .height = 192, .crop = 224}, folder_.path());
    dataset.job.mutable_batch()->set_size(8);
    return dataset;
  }

  // Submits the job and returns it as trainers see it, with its worker.
  v1::Job Submitted(const support::TestDataset& dataset) {
    const absl::Status submitted = cluster_.control().Submit(dataset.job);
    EXPECT_TRUE(submitted.ok()) << submitted << cluster_.Logs();
    EXPECT_TRUE(cluster_.control().WaitForOwners(dataset.job.name(), 1));
    return cluster_.control().GetJob(dataset.job.name()).value();
  }

  // Opens `count` sessions that send their messages and read nothing.
  void Flood(const v1::Job& job, int count, const std::vector<v1::ClientMessage>& messages) {
    for (int i = 0; i < count; ++i) {
      std::vector<v1::ClientMessage> all = {support::OpenMessage(job, absl::StrCat("flood-", i))};
      all.insert(all.end(), messages.begin(), messages.end());
      clients_.push_back(support::DeafClient::Connect(&transport_, job.view().workers(0).address(), std::move(all)));
    }
  }
  // Reads beside the other clients for kReading, in which the worker accepts all requests that it will, and then until
  // the log contains `closed`, for at most kReadingAtMost in all.
  support::ReadResult ReadBeside(const v1::Job& job, const std::string& closed) {
    support::ReadPlan plan;
    plan.options.job = job.name();
    plan.options.epochs = 0;
    plan.options.prefetch_steps = 4;
    const auto start = std::chrono::steady_clock::now();
    plan.until = [this, start, closed] {
      const auto time = std::chrono::steady_clock::now() - start;
      if (time < kReading) return false;
      return time >= kReadingAtMost || absl::StrContains(cluster_.Logs(), closed);
    };
    return support::ReadThrough(cluster_.address(), plan);
  }

  void ExpectServedWithinTheBudget(const support::ReadResult& read) {
    ASSERT_TRUE(read.status.ok()) << read.status << cluster_.Logs();
    EXPECT_LT(read.first_wait, kLongestWait) << cluster_.Logs();
    EXPECT_LT(read.longest_wait, kLongestWait) << cluster_.Logs();
    const uint64_t peak = cluster_.worker(0).process->Memory("VmHWM");
    EXPECT_GT(peak, kBudget / 2) << "the flood does not even fill the budget";
    EXPECT_LE(peak, kBudget + kProcess);
    std::printf("peak %llu MiB; the reader's %zu steps: the first after %.3f s, longest wait then %.3f s\n",
                static_cast<unsigned long long>(peak >> 20), read.steps.size(), read.first_wait, read.longest_wait);
  }

  support::TempFolder folder_;
  support::ProcessCluster cluster_;
  transport::GrpcTransport transport_;
  std::vector<std::shared_ptr<support::DeafClient>> clients_;
};

TEST_F(FloodTest, FortySessionsThatFetchAndNeverReadStarveNoReaderAndStayInTheBudget) {
  const support::TestDataset dataset = Images();
  const v1::Job job = Submitted(dataset);
  Flood(job, 40, support::FetchMessages(dataset.records, kFetches, kFetchedRows));
  ExpectServedWithinTheBudget(ReadBeside(job, "is closed: this client has read nothing for 10 s"));
  EXPECT_THAT(cluster_.Logs(), ContainsRegex("session flood-[0-9]+ of job 'images', rank 0 is closed: this client has "
                                             "read nothing for 10 s"));
}

TEST_F(FloodTest, AHundredSessionsThatGrantAndNeverReadStayInTheBudget) {
  const support::TestDataset dataset = Images();
  const v1::Job job = Submitted(dataset);
  Flood(job, 100, support::GrantMessages(job, dataset.records, 200));
  ExpectServedWithinTheBudget(ReadBeside(job, ""));
}

// Reserves of the clients leave no room for a new reader. It is served as soon as they are closed.
TEST_F(FloodTest, AReaderGetsTheMemoryThatIdleClientsReserveWhenTheyAreClosed) {
  support::TestDataset dataset = Images();
  dataset.job.mutable_batch()->set_size(24);
  const v1::Job job = Submitted(dataset);
  Flood(job, 73, support::GrantMessages(job, dataset.records, 200));
  support::ReadPlan plan;
  plan.options.job = job.name();
  plan.max_steps = 5;
  const support::ReadResult read = support::ReadThrough(cluster_.address(), plan);
  ASSERT_TRUE(read.status.ok()) << read.status << cluster_.Logs();
  EXPECT_EQ(read.steps.size(), 5u);
  EXPECT_THAT(cluster_.Logs(), ContainsRegex("is closed: this client has read nothing for 10 s"));
}

// Rows of a few bytes: the memory for their bookkeeping dominates.
TEST_F(FloodTest, SessionsWithTinyRowsStayInTheBudget) {
  const support::TestDataset dataset =
      support::MakeNumberDataset({.shards = 2, .records_per_shard = 4000}, folder_.path());
  const v1::Job job = Submitted(dataset);
  Flood(job, 40, support::FetchMessages(dataset.records, kFetches, kFetchedRows));
  Flood(job, 100, support::GrantMessages(job, dataset.records, 200));
  ExpectServedWithinTheBudget(ReadBeside(job, "memory_budget_bytes has no room"));
  EXPECT_THAT(cluster_.Logs(), ContainsRegex("session flood-[0-9]+ of job 'numbers', rank 0 is closed: [0-9]+ fetched "
                                             "rows wait in this session, and memory_budget_bytes has no room"));
}

}  // namespace
}  // namespace penstock::faults
