// How a job's rows spend their time, and what idle makers wait for, on virtual time.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/loader/job_activity.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/loader/stage_sampler.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

class JobTimesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Loader> MakeLoader(int threads, uint64_t budget = 1 << 20) {
    LoaderOptions options = OptionsIn(&sim_);
    options.threads = threads;
    options.memory_budget_bytes = budget;
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    return *std::move(loader);
  }
  void Pass(Nanos time) { sim_.clock()->Pause(time); }

  SimScheduler sim_{1};
};

TEST_F(JobTimesTest, ReadingTimeIsAPartOfMakingTime) {
  MemoryJob job = MakeMemoryJob(10, 20, 16);
  job.dataset->on_read = [&](uint64_t) {
    Pass(2 * kMillisecond);
    return absl::OkStatus();
  };
  job.pipeline->on_make = [&](uint64_t) {
    Pass(3 * kMillisecond);
    return absl::OkStatus();
  };
  auto loader = MakeLoader(1);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, {.largest_step_rows = 10}, &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 10, 10));
  sim_.RunAll();
  ASSERT_EQ(sink.held(), 10u);
  const std::vector<JobTimes> jobs = loader->Jobs();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job, "memory");
  EXPECT_EQ(jobs[0].rows, 10u);
  EXPECT_EQ(jobs[0].bytes_read, 200u);
  EXPECT_NEAR(jobs[0].making_seconds, 0.050, 1e-9);
  EXPECT_NEAR(jobs[0].reading_seconds, 0.020, 1e-9);
}

TEST_F(JobTimesTest, AReadInProgressCounts) {
  MemoryJob job = MakeMemoryJob(10, 20, 16);
  auto loader = MakeLoader(1);
  JobTimes during;
  job.dataset->on_read = [&](uint64_t) {
    Pass(7 * kSecond);
    during = loader->Jobs().at(0);
    return absl::OkStatus();
  };
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, {.largest_step_rows = 10}, &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 1, 1));
  sim_.RunAll();
  ASSERT_EQ(sink.held(), 1u);
  EXPECT_NEAR(during.making_seconds, 7, 1e-9);
  EXPECT_NEAR(during.reading_seconds, 7, 1e-9);
  EXPECT_NEAR(loader->Jobs().at(0).reading_seconds, 7, 1e-9);
}

TEST_F(JobTimesTest, ThreadsWithoutWorkWaitForRequestsOrForMemory) {
  MemoryJob job = MakeMemoryJob(400, 100, 1000);
  auto loader = MakeLoader(2, 64'000);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, {.largest_step_rows = 10}, &sink);
  ASSERT_TRUE(session.ok());
  Pass(kSecond);
  JobTimes times = loader->Jobs().at(0);
  EXPECT_NEAR(times.unrequested_seconds, 2, 1e-9);
  EXPECT_EQ(times.memory_seconds, 0);
  EXPECT_EQ(times.storage_seconds, 0);
  (*session)->Request(RowsOf(0, 400, 10));  // far more rows than fit
  sim_.RunAll();
  Pass(kSecond);
  times = loader->Jobs().at(0);
  EXPECT_NEAR(times.unrequested_seconds, 2, 1e-9);
  EXPECT_NEAR(times.memory_seconds, 2, 1e-9);
  EXPECT_EQ(times.storage_seconds, 0);
}

TEST_F(JobTimesTest, RequestsOfAnotherJobDoNotCount) {
  MemoryJob busy = MakeMemoryJob(400, 100, 1000), idle = MakeMemoryJob(10, 20, 16);
  auto loader = MakeLoader(2, 64'000);
  HoldingSink sink, other;
  auto session = loader->OpenSession(idle.job, {.largest_step_rows = 1}, &other);
  auto second = loader->OpenSession(busy.job, {.largest_step_rows = 10}, &sink);
  ASSERT_TRUE(session.ok() && second.ok());
  (*second)->Request(RowsOf(0, 400, 10));
  sim_.RunAll();
  Pass(kSecond);
  EXPECT_GT(loader->Jobs().at(1).memory_seconds, 0);
  EXPECT_EQ(loader->Jobs().at(0).memory_seconds, 0);
  EXPECT_GT(loader->Jobs().at(0).unrequested_seconds, 0);
}

TEST_F(JobTimesTest, ADestroyedJobIsDropped) {
  auto loader = MakeLoader(1);
  {
    MemoryJob job = MakeMemoryJob(10, 20, 16);
    HoldingSink sink;
    auto session = loader->OpenSession(job.job, {.largest_step_rows = 10}, &sink);
    ASSERT_TRUE(session.ok());
    EXPECT_EQ(loader->Jobs().size(), 1u);
  }
  EXPECT_TRUE(loader->Jobs().empty());
}

TEST(StageTimes, TimeOfAnInnerStageDoesNotCountForTheOuterStage) {
  ManualClock clock;
  StageTimes times;
  {
    const StageTimes::Scope off(&times, StageTimes::kDecode);  // measures nothing
    clock.Advance(100);
  }
  times.Start(&clock, StageTimes::kFixedStages + 1);
  clock.Advance(1);
  {
    const StageTimes::Scope op(&times, StageTimes::kFixedStages);
    clock.Advance(10);
    {
      const StageTimes::Scope decode(&times, StageTimes::kDecode);
      clock.Advance(20);
      const StageTimes::Scope resize(&times, StageTimes::kResize);
      clock.Advance(3);
    }
    clock.Advance(5);
  }
  times.Stop();
  EXPECT_FALSE(times.on());
  const std::vector<Nanos> own = {1, 0, 20, 3, 15};
  EXPECT_EQ(times.own(), own);
}

TEST(StageTimes, SpansNestAndStripsShareOneSpan) {
  ManualClock clock;
  StageTimes times;
  times.Start(&clock, StageTimes::kFixedStages + 2, /*spans=*/true);
  {
    const StageTimes::Scope parse(&times, StageTimes::kParse);
    clock.Advance(10);
  }
  {
    const StageTimes::Scope op(&times, StageTimes::kFixedStages);
    clock.Advance(1);
    const StageTimes::Scope decode(&times, StageTimes::kDecode);
    for (int strip = 0; strip < 1000; ++strip) {
      clock.Advance(5);
      const StageTimes::Scope resize(&times, StageTimes::kResize);
      clock.Advance(2);
    }
  }
  {
    const StageTimes::Scope op(&times, StageTimes::kFixedStages + 1);
    clock.Advance(4);
  }
  times.Stop();
  const auto& spans = times.spans();
  ASSERT_EQ(spans.size(), 5u);
  const size_t stages[] = {StageTimes::kParse, StageTimes::kFixedStages, StageTimes::kDecode, StageTimes::kResize,
                           StageTimes::kFixedStages + 1};
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].stage, stages[i]);
    if (spans[i].parent == StageTimes::kNoParent) continue;
    EXPECT_GE(spans[i].begin, spans[spans[i].parent].begin);
    EXPECT_LE(spans[i].end, spans[spans[i].parent].end);
  }
  EXPECT_EQ(spans[3].begin, 16);
  EXPECT_EQ(spans[3].end, 7011);
  EXPECT_EQ(spans[3].inside, 2000);
  EXPECT_EQ(spans[2].parent, 1u);
  EXPECT_EQ(spans[2].inside, 7000);
  // Two alternating stages have separate spans.
  times.Start(&clock, 0, /*spans=*/true);
  for (int i = 0; i < 200; ++i) {
    const StageTimes::Scope scope(&times, i % 2 == 0 ? StageTimes::kDecode : StageTimes::kResize);
    clock.Advance(1);
  }
  times.Stop();
  ASSERT_EQ(times.spans().size(), StageTimes::kMostSpans);
  for (size_t i = 1; i < times.spans().size(); ++i) EXPECT_GE(times.spans()[i].begin, times.spans()[i - 1].end);
  times.Start(&clock, 0);
  { const StageTimes::Scope scope(&times, StageTimes::kDecode); }
  times.Stop();
  EXPECT_TRUE(times.spans().empty());
}

