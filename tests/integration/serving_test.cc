// Whole epochs through a coordinator and workers: the bytes are the same, however they are served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/version.h"
#include "net/channel.h"
#include "net/protocols_proto.h"
#include "penstock/v1/data.grpc.pb.h"
#include "tests/integration/serving_testing.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

TEST_F(ServingTest, AnyNumberOfWorkersAndThreadsGivesOneDigest) {
  const std::string expected = support::PlainDigest(dataset_, dataset_.job, 2);
  for (const int workers : {1, 2, 5}) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(testing::Message() << workers << " workers with " << threads << " threads");
      support::ClusterOptions options;
      options.workers = workers;
      options.threads = threads;
      support::InProcessCluster cluster(options, dataset_.roots);
      ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
      ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), workers));
      const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(result.digest, expected);
      EXPECT_EQ(result.steps.size(), 26u);
      EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, dataset_.records, 2));
    }
  }
}

// The number of this process's threads whose name begins so. A pool numbers its threads.
size_t ThreadsNamed(const std::string& name) {
  size_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    std::getline(std::ifstream(task.path() / "comm"), line);
    found += absl::StartsWith(line, name);
  }
  return found;
}

TEST_F(ServingTest, AWorkerHasOnePoolOfThreadsThatOpenShards) {
  const size_t before = ThreadsNamed("ps-slow");
  support::InProcessCluster cluster({.workers = 1}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 1));
  EXPECT_EQ(ThreadsNamed("ps-slow"), before + 4);
}

TEST_F(ServingTest, ReadThreadsGiveTheSameDigest) {
  support::ClusterOptions options;
  options.workers = 2;
  options.read_threads = 3;
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2));
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, dataset_.job, 2));
  EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, dataset_.records, 2));
}

// The reader itself ends its streams: no worker has failed.
TEST_F(ServingTest, AReaderThatEndsReportsNoFailedWorker) {
  support::ClusterOptions options;
  options.workers = 3;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 3));
  for (int i = 0; i < 20; ++i) {
    support::ReadPlan plan = Plan();
    plan.max_steps = 5 + i;  // some readers end in the middle
    ASSERT_TRUE(support::ReadThrough(cluster.address(), plan).status.ok());
    const auto status = cluster.control().Status();
    ASSERT_TRUE(status.ok());
    for (const v1::WorkerStatus& worker : status->workers()) {
      ASSERT_EQ(worker.state(), v1::WorkerStatus::LIVE) << worker.note();
    }
  }
}

TEST_F(ServingTest, FourRanksReadTheRowsOfOneReaderInEachStep) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadResult whole = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  std::vector<support::ReadResult> ranks(4);
  std::vector<std::thread> trainers;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    trainers.emplace_back([&, rank] {
      support::ReadPlan plan = Plan();
      plan.options.rank = rank;
      plan.options.world_size = 4;
      plan.options.group = "four";
      ranks[rank] = support::ReadThrough(cluster.address(), plan);
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  for (const support::ReadResult& rank : ranks) ASSERT_TRUE(rank.status.ok()) << rank.status;
  for (size_t step = 0; step < whole.steps.size(); ++step) {
    std::vector<std::pair<int64_t, int64_t>> ids;
    for (const support::ReadResult& rank : ranks) {
      ASSERT_EQ(rank.steps.size(), whole.steps.size());
      ids.insert(ids.end(), rank.steps[step].ids.begin(), rank.steps[step].ids.end());
    }
    EXPECT_EQ(ids, whole.steps[step].ids);
  }
}

TEST_F(ServingTest, AStateContinuesInANewReaderWithTheSameRows) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadResult whole = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const uint64_t stop : {1u, 7u, 13u, 20u}) {
    SCOPED_TRACE(testing::Message() << "stopped after step " << stop);
    support::ReadPlan first = Plan();
    first.max_steps = stop;
    const support::ReadResult before = support::ReadThrough(cluster.address(), first);
    ASSERT_TRUE(before.status.ok()) << before.status;
    support::ReadPlan second = Plan(stop >= 13 ? 1 : 2);
    second.options.state = before.state;
    const support::ReadResult rest = support::ReadThrough(cluster.address(), second);
    ASSERT_TRUE(rest.status.ok()) << rest.status;
    ASSERT_EQ(before.steps.size() + rest.steps.size(), whole.steps.size());
    for (size_t i = 0; i < rest.steps.size(); ++i) {
      EXPECT_EQ(rest.steps[i].digest, whole.steps[before.steps.size() + i].digest);
    }
  }
}

