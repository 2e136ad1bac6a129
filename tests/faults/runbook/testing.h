// A test causes a situation of the runbook in real processes. It takes the commands and the words from the page. The
// test's name is the heading.
#ifndef PENSTOCK_TESTS_FAULTS_RUNBOOK_TESTING_H_
#define PENSTOCK_TESTS_FAULTS_RUNBOOK_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/runbook/page.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::faults {

class RunbookTest : public ::testing::Test {
 protected:
  RunbookTest();
  void SetUp() override;

  // ---- The words of the page.

  // Waits until the sources of the section's lines Symptom and Check, or Confirm, print their words.
  void ExpectSymptoms();
  void ExpectConfirmed();
  // Runs a command of the section's line Action, again while the coordinator cannot be reached. Expects success.
  void Act(size_t i = 0);

  // ---- The situation.

  // Small images, as the job "train" with steps of 16 rows.
  static support::TestDataset Images(const std::string& folder, support::ImageDatasetOptions options = {});
  static support::ProcessClusterOptions Workers(int workers);
  // Starts the coordinator and `workers` workers, named w1, w2, ...
  void Start(int workers, support::ProcessClusterOptions options = Workers(0));
  void Submit(bool replace = false);
  // Writes the job to the file that stands for JOB.textproto in commands.
  void WriteJob();
  // Starts a trainer that reads the job without end.
  support::Process& Read(const std::vector<std::string>& flags = {});
  // Waits until the status has a reader of rank 0.
  void WaitForReader();
  // Kills worker i and starts it as the same worker, with further flags and another environment.
  void RestartWorker(size_t i, const std::vector<std::string>& flags, std::vector<std::string> environment = {});

  // Whether a process of this test may have its own mounts. For tests with full disks.
  static bool CanMount();
  // The start of a command line that mounts a file system of `size` on a folder, for the command only. `folder` is an
  // expression of the shell.
  static std::vector<std::string> OnSmallDisk(const std::string& folder, const std::string& size);
  // Runs a command of the shell among the mounts of `process`.
  static void EnterMounts(const support::Process& process, const std::string& command);

  struct Outcome {
    int code = -1;
    std::string text;  // both outputs
  };
  // Runs a command as the page has it. JOB is "train", WORKER is "w1".
  Outcome Run(const std::string& command);
  support::ProcessCluster& cluster() { return *cluster_; }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
  // For commands and trainers. Start() adds the coordinator's address.
  std::vector<std::string> environment_;
  std::string address_;

 private:
  std::string Output(const Claim& claim);
  std::string TrainerLogs() const;
  void ExpectClaims(const std::string& line, const std::vector<Claim>& claims);

  Situation situation_;
  std::unique_ptr<support::ProcessCluster> cluster_;
  std::vector<std::unique_ptr<support::Process>> trainers_;
};

}  // namespace penstock::faults

#endif  // PENSTOCK_TESTS_FAULTS_RUNBOOK_TESTING_H_
