// Situations of docs/runbook.md about workers.
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "penstock/v1/control.pb.h"
#include "tests/faults/runbook/testing.h"
#include "tests/support/cluster/control_group.h"
#include "tests/support/cluster/status_server.h"

namespace penstock::faults {
namespace {

class RunbookWorkersTest : public RunbookTest {
 protected:
  // A status of a coordinator of this release with one worker.
  v1::StatusReply StatusWithWorker() {
    Start(0);
    v1::StatusReply status;
    status.set_version(std::string(Version()));
    *status.mutable_protocols() = net::ToProto(kProtocols);
    v1::WorkerStatus* const worker = status.add_workers();
    worker->set_id("w1");
    worker->set_name("w1");
    worker->set_address(address_);
    worker->set_state(v1::WorkerStatus::LIVE);
    worker->set_version(std::string(Version()));
    *worker->mutable_protocols() = net::ToProto(kProtocols);
    return status;
  }
};

TEST_F(RunbookWorkersTest, NoWorkerIsLive) {
  Start(1);
  Submit();
  Read({"--pace", "20"});
  WaitForReader();
  cluster().worker(0).process->Signal(SIGKILL);
  ExpectSymptoms();
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, AWorkerIsLost) {
  Start(2);
  Submit();
  Read({"--pace", "20"});
  ASSERT_TRUE(cluster().control().WaitForOwners("train", 2));
  cluster().worker(0).process->Signal(SIGKILL);
  ExpectSymptoms();
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, AWorkerHangs) {
  Start(2);
  Submit();
  Read({"--pace", "20"});
  ASSERT_TRUE(cluster().control().WaitForOwners("train", 2));
  cluster().worker(0).process->Signal(SIGSTOP);
  ExpectSymptoms();
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, TrainersCannotReachAWorker) {
  Start(1);
  cluster().worker(0).process->Signal(SIGKILL);
  cluster().worker(0).process->WaitForExit();
  cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w2"});
  RestartWorker(0, {"--advertise", "127.0.0.1:1", "--socket-dir", ""});
  Submit();
  Read({"--pace", "20"});
  ExpectSymptoms();
  support::ProcessCluster::WorkerProcess& worker = cluster().worker(0);
  worker.arguments.resize(worker.arguments.size() - 4);
  cluster().RestartWorker(0);
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, AWorkerDoesNotFinishDraining) {
  ASSERT_TRUE(
      WriteFileAtomically(folder_.File("worker.textproto"), "worker_settings { drain_timeout_ms: 3600000 }\n").ok());
  Start(0);
  cluster().AddWorker({"--memory-budget", "64MiB", "--name", "w1", "--config", folder_.File("worker.textproto")});
  Submit();
  support::Process& trainer = Read({"--pace", "20"});
  WaitForReader();
  trainer.Signal(SIGSTOP);
  ASSERT_TRUE(cluster().control().Drain(cluster().worker(0).id).ok());
  ExpectSymptoms();
  trainer.Signal(SIGKILL);
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, TheDiskOfAWorkerIsFull) {
  const std::string folder = folder_.File("cache");
  if (!CanMount()) GTEST_SKIP() << "this process may not mount a file system";
  support::ProcessClusterOptions options = Workers(0);
  options.worker_prefix = OnSmallDisk(folder, "16m");
  Start(0, options);
  cluster().AddWorker(
      {"--memory-budget", "64MiB", "--name", "w1", "--disk-cache", folder, "--disk-cache-size", "8MiB"});
  ExpectSymptoms();
  EnterMounts(*cluster().worker(0).process, absl::StrCat("mount -o remount,size=1g '", folder, "'"));
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, TheMemoryBudgetExceedsTheLimit) {
  Start(0);
  cluster().AddWorker({"--name", "w1", "--memory-budget", "100TiB"});
  ExpectSymptoms();
  RestartWorker(0, {"--memory-budget", "64MiB"});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, TooFewFilesMayBeOpen) {
  support::ProcessClusterOptions options = Workers(0);
  options.worker_prefix = support::AfterShell("ulimit -n 512");
  Start(1, options);
  ExpectSymptoms();
  cluster().worker(0).arguments[2] = "exec \"$@\"";
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, TrainersOnAWorkersHostReadOverTheNetwork) {
  Start(1);
  Submit();
  std::filesystem::remove(absl::StrCat(cluster().socket_dir(), "/", cluster().worker(0).id, ".sock"));
  Read({"--pace", "20"});
  ExpectSymptoms();
  RestartWorker(0, {});
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, ReleasesAreMixed) {
  v1::StatusReply status = StatusWithWorker();
  status.mutable_workers(0)->set_version("0.3.0");
  const support::StatusServer mixed(status);
  address_ = mixed.address();
  ExpectSymptoms();
  status.mutable_workers(0)->set_version(std::string(Version()));
  const support::StatusServer equal(status);
  address_ = equal.address();
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, AReleaseIsTooOld) {
  v1::StatusReply status = StatusWithWorker();
  status.mutable_workers(0)->mutable_protocols()->set_oldest(100);
  status.mutable_workers(0)->mutable_protocols()->set_newest(101);
  const support::StatusServer apart(status);
  address_ = apart.address();
  ExpectSymptoms();
  *status.mutable_workers(0)->mutable_protocols() = net::ToProto(kProtocols);
  const support::StatusServer equal(status);
  address_ = equal.address();
  ExpectConfirmed();
}

TEST_F(RunbookWorkersTest, ClocksDiffer) {
  v1::StatusReply status = StatusWithWorker();
  status.set_unix_ms(absl::ToUnixMillis(absl::Now() - absl::Hours(1)));
  status.mutable_workers(0)->set_clock_ahead_ms(90'000);
  const support::StatusServer apart(status);
  address_ = apart.address();
  ExpectSymptoms();
  status.clear_unix_ms();
  status.mutable_workers(0)->set_clock_ahead_ms(10);
  const support::StatusServer equal(status);
  address_ = equal.address();
  ExpectConfirmed();
}

}  // namespace
}  // namespace penstock::faults
