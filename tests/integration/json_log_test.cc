// The logs of real daemons with --log-json: every line is an object, and names the job or worker that it is about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::integration {
namespace {

using support::FieldOf;
using ::testing::StartsWith;

// Returns the log lines of each process, in the order of their starts.
std::vector<std::vector<nlohmann::json>> LinesByProcess(const std::string& logs) {
  std::vector<std::vector<nlohmann::json>> processes;
  for (const absl::string_view text : absl::StrSplit(logs, "---- process ", absl::SkipEmpty())) {
    std::string lines;
    for (const absl::string_view line : absl::StrSplit(text.substr(text.find('\n') + 1), '\n')) {
      // The only line on standard output.
      if (!absl::StartsWith(line, "penstockd ") || !absl::StrContains(line, " ready on ")) {
        absl::StrAppend(&lines, line, "\n");
      }
    }
    processes.push_back(support::ParseLogLines(lines));
  }
  return processes;
}

// Returns the lines whose message contains `part`.
std::vector<nlohmann::json> With(const std::vector<nlohmann::json>& lines, const std::string& part) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& line : lines) {
    if (absl::StrContains(FieldOf(line, "message"), part)) found.push_back(line);
  }
  return found;
}

TEST(JsonLog, LinesNameTheirJobAndWorker) {
  const std::string second = "\"second\"\\";
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeNumberDataset({.shards = 2, .records_per_shard = 20}, folder.path());
  dataset.job.set_name("train");
  support::ProcessClusterOptions options;
  options.workers = 0;
  options.coordinator_flags = {"--log-json"};
  options.worker_flags = {"--memory-budget", "64MiB", "--log-json"};
  support::ProcessCluster cluster(options, dataset.roots);
  cluster.AddWorker({"--name", "first"});
  const std::string id = cluster.AddWorker({"--name", second}).id;
  for (const char* job : {"train", "eval"}) {
    dataset.job.set_name(job);
    ASSERT_TRUE(cluster.control().Submit(dataset.job).ok()) << cluster.Logs();
  }
  ASSERT_TRUE(cluster.control().WaitForOwners("train", 2)) << cluster.Logs();
  support::ReadPlan plan;
  plan.options.job = "train";
  plan.options.epochs = 1;
  const support::ReadResult read = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(read.status.ok()) << read.status << cluster.Logs();
  dataset.job.set_name("none");
  dataset.job.mutable_dataset(0)->set_files(0, folder.path() + "/trian-*");
  ASSERT_FALSE(cluster.control().Submit(dataset.job).ok());
  ASSERT_TRUE(cluster.control().Drain(id).ok());
  ASSERT_TRUE(cluster.control().WaitForState(id, v1::WorkerStatus::LEFT)) << cluster.Logs();
  EXPECT_EQ(cluster.worker(1).process->WaitForExit(), 0);

  const std::vector<std::vector<nlohmann::json>> logs = LinesByProcess(cluster.Logs());
  ASSERT_EQ(logs.size(), 3u);
  for (const std::vector<nlohmann::json>& lines : logs) {
    for (const nlohmann::json& line : lines) {
      for (const char* field : {"time", "level", "thread", "message"}) EXPECT_TRUE(line.contains(field)) << line;
      const bool of_a_job = absl::StartsWith(FieldOf(line, "message"), "job ");
      EXPECT_TRUE(!of_a_job || FieldOf(line, "job") != "") << line;
    }
  }
  // The coordinator: one line for each change of a worker.
  for (const char* job : {"train", "eval"}) {
    const std::vector<nlohmann::json> ready = With(logs[0], absl::StrCat("job ", job, " is READY"));
    ASSERT_EQ(ready.size(), 1u) << cluster.Logs();
    EXPECT_EQ(FieldOf(ready[0], "job"), job);
  }
  const std::vector<nlohmann::json> failed = With(logs[0], "job none failed");
  ASSERT_EQ(failed.size(), 1u) << cluster.Logs();
  EXPECT_EQ(FieldOf(failed[0], "job"), "none");
  const std::map<std::string, std::string> ends = {
      {" is LIVE", ""}, {" is DRAINING", "; 2 jobs have new views"}, {" is LEFT", ""}};
  for (const auto& [state, views] : ends) {
    int of_second = 0;
    for (const nlohmann::json& line : With(logs[0], state)) {
      if (FieldOf(line, "worker") != second) continue;
      ++of_second;
      EXPECT_THAT(FieldOf(line, "message"), StartsWith(absl::StrCat("worker ", second, " (", id, ") at 127.0.0.1:")));
      EXPECT_TRUE(absl::EndsWith(FieldOf(line, "message"), absl::StrCat(state, views))) << line;
    }
    EXPECT_EQ(of_second, 1) << state << "\n" << cluster.Logs();
  }
  // The workers.
  const std::vector<nlohmann::json> listens = With(logs[1], "listens on");
  ASSERT_EQ(listens.size(), 1u);
  EXPECT_EQ(FieldOf(listens[0], "worker"), "first");
  const std::vector<nlohmann::json> draining = With(logs[2], "draining: ");
  ASSERT_EQ(draining.size(), 1u);
  EXPECT_EQ(FieldOf(draining[0], "worker"), second);
}

}  // namespace
}  // namespace penstock::integration