TEST_F(ServingTest, AStateContinuesWithAnotherWorldSizeAndBatchSize) {
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  support::ReadPlan first = Plan(1);
  const support::ReadResult whole = support::ReadThrough(cluster.address(), first);
  first.max_steps = 5;
  const support::ReadResult before = support::ReadThrough(cluster.address(), first);
  ASSERT_TRUE(before.status.ok()) << before.status;
  std::vector<std::pair<int64_t, int64_t>> expected;
  for (size_t i = 5; i < whole.steps.size(); ++i) {
    for (size_t row = 0; row < whole.steps[i].ids.size(); ++row) {
      if (whole.steps[i].valid[row] != 0) expected.push_back(whole.steps[i].ids[row]);
    }
  }
  const auto rows_of = [](const support::ReadResult& result) {
    std::vector<std::pair<int64_t, int64_t>> ids;
    for (const support::ReadStep& step : result.steps) {
      for (size_t row = 0; row < step.ids.size(); ++row) {
        if (step.valid[row] != 0) ids.push_back(step.ids[row]);
      }
    }
    return ids;
  };
  support::ReadPlan other_size = Plan(1);
  other_size.options.state = before.state;
  other_size.options.batch_size = 24;
  const support::ReadResult resized = support::ReadThrough(cluster.address(), other_size);
  ASSERT_TRUE(resized.status.ok()) << resized.status;
  EXPECT_EQ(rows_of(resized), expected);

  std::vector<std::pair<int64_t, int64_t>> joined;
  std::vector<support::ReadResult> ranks(2);
  std::vector<std::thread> trainers;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    trainers.emplace_back([&, rank] {
      support::ReadPlan plan = Plan(1);
      plan.options.state = before.state;
      plan.options.rank = rank;
      plan.options.world_size = 2;
      plan.options.group = "two";
      ranks[rank] = support::ReadThrough(cluster.address(), plan);
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  ASSERT_TRUE(ranks[0].status.ok()) << ranks[0].status;
  ASSERT_EQ(ranks[0].steps.size(), ranks[1].steps.size());
  for (size_t i = 0; i < ranks[0].steps.size(); ++i) {
    for (const support::ReadResult& rank : ranks) {
      for (size_t row = 0; row < rank.steps[i].ids.size(); ++row) {
        if (rank.steps[i].valid[row] != 0) joined.push_back(rank.steps[i].ids[row]);
      }
    }
  }
  EXPECT_EQ(joined, expected);
}

TEST_F(ServingTest, RanksAtDifferentPositionsAreRejected) {
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  support::ReadPlan zero = Plan(1);
  zero.options.world_size = 2;
  zero.options.group = "run";
  ConnectOptions connect;
  connect.coordinator = cluster.address();
  const auto open = Reader::Open(connect, zero.options);
  ASSERT_TRUE(open.ok()) << open.status();
  ReaderOptions one = zero.options;
  one.rank = 1;
  one.epoch = 3;
  const auto refused = Reader::Open(connect, one);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  one.epoch = 0;
  EXPECT_TRUE(Reader::Open(connect, one).ok());
}

TEST_F(ServingTest, ThePolicyByRankGivesTheSameRows) {
  const std::string expected = support::PlainDigest(dataset_, dataset_.job, 2);
  dataset_.job.mutable_assignment()->set_policy(v1::BY_RANK);
  support::ClusterOptions options;
  options.workers = 3;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 3));
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected);
}