TEST(StageSampler, MeasuresEveryLongRowAndFewShortRows) {
  StageSampler sampler;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(sampler.Next());
    sampler.AddTime(StageSampler::kLong);
  }
  int measured = 0;
  for (int i = 0; i < 3200; ++i) {
    if (!sampler.Next()) continue;
    ++measured;
    sampler.AddTime(1000);
  }
  EXPECT_NEAR(measured, 100, 2);
}

TEST(JobTimes, TheStagesOfAnImagePipelineAreNamedAndAddUpToItsTime) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeImageDataset({.shards = 1, .records_per_shard = 40}, folder.path());
  const auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto job = LoadJob::Create(set.job, *reader);
  ASSERT_TRUE(job.ok()) << job.status();
  LoaderOptions options;
  options.threads = 1;
  auto loader = *Loader::Create(options);
  HoldingSink sink;
  auto session = loader->OpenSession(*job, {.largest_step_rows = 40}, &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 40, 40));
  sink.WaitFor(40);
  const JobTimes times = loader->Jobs().at(0);
  ASSERT_GT(times.timed_rows, 0u);
  double sum = 0;
  std::vector<std::string> names;
  for (const JobTimes::Stage& stage : times.stages) {
    names.push_back(stage.name);
    EXPECT_GE(stage.seconds, 0) << stage.name;
    if (stage.name == "decode" || stage.name == "resize") {
      EXPECT_GT(stage.seconds, 0);
    }
    sum += stage.seconds;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"other", "parse", "decode", "resize", "decode_image",
                                             "random_resized_crop", "random_horizontal_flip"}));
  EXPECT_LE(sum, times.making_seconds);
  EXPECT_TRUE(times.datasets.empty()) << "the job has one data set";
}

TEST(JobTimes, TheRowsOfEachDataSetOfABlendHaveTheirTime) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeImageDataset({.shards = 2, .records_per_shard = 20}, folder.path());
  set.job.clear_dataset();
  for (size_t i = 0; i < 2; ++i) {
    v1::Dataset* const dataset = set.job.add_dataset();
    dataset->set_name(i == 0 ? "web" : "code");
    dataset->set_weight(i == 0 ? 3 : 1);
    dataset->add_files(set.files[i]);
  }
  set.job.mutable_blend()->set_epoch_rows(64);
  const auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto job = LoadJob::Create(set.job, *reader);
  ASSERT_TRUE(job.ok()) << job.status();
  LoaderOptions options;
  options.threads = 1;
  auto loader = *Loader::Create(options);
  HoldingSink sink;
  auto session = loader->OpenSession(*job, {.largest_step_rows = 64}, &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 64, 64));
  sink.WaitFor(64);
  const JobTimes times = loader->Jobs().at(0);
  ASSERT_EQ(times.datasets.size(), 2u);
  EXPECT_EQ(times.datasets[0].rows + times.datasets[1].rows, 64u);
  EXPECT_NEAR(static_cast<double>(times.datasets[0].rows), 48, 1);
  EXPECT_GT(times.datasets[0].seconds, 0);
  EXPECT_GT(times.datasets[1].seconds, 0);
  EXPECT_LE(times.datasets[0].seconds + times.datasets[1].seconds, times.making_seconds);
}

}  // namespace
}  // namespace penstock::loader
