#include "tests/faults/runbook/testing.h"

#include <google/protobuf/text_format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

// For a busy machine: words about a period of some seconds appear when it has passed.
constexpr std::chrono::seconds kDeadline(180);

const std::vector<Situation>& Runbook() {
  static const std::vector<Situation>* const situations = [] {
    auto read = ReadRunbook();
    EXPECT_TRUE(read.ok()) << read.status();
    return new std::vector<Situation>(read.ok() ? *std::move(read) : std::vector<Situation>());
  }();
  return *situations;
}

// The page's placeholders for the names that these tests give.
std::string Named(const std::string& text) {
  static const std::regex job("\\bJOB\\b"), worker("\\bWORKER\\b");
  return std::regex_replace(std::regex_replace(text, job, "train"), worker, "w1");
}

}  // namespace

RunbookTest::RunbookTest() : dataset_(Images(data_.path())) {}

void RunbookTest::SetUp() {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const Situation& situation : Runbook()) {
    if (situation.test == test) situation_ = situation;
  }
  ASSERT_FALSE(situation_.heading.empty()) << "no page has a section for the test " << test;
}

support::TestDataset RunbookTest::Images(const std::string& folder, support::ImageDatasetOptions options) {
  support::TestDataset dataset = support::MakeImageDataset(options, folder);
  dataset.job.set_name("train");
  dataset.job.mutable_batch()->set_size(16);
  return dataset;
}

support::ProcessClusterOptions RunbookTest::Workers(int workers) {
  support::ProcessClusterOptions options;
  options.workers = workers;
  // No growing caches, so that a limit is the same in each epoch.
  options.worker_flags = {"--record-cache", "0", "--decoded-cache", "0"};
  return options;
}

void RunbookTest::Start(int workers, support::ProcessClusterOptions options) {
  cluster_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
  address_ = cluster_->address();
  for (int i = 1; i <= workers; ++i) cluster_->AddWorker({"--memory-budget", "64MiB", "--name", absl::StrCat("w", i)});
}

void RunbookTest::Submit(bool replace) {
  WriteJob();
  const absl::Status submitted = cluster_->control().Submit(dataset_.job, replace);
  ASSERT_TRUE(submitted.ok()) << submitted << cluster_->Logs();
}

void RunbookTest::WriteJob() {
  std::string text;
  google::protobuf::TextFormat::PrintToString(dataset_.job, &text);
  ASSERT_TRUE(WriteFileAtomically(folder_.File("train.textproto"), text).ok());
}

support::Process& RunbookTest::Read(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {PENSTOCK, "read",     "train",   "--coordinator",
                                        address_, "--epochs", "1000000", "--no-digest"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const std::string log = folder_.File(absl::StrCat("trainer-", trainers_.size()));
  trainers_.push_back(std::make_unique<support::Process>(arguments, log, environment_));
  return *trainers_.back();
}

void RunbookTest::WaitForReader() {
  ASSERT_TRUE(support::WaitUntil([&] { return Prints(Run("penstock status").text, "train/... 0 of "); }, kDeadline))
      << cluster_->Logs() << TrainerLogs();
}

void RunbookTest::RestartWorker(size_t i, const std::vector<std::string>& flags, std::vector<std::string> environment) {
  support::ProcessCluster::WorkerProcess& worker = cluster_->worker(i);
  worker.arguments.insert(worker.arguments.end(), flags.begin(), flags.end());
  worker.environment = std::move(environment);
  cluster_->RestartWorker(i);
}

bool RunbookTest::CanMount() { return std::system("unshare -m mount -t tmpfs penstock /mnt 2>/dev/null") == 0; }

std::vector<std::string> RunbookTest::OnSmallDisk(const std::string& folder, const std::string& size) {
  return {
      "/usr/bin/unshare",
      "-m",
      "/bin/sh",
      "-c",
      absl::StrCat("mkdir -p ", folder, " && mount -t tmpfs -o size=", size, " penstock ", folder, " && exec \"$@\""),
      "sh"};
}

void RunbookTest::EnterMounts(const support::Process& process, const std::string& command) {
  ASSERT_EQ(std::system(absl::StrCat("nsenter -m -t ", process.pid(), " /bin/sh -c \"", command, "\"").c_str()), 0)
      << command;
}

RunbookTest::Outcome RunbookTest::Run(const std::string& command) {
  std::string line = absl::StrCat("cd '", folder_.path(), "' && env PENSTOCK_COORDINATOR='", address_, "'");
  for (const std::string& variable : environment_) absl::StrAppend(&line, " '", variable, "'");
  absl::StrAppend(&line, " timeout 60 '", PENSTOCK, "'", Named(command).substr(sizeof("penstock") - 1), " >'",
                  folder_.File("out"), "' 2>&1 </dev/null");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(folder_.File("out")).value_or("")};
}

std::string RunbookTest::Output(const Claim& claim) {
  if (claim.source == Claim::Source::kCommand) return Run(claim.command).text;
  return claim.source == Claim::Source::kLog ? cluster_->Logs() : TrainerLogs();
}

std::string RunbookTest::TrainerLogs() const {
  std::string text;
  for (size_t i = 0; i < trainers_.size(); ++i) {
    absl::StrAppend(&text, ReadWholeFile(folder_.File(absl::StrCat("trainer-", i))).value_or(""));
  }
  return text;
}

void RunbookTest::ExpectClaims(const std::string& line, const std::vector<Claim>& claims) {
  if (HasFatalFailure()) return;
  ASSERT_FALSE(claims.empty()) << situation_.heading << " has no words in its line " << line;
  for (size_t i = 0; i < claims.size();) {
    // The claims about one output.
    size_t end = i + 1;
    while (end < claims.size() && claims[end].source == claims[i].source && claims[end].command == claims[i].command) {
      ++end;
    }
    std::string output, missing;
    const bool all = support::WaitUntil(
        [&] {
          output = Output(claims[i]);
          missing.clear();
          for (size_t at = i; at < end; ++at) {
            if (Prints(output, Named(claims[at].words)) == claims[at].absent) missing = claims[at].words;
          }
          return missing.empty();
        },
        kDeadline);
    ASSERT_TRUE(all) << situation_.page << ", \"" << situation_.heading << "\", " << line << ": "
                     << (claims[i].command.empty() ? "the output" : claims[i].command) << " does not fit the words\n"
                     << missing << "\non the page. It is:\n"
                     << output << cluster_->Logs() << "---- trainers\n"
                     << TrainerLogs();
    i = end;
  }
}

void RunbookTest::ExpectSymptoms() {
  ExpectClaims("Symptom", situation_.symptom);
  ExpectClaims("Check", situation_.check);
}

void RunbookTest::ExpectConfirmed() { ExpectClaims("Confirm", situation_.confirm); }

void RunbookTest::Act(size_t i) {
  if (HasFatalFailure()) return;
  ASSERT_LT(i, situation_.actions.size()) << situation_.heading << " has no such command in its line Action";
  Outcome outcome;
  const auto is_done = [&] {
    outcome = Run(situation_.actions[i]);
    // A coordinator whose disk is busy may answer too late. An operator then repeats the command.
    return outcome.code == 0 || !absl::StrContains(outcome.text, "cannot be reached");
  };
  support::WaitUntil(is_done, kDeadline);
  ASSERT_EQ(outcome.code, 0) << situation_.actions[i] << "\n" << outcome.text;
}

}  // namespace penstock::faults