TEST_F(ServingTest, TwoSessionsAtOnceGetTheSameRows) {
  support::ClusterOptions options;
  options.workers = 2;
  options.decoded_cache_bytes = 8 << 20;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  std::vector<support::ReadResult> results(2);
  std::vector<std::thread> trainers;
  for (int i = 0; i < 2; ++i) {
    trainers.emplace_back([&, i] {
      support::ReadPlan plan = Plan();
      plan.options.group = "run " + std::to_string(i);
      results[static_cast<size_t>(i)] = support::ReadThrough(cluster.address(), plan);
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  for (const support::ReadResult& result : results) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, results[0].digest);
  }
}

// Compares two epochs of a data set's job through two workers with the local reader.
void ExpectThePlainDigest(const support::TestDataset& dataset, support::ReadPlan plan) {
  support::ClusterOptions options;
  options.workers = 2;
  options.decoded_cache_bytes = 8 << 20;
  support::InProcessCluster cluster(options, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
  plan.options.job = dataset.job.name();
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, support::PlainDigest(dataset, dataset.job, 2));
}

TEST_F(ServingTest, CompressedShardsAndAllKindsOfColumnsGiveThePlainDigest) {
  for (const sources::Compression compression : {sources::Compression::kGzip, sources::Compression::kZlib}) {
    support::TempFolder folder;
    ExpectThePlainDigest(
        support::MakeNumberDataset({.shards = 3, .records_per_shard = 70, .compression = compression}, folder.path()),
        Plan());
  }
}

TEST_F(ServingTest, BoxesAndMasksThatFollowTheImageGiveThePlainDigest) {
  support::TempFolder folder;
  ExpectThePlainDigest(support::MakeDetectionDataset(folder.path()), Plan());
}

TEST_F(ServingTest, RowsCompressedOnTheWireGiveThePlainDigest) {
  support::TempFolder boxes, numbers;
  support::ClusterOptions options;
  options.workers = 2;
  options.shared_memory = false;
  options.wire_compression = worker::WireCompression::kOn;
  for (const support::TestDataset& dataset : {dataset_, support::MakeDetectionDataset(boxes.path()),
                                              support::MakeNumberDataset({.shards = 3}, numbers.path())}) {
    support::InProcessCluster cluster(options, dataset.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
    support::ReadPlan plan = Plan();
    plan.options.job = dataset.job.name();
    const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, support::PlainDigest(dataset, dataset.job, 2));
    EXPECT_GT(result.stats.compressed_bytes, 0u) << dataset.job.name();
  }
}

TEST_F(ServingTest, ASessionThatExceedsTheBudgetIsRejectedWithTheNumbers) {
  support::ClusterOptions options;
  options.memory_budget_bytes = 1 << 20;
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, dataset_.roots);
  dataset_.job.mutable_batch()->set_size(200);
  dataset_.job.mutable_ops(1)->mutable_random_resized_crop()->set_height(64);
  dataset_.job.mutable_ops(1)->mutable_random_resized_crop()->set_width(64);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted) << result.status;
  EXPECT_THAT(std::string(result.status.message()), ::testing::ContainsRegex("[0-9]+ bytes"));
}

