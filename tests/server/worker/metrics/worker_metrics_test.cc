// The worker's metrics.
#include "server/worker/metrics/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/worker/stream/sent_counts.h"
#include "tests/server/metrics/metrics_text.h"
#include "tests/server/metrics/rejected_caller.h"

namespace penstock::worker {
namespace {

using server::MetricOwner;
using server::MetricsText;

loader::JobTimes TimesOf(const std::string& job, uint64_t rows, double decode_seconds) {
  loader::JobTimes times;
  times.job = job;
  times.rows = rows;
  times.timed_rows = rows / 10;
  times.stages = {{"decode", decode_seconds}, {"resize", decode_seconds / 2}};
  return times;
}

storage::ObjectSchemeCounts CountsOf(const std::string& scheme, int64_t credentials_end) {
  storage::ObjectSchemeCounts counts;
  counts.scheme = scheme;
  counts.credentials_end = credentials_end;
  counts.requests.outcomes[static_cast<size_t>(storage::RequestOutcome::kOk)] = 40;
  counts.requests.outcomes[static_cast<size_t>(storage::RequestOutcome::kUnavailable)] = 2;
  counts.requests.seconds = 3.5;
  return counts;
}

TEST(WorkerMetrics, HaveEachMetricOfTheTable) {
  WorkerSnapshot snapshot;
  snapshot.loader.rows = 70;
  snapshot.loader.rows_bytes = 100;
  snapshot.loader.record_cache.bytes = 5000;
  snapshot.loader.record_cache.chosen = true;
  snapshot.jobs = {TimesOf("train", 70, 2)};
  snapshot.stages.seconds["decode"] = 2;
  snapshot.threads = {4, true};
  snapshot.folders = {{"state", 10, 100}, {"disk_cache", 0, 0}};
  snapshot.coordinator_age = 3 * kSecond / 2;
  snapshot.objects = {CountsOf("s3", 1'800'000'000)};
  snapshot.streams.rejections[1] = 5;
  *snapshot.streams.callers.Add() = server::Caller("10.0.0.9", "alice", "unauthenticated", 5);
  const MetricsText text(WorkerMetricsText(snapshot));
  EXPECT_EQ(text.Value("penstock_worker_rejected_streams_total{reason=\"unauthenticated\"}"), 5);
  EXPECT_FALSE(text.Has("penstock_worker_rejected_streams_total{reason=\"limit\"}")) << "none occurred";
  EXPECT_EQ(
      text.Value("penstock_worker_caller_rejections{host=\"10.0.0.9\",name=\"alice\",reason=\"unauthenticated\"}"), 5);
  ExpectAllOf(MetricOwner::kWorker, text);
  EXPECT_EQ(text.Value("penstock_worker_rows_total"), 70);
  EXPECT_EQ(text.Value("penstock_worker_job_rows_total{job=\"train\"}"), 70);
  EXPECT_EQ(text.Value("penstock_worker_memory_bytes{holder=\"record_cache\"}"), 5000);
  EXPECT_EQ(text.Value("penstock_worker_cache_chosen{cache=\"records\"}"), 1);
  EXPECT_EQ(text.Value("penstock_worker_setting{setting=\"threads\",source=\"pinned\"}"), 4);
  EXPECT_EQ(text.Value("penstock_worker_folder_free_bytes{folder=\"state\"}"), 10);
  EXPECT_FALSE(text.Has("penstock_worker_folder_free_bytes{folder=\"disk_cache\"}")) << "unknown";
  EXPECT_EQ(text.Value("penstock_worker_coordinator_age_seconds"), 1.5);
}

TEST(WorkerMetrics, CountRequestsToObjectStorageByOutcome) {
  WorkerSnapshot snapshot;
  EXPECT_FALSE(
      MetricsText(WorkerMetricsText(snapshot)).Has("penstock_worker_object_request_seconds_total{scheme=\"s3\"}"));
  snapshot.objects = {CountsOf("s3", 1'800'000'000), CountsOf("https", 0)};
  const MetricsText text(WorkerMetricsText(snapshot));
  EXPECT_EQ(text.Value("penstock_worker_object_requests_total{scheme=\"s3\",outcome=\"ok\"}"), 40);
  EXPECT_EQ(text.Value("penstock_worker_object_requests_total{scheme=\"s3\",outcome=\"unavailable\"}"), 2);
  EXPECT_FALSE(text.Has("penstock_worker_object_requests_total{scheme=\"s3\",outcome=\"denied\"}")) << "none occurred";
  EXPECT_EQ(text.Value("penstock_worker_object_request_seconds_total{scheme=\"https\"}"), 3.5);
  EXPECT_EQ(text.Value("penstock_worker_storage_credentials_expire_timestamp_seconds{scheme=\"s3\"}"), 1'800'000'000);
  EXPECT_FALSE(text.Has("penstock_worker_storage_credentials_expire_timestamp_seconds{scheme=\"https\"}"));
}

// coordinator_metrics_test.cc counts on this number.
TEST(WorkerMetrics, AWorkerHasABoundedNumberOfSeries) {
  WorkerSnapshot snapshot;
  for (int i = 0; i < 20; ++i) snapshot.jobs.push_back(TimesOf(absl::StrCat("job", i), 100, 1));
  for (size_t i = 0; i <= StageSums::kMostStages; ++i) snapshot.stages.seconds[absl::StrCat("stage", i)] = 1;
  snapshot.folders = {{"state", 10, 100}, {"disk_cache", 10, 100}};
  snapshot.objects = {CountsOf("s3", 1'800'000'000)};
  const size_t series = MetricsText(WorkerMetricsText(snapshot)).series();
  std::printf("%zu series\n", series);
  EXPECT_LE(series, 131u);
  for (int i = 20; i < 1000; ++i) snapshot.jobs.push_back(TimesOf(absl::StrCat("job", i), 200, 1));
  const MetricsText text(WorkerMetricsText(snapshot));
  EXPECT_LE(text.series(), 111u + kMostJobSeries);
  EXPECT_FALSE(text.Has("penstock_worker_job_rows_total{job=\"job0\"}")) << "it has fewer rows than others";
}

TEST(WorkerMetrics, AJobAndItsReplacementAreOneSeries) {
  WorkerSnapshot snapshot;
  snapshot.jobs = {TimesOf("train", 100, 1), TimesOf("train", 20, 1)};
  EXPECT_EQ(MetricsText(WorkerMetricsText(snapshot)).Value("penstock_worker_job_rows_total{job=\"train\"}"), 120);
}

TEST(StageSums, DoNotDecreaseWhenAJobEnds) {
  StageSums sums;
  sums.Add({TimesOf("train", 100, 2), TimesOf("eval", 10, 1)});
  sums.Add({TimesOf("eval", 30, 4)});
  const StageSums::Sums now = sums.Add({TimesOf("eval", 30, 4), TimesOf("train", 10, 0.5)});  // begins again
  EXPECT_DOUBLE_EQ(now.seconds.at("decode"), 2 + 4 + 0.5);
  EXPECT_DOUBLE_EQ(now.seconds.at("resize"), 3.25);
  EXPECT_EQ(now.timed_rows, 14u);
}

// Two submissions of one name add up. When the older one goes, the sum falls.
TEST(StageSums, DoNotCountAgainWhenAReplacedSubmissionGoes) {
  StageSums sums;
  sums.Add({TimesOf("train", 100, 2), TimesOf("train", 10, 1)});
  sums.Add({TimesOf("train", 10, 1)});
  EXPECT_DOUBLE_EQ(sums.Add({TimesOf("train", 20, 2)}).seconds.at("decode"), 3);
  EXPECT_DOUBLE_EQ(sums.Add({TimesOf("train", 40, 4)}).seconds.at("decode"), 4);
}

TEST(StageSums, FurtherStagesAreOther) {
  loader::JobTimes times;
  times.job = "train";
  for (int i = 0; i < 30; ++i) times.stages.push_back({absl::StrCat("stage", i), 1});
  StageSums sums;
  const StageSums::Sums now = sums.Add({times});
  EXPECT_EQ(now.seconds.size(), StageSums::kMostStages + 1);
  EXPECT_DOUBLE_EQ(now.seconds.at("other"), 30 - static_cast<double>(StageSums::kMostStages));
}

TEST(SentCounts, FollowTheCarrierOfAStream) {
  SentCounts counts;
  {
    SentCounts::Stream stream(&counts), local(&counts), silent(&counts);
    stream.Sends("grpc", 1000, 1000, 3, 1);
    EXPECT_EQ(counts.Get().connections, 1u);
    stream.Sends("grpc x4", 1000, 400, 4, 0);  // compressed
    local.Sends("shared memory", 500, 500, 0, 2);
    const SentCounts::Sums sums = counts.Get();
    EXPECT_EQ(sums.bytes[SentCounts::kGrpc], 1000u);
    EXPECT_EQ(sums.bytes[SentCounts::kSharedMemory], 500u);
    EXPECT_EQ(sums.compressed_bytes, 400u);
    EXPECT_EQ(sums.compressed_row_bytes, 1000u);
    EXPECT_EQ(sums.granted_rows, 7u);
    EXPECT_EQ(sums.fetched_rows, 3u);
    EXPECT_EQ(sums.streams[SentCounts::kGrpc], 1u);
    EXPECT_EQ(sums.connections, 4u);
    local.Ends();
    EXPECT_EQ(counts.Get().streams[SentCounts::kSharedMemory], 0u);
  }
  EXPECT_EQ(counts.Get().streams[SentCounts::kGrpc], 0u);
  EXPECT_EQ(counts.Get().connections, 0u);
  EXPECT_EQ(counts.Get().bytes[SentCounts::kGrpc], 1000u) << "counters stay";
}

}  // namespace
}  // namespace penstock::worker
