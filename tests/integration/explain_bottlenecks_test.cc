// Real processes with a deliberate bottleneck, and with its opposite: `explain` names the bottleneck only in the first
// case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "net/channel.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/support/cluster/free_port.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

using Limit = v1::Explanation;
using ::testing::HasSubstr;

// The period of an explanation, in seconds: short, so that figures from before a change leave it soon.
constexpr uint32_t kPeriod = 4;

std::string AllWords(const v1::Explanation& explanation) {
  std::string words = absl::StrCat(v1::Explanation::Limit_Name(explanation.limit()), ": ", explanation.headline());
  for (const std::string& sentence : explanation.sentences()) absl::StrAppend(&words, "\n  ", sentence);
  for (const v1::Explanation::Gain& gain : explanation.gains()) {
    absl::StrAppend(&words, "\n  ", gain.times(), " times: ", gain.change());
  }
  return words;
}

class ExplainTest : public ::testing::Test {
 protected:
  // 100 images. A worker's single thread makes a row of them in a millisecond or so.
  explicit ExplainTest(int side = 256)
      : dataset_(support::MakeImageDataset(
            {.shards = 4, .records_per_shard = 25, .width = side, .height = side, .crop = side / 2}, data_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    dataset_.job.set_name("train");
  }

  void Start(const support::ProcessClusterOptions& options = Workers(1)) {
    cluster_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
  }
  static support::ProcessClusterOptions Workers(int workers) {
    support::ProcessClusterOptions options;
    options.workers = workers;
    // No growing caches, so that the bottleneck is the same in each epoch.
    options.worker_flags = {"--memory-budget", "64MiB", "--record-cache", "0", "--decoded-cache", "0"};
    return options;
  }
  void Submit() {
    const absl::Status submitted = cluster_->control().Submit(dataset_.job);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster_->Logs();
  }
  // Starts a trainer that reads without end.
  void Read(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {PENSTOCK,   "read",    "train",      "--coordinator", cluster_->address(),
                                          "--epochs", "1000000", "--no-digest"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    reader_.reset();
    reader_ = std::make_unique<support::Process>(arguments, folder_.File("read.log"));
  }
  // Kills a worker and starts another one in its place, and a new trainer. The old trainer would report the killed
  // worker for 10 s.
  void Replace(size_t i, const std::vector<std::string>& flags = {}, std::vector<std::string> environment = {}) {
    reader_.reset();
    cluster_->worker(i).process->Signal(SIGKILL);
    cluster_->AddWorker(flags, std::move(environment));
    EXPECT_TRUE(cluster_->control().WaitForState(cluster_->worker(i).id, v1::WorkerStatus::DEAD)) << cluster_->Logs();
    Read();
  }
  absl::StatusOr<v1::Explanation> Ask(const std::string& job = "train") {
    const auto stub = v1::Coordinator::NewStub(net::MakeChannel(cluster_->address()));
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(10));
    v1::ExplainRequest request;
    request.set_job(job);
    request.set_seconds(kPeriod);
    v1::ExplainReply reply;
    const grpc::Status status = stub->Explain(&context, request, &reply);
    if (!status.ok()) return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
    return reply.jobs(0);
  }
  // Asks until `wanted` holds, for at most a minute. Returns the last explanation.
  v1::Explanation ExpectThat(const std::function<bool(const v1::Explanation&)>& wanted) {
    v1::Explanation last;
    const bool said = support::WaitUntil(
        [&] {
          const auto explained = Ask();
          if (explained.ok()) last = *explained;
          return explained.ok() && wanted(last);
        },
        std::chrono::minutes(1));
    EXPECT_TRUE(said) << AllWords(last) << "\n" << last.DebugString() << cluster_->Logs();
    return last;
  }
  v1::Explanation Expect(v1::Explanation::Limit limit, const std::string& words = "") {
    SCOPED_TRACE(absl::StrCat(v1::Explanation::Limit_Name(limit), ", ", words));
    return ExpectThat([&](const v1::Explanation& explained) {
      return explained.limit() == limit && absl::StrContains(AllWords(explained), words);
    });
  }
  void Proxy(const std::string& listen, const std::string& target, const std::vector<std::string>& how) {
    std::vector<std::string> arguments = {"/usr/bin/python3", DELAY_PROXY, listen, "127.0.0.1:" + target};
    arguments.insert(arguments.end(), how.begin(), how.end());
    proxy_ = std::make_unique<support::Process>(arguments, folder_.File("proxy.log"));
  }
  // Starts a worker that trainers reach only through a proxy, not through shared memory.
  void StartBehindProxy(const std::vector<std::string>& how) {
    Start(Workers(0));
    const std::string own = support::FreePort(), seen = support::FreePort();
    Proxy(seen, own, how);
    cluster_->AddWorker({"--socket-dir", "", "--listen", "127.0.0.1:" + own, "--advertise", "127.0.0.1:" + seen});
    Submit();
  }

  // The environment of a worker whose reads in `folder` take that long.
  static std::vector<std::string> SlowReads(const std::string& folder, int milliseconds) {
    return {absl::StrCat("LD_PRELOAD=", SLOW_FILES), absl::StrCat("PENSTOCK_TEST_SLOW_FOLDER=", folder),
            absl::StrCat("PENSTOCK_TEST_SLOW_MS=", milliseconds)};
  }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
  std::unique_ptr<support::ProcessCluster> cluster_;
  std::unique_ptr<support::Process> proxy_, reader_;
};

// Tests whose processes need little CPU before their last verdict. ctest runs them at the same time.
class ExplainWaitsTest : public ExplainTest {};
// Tests that expect the CPU as the limit, also if a worker has only a part of one. ctest runs them at the same time.
class ExplainCpuTest : public ExplainTest {};

TEST_F(ExplainWaitsTest, TheLimitIsASlowTrainerOrTheWorkersCpuForAFastOne) {
  Start();
  Submit();
  Read({"--pace", "300"});
  v1::Explanation explained = Expect(Limit::TRAINER);
  EXPECT_LT(explained.waited(), 0.05);
  Read();
  explained = Expect(Limit::CPU);
  EXPECT_EQ(explained.worker(), cluster_->worker(0).id);
  EXPECT_GT(explained.waited(), 0.3);
  double decode = 0;
  for (const auto& share : explained.shares()) decode += share.stage() == "decode" ? share.share() : 0;
  EXPECT_GT(decode, 0.2) << explained.DebugString();
  EXPECT_GT(explained.gains_size(), 0);
}

TEST_F(ExplainWaitsTest, TheLimitOfSlowReadsIsStorageUntilReadThreadsAreUsed) {
  Start(Workers(0));
  const std::vector<std::string> slow = SlowReads(data_.path(), 40);
  cluster_->AddWorker({"--read-threads", "0", "--name", "slow"}, slow);
  Submit();
  Read();
  Expect(Limit::STORAGE, "--read-threads 64");
  Replace(0, {"--read-threads", "64"}, slow);
  Expect(Limit::CPU);
}

TEST_F(ExplainWaitsTest, TheLimitOfTooFewReadThreadsIsStorage) {
  Start(Workers(0));
  cluster_->AddWorker({"--read-threads", "2"}, SlowReads(data_.path(), 40));
  Submit();
  Read();
  Expect(Limit::STORAGE, "separate threads read");
}

TEST_F(ExplainWaitsTest, SlowReadsDoNotLimitAWorkerThatTunesItsReadThreads) {
  Start(Workers(0));
  cluster_->AddWorker({}, SlowReads(data_.path(), 20));
  Submit();
  Read();
  Expect(Limit::CPU, "has tuned itself, most recently read threads ");
}

TEST_F(ExplainWaitsTest, TheLimitOfANarrowLinkIsTheNetwork) {
  StartBehindProxy({"0", "1000000"});  // some 20 rows of 49,152 bytes a second
  Read();
  Expect(Limit::NETWORK, "wait to be sent");
}

TEST_F(ExplainWaitsTest, TheLimitOfALongLinkWithASmallWindowIsTheWindow) {
  StartBehindProxy({"400"});
  Read({"--prefetch-steps", "2", "--prefetch-bytes", "1"});
  Expect(Limit::WINDOW, "prefetch_steps of");
  Read({"--prefetch-steps", "400"});
  // The next bottleneck depends on the machine: its CPU, or the proxy, which then acts as a link.
  ExpectThat([](const v1::Explanation& explained) {
    return explained.limit() == Limit::CPU || explained.limit() == Limit::NETWORK;
  });
}

TEST_F(ExplainWaitsTest, TheLimitOfABudgetOfFewRowsIsTheMemory) {
  // OpenCV's resize needs the whole decoded image: a row needs 12 MB, already while its record is read.
  support::TempFolder large;
  dataset_ =
      support::MakeImageDataset({.shards = 2, .records_per_shard = 4, .width = 2000, .height = 2000}, large.path());
  dataset_.job.mutable_batch()->set_size(4);
  dataset_.job.set_name("train");
  support::ProcessClusterOptions options = Workers(0);
  options.threads = 16;
  options.worker_flags = {"--record-cache", "0"};
  Start(options);
  const std::vector<std::string> slow = SlowReads(large.path(), 300);
  cluster_->AddWorker({"--memory-budget", "64MiB"}, slow);
  Submit();
  Read();
  Expect(Limit::MEMORY, "memory_budget_bytes (now 68 MB)");
  Replace(0, {"--memory-budget", "1GiB"}, slow);
  ExpectThat([](const v1::Explanation& explained) {
    return explained.limit() == Limit::CPU || explained.limit() == Limit::STORAGE;
  });
}

TEST_F(ExplainCpuTest, TheDecodedCacheIsAdvisedOnlyToAWorkerThatHasItSwitchedOff) {
  support::ProcessClusterOptions options = Workers(0);
  options.worker_flags.clear();
  Start(options);
  cluster_->AddWorker({"--memory-budget", "64MiB"});
  Submit();
  Read();
  const auto advice = [](const v1::Explanation& explained) {
    std::string all;
    for (const v1::Explanation::Gain& gain : explained.gains()) all += gain.change() + "\n";
    return all;
  };
  v1::Explanation explained = Expect(Limit::CPU, "chooses the sizes of its caches: ");
  EXPECT_THAT(advice(explained), Not(HasSubstr("decoded_cache_bytes")));
  Replace(0, {"--memory-budget", "64MiB", "--decoded-cache", "0"});
  ExpectThat([&advice](const v1::Explanation& now) {
    return now.limit() == Limit::CPU && advice(now).find("decoded_cache_bytes") != std::string::npos;
  });
}

TEST_F(ExplainWaitsTest, AMissingFileIsNamedEvenForASlowTrainer) {
  Start();
  Submit();
  cluster_->worker(0).process->Signal(SIGKILL);  // it has files open
  const std::string gone = dataset_.files[2], backup = folder_.File("backup");
  std::filesystem::copy(gone, backup);
  std::filesystem::remove(gone);
  cluster_->AddWorker();
  Read({"--pace", "100"});
  Expect(Limit::FILES, gone);
  std::filesystem::copy(backup, gone);
  Expect(Limit::TRAINER);
}

TEST_F(ExplainCpuTest, OnlyAWorkerWithASlowDiskIsNamedAsSlow) {
  Start();
  cluster_->AddWorker({"--read-threads", "0", "--name", "slow"}, SlowReads(data_.path(), 20));
  Submit();
  Read();
  // The bottleneck is worker slow at first. It may be the CPU of the other worker later, which then makes most rows.
  ExpectThat([&](const v1::Explanation& explained) {
    const std::string words = AllWords(explained);
    return absl::StrContains(words, "orker slow") && absl::StrContains(words, " slower than the others") &&
           absl::StrContains(words, "The threads of worker slow wait for storage in ");
  });
  Replace(1);
  Expect(Limit::CPU);  // both workers, or the worker with the longer waits
}

TEST_F(ExplainCpuTest, AWorkerThatTheTrainerCannotReachIsLostUntilItCanBeReached) {
  Start();
  const std::string own = support::FreePort(), seen = support::FreePort();
  Proxy(seen, own, {"0"});
  cluster_->AddWorker({"--socket-dir", "", "--listen", "127.0.0.1:" + own, "--advertise", "127.0.0.1:" + seen});
  Submit();
  Read();
  Expect(Limit::CPU);
  const std::string id = cluster_->worker(1).id;
  proxy_.reset();
  EXPECT_EQ(Expect(Limit::LOST_WORKER, "Check that host, and the network in between").worker(), id);
  EXPECT_TRUE(cluster_->worker(1).process->running());
  Proxy(seen, own, {"0"});
  Expect(Limit::CPU);
}

TEST_F(ExplainCpuTest, ADeadWorkerIsLostAndSoonForgotten) {
  support::ProcessClusterOptions options = Workers(2);
  options.dead_after_ms = 5000;  // the trainer reports it first
  Start(options);
  Submit();
  Read();
  Expect(Limit::CPU);
  const std::string id = cluster_->worker(1).id;
  cluster_->worker(1).process->Signal(SIGKILL);
  EXPECT_EQ(Expect(Limit::LOST_WORKER).worker(), id);
  Expect(Limit::CPU, "the CPU of worker ");
}

TEST_F(ExplainCpuTest, WithoutAWorkerTheLimitIsNoWorker) {
  Start();
  Submit();
  Read();
  Expect(Limit::CPU);
  cluster_->worker(0).process->Signal(SIGKILL);
  Expect(Limit::NO_WORKER);
  cluster_->AddWorker();
  Expect(Limit::CPU);
}

TEST_F(ExplainTest, MixingRowsMakesTheTrainersHostTheLimitAndPlainRowsDoNot) {
  // The rows are made once and cached, so that workers have little to do. A copying thread mixes each group.
  dataset_.job.clear_ops();
  dataset_.job.add_ops()->mutable_decode_image();
  v1::Resize* const resize = dataset_.job.add_ops()->mutable_resize();
  resize->set_height(224);
  resize->set_width(224);
  dataset_.job.mutable_mix()->set_mixup_alpha(0.4f);
  dataset_.job.mutable_mix()->set_classes(10);
  support::ProcessClusterOptions options = Workers(0);
  options.threads = 2;
  Start(options);
  cluster_->AddWorker({"--memory-budget", "1GiB", "--row-cache", "512MiB"});
  Submit();
  Read();
  Expect(Limit::COPYING, "copy_threads");
  Replace(0, {"--memory-budget", "1GiB", "--row-cache", "0"});
  Expect(Limit::CPU);
}

TEST_F(ExplainWaitsTest, AJobWithoutAReaderAndAnUnknownJobAreErrors) {
  Start();
  Submit();
  absl::Status status = Ask().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("job train has no reader"));
  status = Ask("trian").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'train'?"));
}

}  // namespace
}  // namespace penstock::integration