// A client that requests much and reads nothing fills the memory that it may use. The worker still serves another
// reader: it revokes prepared rows of the client for the reader's next step.
TEST_F(ServingTest, AClientThatDoesNotReadBlocksNoReader) {
  dataset_.job.mutable_ops(1)->mutable_random_resized_crop()->set_height(128);
  dataset_.job.mutable_ops(1)->mutable_random_resized_crop()->set_width(128);
  support::ClusterOptions options;
  options.memory_budget_bytes = 6 << 20;  // a step is 0.8 MB, an epoch 10 MB
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const v1::Job job = *cluster.control().GetJob(dataset_.job.name());

  const auto stub = v1::Worker::NewStub(net::MakeChannel(cluster.worker(0).address()));
  grpc::ClientContext context;
  const auto idle = stub->Stream(&context);
  v1::ClientMessage open, view;
  *open.mutable_open()->mutable_protocols() = net::ToProto(kProtocols);
  open.mutable_open()->set_job(job.name());
  open.mutable_open()->set_job_uid(job.uid());
  open.mutable_open()->set_order_fingerprint(job.order_fingerprint());
  open.mutable_open()->set_pipeline_fingerprint(job.pipeline_fingerprint());
  open.mutable_open()->set_world_size(1);
  open.mutable_open()->set_step_rows(16);
  *view.mutable_use_view()->mutable_view() = job.view();
  ASSERT_TRUE(idle->Write(open));
  ASSERT_TRUE(idle->Write(view));
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    v1::ClientMessage grant;
    grant.mutable_grant()->set_view_term(job.view().term());
    grant.mutable_grant()->set_view_number(job.view().number());
    grant.mutable_grant()->set_epoch(epoch);
    grant.mutable_grant()->set_end(208);
    ASSERT_TRUE(idle->Write(grant));
  }
  // Waits until the memory is full: the worker neither sends nor drops the rows.
  ASSERT_TRUE(support::WaitUntil([&] { return cluster.worker(0).Stats().memory_bytes > (4u << 20); }));

  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, dataset_.job, 2));
  EXPECT_LE(cluster.worker(0).Stats().memory_peak_bytes, options.memory_budget_bytes);
  context.TryCancel();
}

// The workers continue to serve rows in time. The reader must end nevertheless.
TEST_F(ServingTest, ACancelledOrReplacedJobEndsAReaderThatNeverWaits) {
  for (const bool replaced : {false, true}) {
    support::InProcessCluster cluster({}, dataset_.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
    support::ReadPlan plan = Plan(/*epochs=*/0);
    plan.after_step = [&](uint64_t steps) {
      if (steps != 3) return;
      v1::JobSpec other = dataset_.job;
      other.mutable_order()->set_seed(99);
      EXPECT_TRUE(
          (replaced ? cluster.control().Submit(other, /*replace=*/true) : cluster.control().Cancel(dataset_.job.name()))
              .ok());
    };
    const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition) << result.status;
    EXPECT_THAT(std::string(result.status.message()), HasSubstr(replaced ? "replaced" : "cancelled"));
  }
}

TEST_F(ServingTest, SubmitReportsTheMistakesOfAJob) {
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  v1::JobSpec missing = dataset_.job;
  missing.set_name("missing");
  v1::Feature* feature = missing.add_features();
  feature->set_key("not/there");
  feature->set_type(v1::Feature::FLOAT);
  absl::Status status = cluster.control().Submit(missing);
  EXPECT_THAT(std::string(status.message()), HasSubstr("not/there"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(dataset_.files[0]));

  v1::JobSpec wrong_type = dataset_.job;
  wrong_type.set_name("wrong-type");
  wrong_type.mutable_features(1)->set_type(v1::Feature::FLOAT);
  status = cluster.control().Submit(wrong_type);
  EXPECT_THAT(std::string(status.message()), HasSubstr(wrong_type.features(1).key()));

  v1::JobSpec no_files = dataset_.job;
  no_files.set_name("no-files");
  no_files.mutable_dataset(0)->set_files(0, "nothing-*");
  status = cluster.control().Submit(no_files);
  EXPECT_THAT(std::string(status.message()), HasSubstr("nothing-*"));

  v1::JobSpec outside = dataset_.job;
  outside.set_name("outside");
  outside.mutable_dataset(0)->set_files(0, "/etc/*");
  status = cluster.control().Submit(outside);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/etc/*"));
}

}  // namespace
}  // namespace penstock::integration
