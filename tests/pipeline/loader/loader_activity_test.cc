// Time of makers by job, and of idle makers by the state of each job, on the test's clock, without a loader.
#include "pipeline/loader/loader_activity.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/busy_times.h"
#include "pipeline/loader/loader_stats.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

using Idle = JobActivity::Idle;

class LoaderActivityTest : public ::testing::Test {
 protected:
  LoaderActivityTest() { clock_.Advance(kSecond); }
  // Adds the idle time up to now. `second` is the reason of the second job.
  void AddIdle(Idle first, Idle second = Idle::kUnasked, bool always = true) {
    activity_.AddIdle(always, [&](const JobActivity& job) { return &job == first_.get() ? first : second; });
  }

  ManualClock clock_;
  MemoryJob first_job_ = MakeMemoryJob(10, 20, 8), second_job_ = MakeMemoryJob(10, 20, 8);
  LoaderActivity activity_{2, &clock_};
  std::shared_ptr<JobActivity> first_ = activity_.Of(first_job_.job), second_ = activity_.Of(second_job_.job);
};

TEST_F(LoaderActivityTest, IdleTimeCountsForEachJobByItsOwnReason) {
  activity_.Idles();
  activity_.Idles();
  clock_.Advance(3 * kSecond);
  AddIdle(Idle::kStorage, Idle::kMemory);
  activity_.Resumes();
  clock_.Advance(kSecond);
  AddIdle(Idle::kUnasked, Idle::kStarting);
  const std::vector<JobTimes> times = activity_.Times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[0].storage_seconds, 6);
  EXPECT_DOUBLE_EQ(times[0].unrequested_seconds, 1);
  EXPECT_DOUBLE_EQ(times[0].memory_seconds, 0);
  EXPECT_DOUBLE_EQ(times[1].memory_seconds, 6);
  EXPECT_DOUBLE_EQ(times[1].unrequested_seconds, 0);
}

TEST_F(LoaderActivityTest, LooksInQuickSuccessionAreSkippedAndLoseNoTime) {
  activity_.Idles();
  clock_.Advance(kSecond);
  AddIdle(Idle::kStorage, Idle::kUnasked, false);
  clock_.Advance(kMillisecond / 2);
  AddIdle(Idle::kMemory, Idle::kUnasked, false);
  EXPECT_DOUBLE_EQ(activity_.Times()[0].memory_seconds, 0);
  clock_.Advance(kMillisecond / 2);
  AddIdle(Idle::kStorage, Idle::kUnasked, false);
  EXPECT_DOUBLE_EQ(activity_.Times()[0].storage_seconds, 1.001);
}

TEST_F(LoaderActivityTest, ARowInProgressCountsForItsJob) {
  activity_.TakesRowOf(0, first_);
  activity_.TakesRowOf(1, second_);
  activity_.RowBegins(0, clock_.Now());
  clock_.Advance(2 * kSecond);
  activity_.reading_since(0)->store(clock_.Now());
  clock_.Advance(3 * kSecond);
  std::vector<JobTimes> times = activity_.Times();
  EXPECT_DOUBLE_EQ(times[0].making_seconds, 5);
  EXPECT_DOUBLE_EQ(times[0].reading_seconds, 3);
  EXPECT_DOUBLE_EQ(times[1].making_seconds, 0);
  activity_.reading_since(0)->store(-1);
  activity_.RowEnds(0);
  first_->AddMaking(5 * kSecond, 3 * kSecond);
  clock_.Advance(kSecond);
  times = activity_.Times();
  EXPECT_DOUBLE_EQ(times[0].making_seconds, 5);
  EXPECT_DOUBLE_EQ(times[0].reading_seconds, 3);
}

TEST_F(LoaderActivityTest, AJobHasOneActivityUntilItIsDestroyed) {
  EXPECT_EQ(activity_.Of(first_job_.job), first_);
  EXPECT_NE(first_, second_);
  EXPECT_EQ(activity_.all().size(), 2u);
  first_job_.job.reset();
  EXPECT_EQ(activity_.all().size(), 1u);
  EXPECT_EQ(activity_.all()[0], second_);
}

TEST(BusyTimes, AMakerIsBusyAndTheLoaderOwesRowsWhileTheMakerHasARow) {
  ManualClock clock;
  clock.Advance(kSecond);
  BusyTimes times(2, &clock);
  times.HasRow(0);
  clock.Advance(4 * kSecond);
  times.HasRow(1);
  times.HasRow(1);  // no change
  clock.Advance(2 * kSecond);
  times.HasNone(0);
  times.HasNone(1);
  clock.Advance(kSecond);
  LoaderStats stats;
  times.AddTo(&stats);
  EXPECT_DOUBLE_EQ(stats.busy_seconds, 4);  // a half for 4 s, and all makers for 2 s
  EXPECT_DOUBLE_EQ(stats.owing_seconds, 6);
}

}  // namespace
}  // namespace penstock::loader
