// Steps that count records, against lists of numbers.
#include "pipeline/plan/job_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::plan {
namespace {

std::vector<uint64_t> Listed(const RecordRun& run) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < run.count; ++i) numbers.push_back(run.first + i * run.stride);
  return numbers;
}

v1::Select RandomStep(std::mt19937* random) {
  const auto below = [random](uint64_t n) { return uint64_t{(*random)() % n}; };
  v1::Select step;
  switch (below(4)) {
    case 0:
      step.set_take(1 + below(60));
      break;
    case 1:
      step.set_skip(below(20));
      break;
    case 2:
      step.mutable_range()->set_from(below(20));
      if (below(2) == 0) step.mutable_range()->set_to(step.range().from() + 1 + below(40));
      break;
    default:
      step.mutable_every()->set_n(1 + below(5));
      step.mutable_every()->set_offset(below(step.every().n()));
  }
  return step;
}

// What the step means, record by record.
bool Keeps(const v1::Select& step, uint64_t position) {
  if (step.has_take()) return position < step.take();
  if (step.has_skip()) return position >= step.skip();
  if (step.has_range()) {
    return position >= step.range().from() && (!step.range().has_to() || position < step.range().to());
  }
  return position % step.every().n() == step.every().offset();
}

TEST(JobSlices, KeepsTheRecordsOfAListInEachShard) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<uint64_t> counts(1 + random() % 6);
    uint64_t records = 0;
    for (uint64_t& count : counts) records += count = random() % 25;
    v1::Dataset dataset;
    std::vector<uint64_t> expected;
    for (uint64_t i = 0; i < records; ++i) expected.push_back(i);
    for (size_t n = random() % 5; n > 0; --n) {
      *dataset.add_select() = RandomStep(&random);
      std::vector<uint64_t> kept;
      for (size_t i = 0; i < expected.size(); ++i) {
        if (Keeps(*dataset.select().rbegin(), i)) kept.push_back(expected[i]);
      }
      expected = kept;
    }
    ASSERT_EQ(Listed(KeptRuns(dataset, std::vector<uint64_t>{records})[0]), expected) << dataset.ShortDebugString();
    std::vector<uint64_t> together;
    uint64_t start = 0;
    const std::vector<RecordRun> runs = KeptRuns(dataset, counts);
    ASSERT_EQ(runs.size(), counts.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      for (const uint64_t number : Listed(runs[i])) {
        ASSERT_LT(number, counts[i]);
        together.push_back(start + number);
      }
      start += counts[i];
    }
    ASSERT_EQ(together, expected) << dataset.ShortDebugString();
  }
}

TEST(JobSlices, AStepThatDropsNoRecordOfAShardIsAllOfIt) {
  v1::Dataset dataset;
  dataset.add_select()->set_take(1000);
  const std::vector<RecordRun> all = {{.count = 10}, {.count = 20}};
  EXPECT_EQ(KeptRuns(dataset, std::vector<uint64_t>{10, 20}), all);
  EXPECT_EQ(KeptRuns(v1::Dataset(), std::vector<uint64_t>{10, 20}), all);
}

TEST(JobSlices, TakesAnyNumbers) {
  constexpr uint64_t kLast = UINT64_MAX, kRecords = uint64_t{1} << 62;
  std::vector<v1::Select> steps(5);
  steps[0].set_take(kLast);
  steps[1].set_skip(kLast);
  steps[2].mutable_range()->set_from(kLast);
  steps[3].mutable_every()->set_n(kLast);
  steps[4].mutable_every()->set_n(0);
  for (const v1::Select& a : steps) {
    for (const v1::Select& b : steps) {
      v1::Dataset dataset;
      *dataset.add_select() = a;
      *dataset.add_select() = b;
      const RecordRun run = KeptRuns(dataset, std::vector<uint64_t>{kRecords})[0];
      EXPECT_TRUE(run.count == 0 || run.first + (run.count - 1) * run.stride < kRecords) << dataset.ShortDebugString();
    }
  }
}

TEST(JobSlices, KnowsTheStepsThatCount) {
  v1::Dataset dataset;
  dataset.add_select()->set_filter("n > 1");
  dataset.add_select()->mutable_split();
  dataset.add_select()->mutable_sample();
  EXPECT_FALSE(CountsRecords(dataset));
  dataset.add_select()->mutable_every()->set_n(2);
  EXPECT_TRUE(CountsRecords(dataset));
  EXPECT_EQ(KeptRuns(dataset, std::vector<uint64_t>{10})[0].count, 5u) << "the others count nothing";
}

}  // namespace
}  // namespace penstock::plan
