// Situations of docs/runbook.md in which trainers wait or cannot begin.
#include <signal.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/faults/runbook/testing.h"
#include "tests/support/cluster/free_port.h"

namespace penstock::faults {
namespace {

// Trainers are fast enough to wait before the action, and slow enough not to wait after it on a busy machine.
class RunbookTrainersTest : public RunbookTest {
 protected:
  static std::vector<std::string> SlowReads(const std::string& folder, int milliseconds) {
    return {absl::StrCat("LD_PRELOAD=", SLOW_FILES), absl::StrCat("PENSTOCK_TEST_SLOW_FOLDER=", folder),
            absl::StrCat("PENSTOCK_TEST_SLOW_MS=", milliseconds)};
  }
  // Starts worker w1, which trainers reach only through a proxy.
  void StartBehindProxy(const std::vector<std::string>& how) {
    Start(0);
    own_ = support::FreePort(), seen_ = support::FreePort();
    Proxy(how);
    cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w1", "--socket-dir", "", "--listen",
                         "127.0.0.1:" + own_, "--advertise", "127.0.0.1:" + seen_});
  }
  void Proxy(const std::vector<std::string>& how) {
    std::vector<std::string> arguments = {"/usr/bin/python3", DELAY_PROXY, seen_, "127.0.0.1:" + own_};
    arguments.insert(arguments.end(), how.begin(), how.end());
    proxy_.reset();
    proxy_ = std::make_unique<support::Process>(arguments, folder_.File("proxy"));
  }

  std::string own_, seen_;
  std::unique_ptr<support::Process> proxy_;
};

TEST_F(RunbookTrainersTest, TrainersWaitForTheCPUOfWorkers) {
  const v1::JobSpec cheap = dataset_.job;
  v1::Op costly;
  costly.mutable_resize()->set_height(1400);
  costly.mutable_resize()->set_width(1400);
  costly.mutable_resize()->set_filter(v1::LANCZOS);
  dataset_.job.clear_ops();
  *dataset_.job.add_ops() = cheap.ops(0);
  for (int i = 0; i < 4; ++i) *dataset_.job.add_ops() = costly;
  for (int i = 1; i < cheap.ops_size(); ++i) *dataset_.job.add_ops() = cheap.ops(i);
  Start(1);
  Submit();
  support::Process& trainer = Read({"--pace", "100"});
  ExpectSymptoms();
  trainer.Signal(SIGKILL);
  dataset_.job = cheap;
  WriteJob();
  Act();
  Read({"--pace", "100"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, TrainersWaitForStorage) {
  Start(0);
  cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w1", "--read-threads", "0"}, SlowReads(data_.path(), 40));
  Submit();
  Read({"--pace", "300"});
  ExpectSymptoms();
  RestartWorker(0, {"--read-threads", "64"}, SlowReads(data_.path(), 40));
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, TrainersWaitForTheNetwork) {
  dataset_ = Images(data_.path(), {.width = 256, .height = 256, .crop = 128});
  StartBehindProxy({"0", "1000000"});  // some 20 rows of 49,152 bytes a second
  Submit();
  Read({"--pace", "400"});
  ExpectSymptoms();
  Proxy({"0"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, TrainersWaitForMemoryOfWorkers) {
  support::TempFolder large;
  dataset_ = Images(large.path(), {.shards = 2, .records_per_shard = 4, .width = 2000, .height = 2000});
  dataset_.job.mutable_batch()->set_size(4);
  support::ProcessClusterOptions options = Workers(0);
  options.threads = 16;
  Start(0, options);
  cluster().AddWorker({"--name", "w1", "--memory-budget", "64MiB"}, SlowReads(large.path(), 300));
  Submit();
  Read();
  ExpectSymptoms();
  RestartWorker(0, {"--memory-budget", "1GiB"}, SlowReads(large.path(), 300));
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, TrainersRequestTooFewRowsAhead) {
  StartBehindProxy({"800"});
  Submit();
  support::Process& trainer = Read({"--pace", "200", "--prefetch-steps", "2", "--prefetch-bytes", "1"});
  ExpectSymptoms();
  trainer.Signal(SIGKILL);
  Read({"--pace", "200", "--prefetch-steps", "400"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, AJobReachesItsCaps) {
  dataset_.job.mutable_caps()->set_storage_requests_per_second(1);
  Start(1);
  Submit();
  support::Process& trainer = Read({"--pace", "100"});
  ExpectSymptoms();
  trainer.Signal(SIGKILL);
  dataset_.job.clear_caps();
  WriteJob();
  Act();
  Read({"--pace", "100"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, AJobIsPaused) {
  Start(1);
  Submit();
  Read({"--pace", "20"});
  ASSERT_EQ(Run("penstock pause JOB").code, 0);
  ExpectSymptoms();
  Act();
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, ARankLagsBehind) {
  Start(1);
  Submit();
  support::Process& first = Read({"--pace", "20", "--rank", "0", "--world-size", "2"});
  support::Process& last = Read({"--pace", "1000", "--rank", "1", "--world-size", "2"});
  ExpectSymptoms();
  for (support::Process* const rank : {&first, &last}) rank->Signal(SIGTERM);
  for (support::Process* const rank : {&first, &last}) rank->WaitForExit();
  Read({"--pace", "200", "--rank", "0", "--world-size", "2"});
  Read({"--pace", "200", "--rank", "1", "--world-size", "2"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, ARankHasAnotherReader) {
  Start(1);
  Submit();
  support::Process& first = Read({"--pace", "20", "--rank", "0", "--world-size", "2"});
  WaitForReader();
  Read({"--pace", "20", "--rank", "0", "--world-size", "2"});
  ExpectSymptoms();
  first.Signal(SIGKILL);
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, AStepDoesNotFitTheMemoryBudget) {
  Start(0);
  cluster().AddWorker({"--name", "w1", "--memory-budget", "64MiB"});
  dataset_ = Images(data_.path(), {.shards = 4, .records_per_shard = 20, .crop = 1024});
  dataset_.job.mutable_batch()->set_size(64);
  Submit();
  Read();
  ExpectSymptoms();
  RestartWorker(0, {"--memory-budget", "1GiB"});
  ExpectConfirmed();
}

TEST_F(RunbookTrainersTest, AJobHasTooManyReaders) {
  dataset_.job.mutable_caps()->set_sessions(1);
  Start(1);
  Submit();
  support::Process& first = Read({"--pace", "20", "--group", "first"});
  WaitForReader();
  Read({"--group", "second"});
  ExpectSymptoms();
  first.Signal(SIGTERM);
  ExpectConfirmed();
}

}  // namespace
}  // namespace penstock::faults
