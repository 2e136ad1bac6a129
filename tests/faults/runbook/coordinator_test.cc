// Situations of docs/runbook.md about the coordinator.
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/faults/runbook/testing.h"

namespace penstock::faults {
namespace {

class RunbookCoordinatorTest : public RunbookTest {
 protected:
  // Returns the trainer.
  support::Process& StartReading(support::ProcessClusterOptions options = Workers(0)) {
    Start(1, std::move(options));
    Submit();
    support::Process& trainer = Read({"--pace", "20"});
    WaitForReader();
    return trainer;
  }
};

TEST_F(RunbookCoordinatorTest, TheCoordinatorIsAway) {
  StartReading();
  cluster().coordinator().Signal(SIGKILL);
  cluster().coordinator().WaitForExit();
  ExpectSymptoms();
  cluster().RestartCoordinator();
  ExpectConfirmed();
}

TEST_F(RunbookCoordinatorTest, TheCoordinatorHangs) {
  StartReading();
  cluster().coordinator().Signal(SIGSTOP);
  ExpectSymptoms();
  cluster().RestartCoordinator();
  ExpectConfirmed();
}

TEST_F(RunbookCoordinatorTest, TheCoordinatorsDiskIsFull) {
  if (!CanMount()) GTEST_SKIP() << "this process may not mount a file system";
  support::ProcessClusterOptions options = Workers(0);
  // The command line has the folder.
  options.coordinator_prefix = OnSmallDisk("\"$(echo \"$@\" | sed 's/.*--state-dir //; s/ .*//')\"", "8m");
  StartReading(options);
  EnterMounts(cluster().coordinator(),
              absl::StrCat("! dd if=/dev/zero of='", cluster().coordinator_dir(), "/filler' bs=64k 2>/dev/null"));
  dataset_.job.set_name("other");
  WriteJob();
  ExpectSymptoms();
  EnterMounts(cluster().coordinator(),
              absl::StrCat("rm '", cluster().coordinator_dir(), "/filler' && mount -o remount,size=1g '",
                           cluster().coordinator_dir(), "'"));
  ExpectConfirmed();
}

TEST_F(RunbookCoordinatorTest, TheCoordinatorLostItsState) {
  support::Process& trainer = StartReading();
  cluster().coordinator().Signal(SIGKILL);
  cluster().coordinator().WaitForExit();
  std::filesystem::remove_all(cluster().coordinator_dir());
  cluster().RestartCoordinator();
  ExpectSymptoms();
  trainer.Signal(SIGKILL);
  trainer.WaitForExit();
  Act();
  Read({"--pace", "20", "--rank", "0"});
  ExpectConfirmed();
}

TEST_F(RunbookCoordinatorTest, TheAddressOfTheCoordinatorIsWrong) {
  Start(1);
  address_ = "127.0.0.1:1";
  ExpectSymptoms();
  address_ = cluster().address();
  ExpectConfirmed();
}

TEST_F(RunbookCoordinatorTest, TheNameOfTheCoordinatorDoesNotResolve) {
  Start(1);
  address_ = "coordinator.invalid:7070";
  ExpectSymptoms();
  address_ = cluster().address();
  ExpectConfirmed();
}

}  // namespace
}  // namespace penstock::faults
