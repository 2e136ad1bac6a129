// The table of metrics, their text, the metrics of a process, and the page that lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/version.h"
#include "server/metrics/disk_rooms.h"
#include "server/metrics/metric_set.h"
#include "server/metrics/metric_table.h"
#include "server/metrics/process_metrics.h"
#include "tests/server/metrics/metrics_text.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// https://prometheus.io/docs/practices/naming/
TEST(MetricTable, NamesFollowTheConventions) {
  const std::set<std::string> not_base_units = {"milliseconds", "ms", "minutes", "kilobytes", "mib", "megabytes"};
  std::set<std::string_view> names;
  for (const MetricInfo& info : MetricTable()) {
    const std::string name(info.name);
    EXPECT_TRUE(names.insert(info.name).second) << name << " is there twice";
    EXPECT_TRUE(absl::StartsWith(name, "penstock_")) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
    EXPECT_EQ(absl::EndsWith(name, "_total"), info.type == MetricType::kCounter) << name;
    const std::vector<std::string> words = absl::StrSplit(name, '_');
    for (const std::string& word : words) EXPECT_FALSE(not_base_units.contains(word)) << name;
    for (const char* reserved : {"_count", "_sum", "_bucket"}) EXPECT_FALSE(absl::EndsWith(name, reserved)) << name;
    for (size_t i = 0; i < info.label_count(); ++i) {
      const std::string label(info.labels[i]);
      EXPECT_EQ(label.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos) << name;
      EXPECT_TRUE(label != "le" && label != "quantile" && label != "instance") << name;
    }
  }
}

TEST(MetricTable, EachMetricHasAMeaningInOneLine) {
  for (const MetricInfo& info : MetricTable()) {
    ASSERT_FALSE(info.help.empty()) << info.name;
    EXPECT_EQ(info.help.back(), '.') << info.name;
    EXPECT_LE(info.help.size(), 200u) << info.name;
    EXPECT_EQ(info.help.find_first_of("|\n\\"), std::string_view::npos) << info.name;
  }
}

// The lines of the page's tables, without heads: "| `name` | type | labels | meaning |".
std::vector<std::string> LinesOfPage() {
  std::vector<std::string> lines;
  const auto page = ReadWholeFile("docs/metrics.md", 1 << 20);
  EXPECT_TRUE(page.ok()) << page.status();
  if (!page.ok()) return lines;
  const std::vector<std::string> all = absl::StrSplit(*page, '\n');
  for (const std::string& line : all) {
    if (absl::StartsWith(line, "| `penstock_")) lines.push_back(line);
  }
  return lines;
}

TEST(MetricTable, ThePageListsEachMetricAsTheCodeHasIt) {
  std::vector<std::string> expected;
  for (const MetricInfo& info : MetricTable()) {
    const std::vector<std::string> labels(info.labels.begin(),
                                          info.labels.begin() + static_cast<std::ptrdiff_t>(info.label_count()));
    expected.push_back(absl::StrCat("| `", std::string(info.name), "` | ", std::string(NameOf(info.type)), " | ",
                                    absl::StrJoin(labels, ", "), labels.empty() ? "| " : " | ", std::string(info.help),
                                    " |"));
  }
  EXPECT_THAT(LinesOfPage(), ElementsAreArray(expected)) << "docs/metrics.md must have these lines, in this order:\n"
                                                         << absl::StrJoin(expected, "\n");
}

TEST(MetricSet, WritesOnlyMetricsWithSeriesInTheOrderOfTheTable) {
  MetricSet metrics;
  metrics.Add(Metric::kWorkers, uint64_t{3}, {"live"});
  metrics.Add(Metric::kWorkers, uint64_t{1}, {"dead"});
  metrics.Add(Metric::kProcessThreads, 7.0);
  EXPECT_EQ(metrics.series(), 3u);
  EXPECT_EQ(std::move(metrics).TakeText(), absl::StrCat("# HELP penstock_process_threads Threads of the process.\n"
                                                        "# TYPE penstock_process_threads gauge\n"
                                                        "penstock_process_threads 7\n"
                                                        "# HELP penstock_workers ",
                                                        std::string(InfoOf(Metric::kWorkers).help),
                                                        "\n"
                                                        "# TYPE penstock_workers gauge\n"
                                                        "penstock_workers{state=\"live\"} 3\n"
                                                        "penstock_workers{state=\"dead\"} 1\n"));
}

TEST(MetricSet, LabelsAreEscaped) {
  MetricSet metrics;
  metrics.Add(Metric::kJobReaders, 1.0, {"a \"b\" \\ c\nd"});
  EXPECT_THAT(std::move(metrics).TakeText(), HasSubstr("{job=\"a \\\"b\\\" \\\\ c\\nd\"} 1\n"));
}

TEST(MetricSet, AHistogramHasCumulativeBuckets) {
  MetricSet metrics;
  const std::array<double, 2> bounds = {0.5, 2};
  metrics.AddHistogram(Metric::kTrainerStepWait, bounds, {{3, 0, 2}, 12.5}, {"train", "0"});
  EXPECT_EQ(metrics.series(), 5u);
  const MetricsText text(std::move(metrics).TakeText());
  EXPECT_EQ(text.series(), 5u);
  const std::string name = "penstock_trainer_step_wait_seconds", labels = "job=\"train\",rank=\"0\"";
  EXPECT_EQ(text.Value(name + "_bucket{" + labels + ",le=\"0.5\"}"), 3);
  EXPECT_EQ(text.Value(name + "_bucket{" + labels + ",le=\"2\"}"), 3);
  EXPECT_EQ(text.Value(name + "_bucket{" + labels + ",le=\"+Inf\"}"), 5);
  EXPECT_EQ(text.Value(name + "_count{" + labels + "}"), 5);
  EXPECT_EQ(text.Value(name + "_sum{" + labels + "}"), 12.5);
}

TEST(ProcessMetrics, HaveEachMetricOfAProcess) {
  ProcessUse use = ReadProcessUse();
  use.throttling = CpuThrottling{100, 3, 1.5};
  MetricSet metrics;
  AddProcess(use, "worker", &metrics);
  AddCertificate({.expires = 2e9, .files_fault = true, .failed_handshakes = 7}, &metrics);
  AddTokensFile(true, &metrics);
  const MetricsText text(std::move(metrics).TakeText());
  ExpectAllOf(MetricOwner::kEvery, text);
  EXPECT_EQ(text.Value("penstock_tls_certificate_expires_timestamp_seconds"), 2e9);
  EXPECT_EQ(text.Value("penstock_tls_files_fault"), 1);
  EXPECT_EQ(text.Value("penstock_tls_failed_handshakes_total"), 7);
  EXPECT_EQ(text.Value("penstock_tokens_file_fault"), 1);
  EXPECT_EQ(text.Value(absl::StrCat("penstock_build_info{version=\"", std::string(Version()), "\",role=\"worker\"}")),
            1);
  EXPECT_EQ(text.Value("penstock_process_cpu_throttled_seconds_total"), 1.5);
}

TEST(ProcessMetrics, AreThoseOfThisProcess) {
  const ProcessUse use = ReadProcessUse();
  EXPECT_GT(use.start_time, 1.5e9);
  EXPECT_GT(use.user_seconds + use.system_seconds, 0);
  EXPECT_GT(use.resident_bytes, uint64_t{1} << 20);
  EXPECT_GE(use.memory_limit_bytes, use.own_bytes);
  EXPECT_GE(use.threads, 1u);
  EXPECT_GE(use.open_files, 3u);
  EXPECT_GE(use.open_files_limit, use.open_files);
  EXPECT_GE(use.cpus, 1);
  const MetricsText text(ProcessMetricsText("coordinator"));
  EXPECT_GT(text.Value("penstock_process_resident_memory_bytes"), 1 << 20);
  EXPECT_FALSE(text.Has("penstock_tls_files_fault")) << "without a certificate";
  EXPECT_FALSE(text.Has("penstock_tokens_file_fault")) << "without --tokens";
  EXPECT_EQ(MetricsText(ProcessMetricsText("coordinator", std::nullopt, false)).Value("penstock_tokens_file_fault"), 0);
}

TEST(DiskRoom, OfAFolderThatDoesNotExistIsUnknown) {
  EXPECT_GT(RoomAt("/").size_bytes, 0u);
  EXPECT_EQ(RoomAt("/does/not/exist").size_bytes, 0u);
}

// The file system of "b" hangs from the second measurement on.
TEST(DiskRooms, AFileSystemThatHangsDelaysNoCaller) {
  struct Shared {
    Mutex mutex;
    CondVar changed;
    int measured ABSL_GUARDED_BY(mutex) = 0;
    bool released ABSL_GUARDED_BY(mutex) = false;
  };
  const auto shared = std::make_shared<Shared>();
  const auto measure = [shared](const std::string& folder) {
    MutexLock lock(&shared->mutex);
    ++shared->measured;
    shared->changed.NotifyAll();
    while (shared->measured > 2 && folder == "b" && !shared->released) shared->changed.Wait(&shared->mutex);
    return DiskRoom{static_cast<uint64_t>(shared->measured), 100};
  };
  const auto wait_for = [&shared](int measured) {
    MutexLock lock(&shared->mutex);
    while (shared->measured < measured) shared->changed.Wait(&shared->mutex);
  };
  DiskRooms rooms({"a", "b"}, measure);
  wait_for(2);
  // The result appears soon after the measurement; each call may start another one.
  std::vector<DiskRoom> last;
  do {
    last = rooms.Last();
    ASSERT_EQ(last.size(), 2u);
  } while (last[1].size_bytes == 0);
  EXPECT_EQ(last[0].free_bytes, 1u);
  EXPECT_EQ(last[1].free_bytes, 2u);
  wait_for(4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rooms.Last()[1].free_bytes, 2u);
  MutexLock lock(&shared->mutex);
  EXPECT_EQ(shared->measured, 4) << "no further measurement while one hangs";
  shared->released = true;
  shared->changed.NotifyAll();
}

}  // namespace
}  // namespace penstock::server
