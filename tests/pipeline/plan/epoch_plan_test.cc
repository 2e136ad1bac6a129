#include "pipeline/plan/epoch_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

void ExpectBijection(const EpochPlan& plan, const std::string& what) {
  const uint64_t n = plan.num_records();
  for (uint32_t repeat = 0; repeat < plan.options().repeats; ++repeat) {
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t position = repeat * n + i;
      const uint64_t record = plan.RecordAt(position);
      ASSERT_LT(record, n) << what;
      ASSERT_FALSE(seen[record]) << what << ": record " << record << " twice, at " << position;
      seen[record] = true;
      ASSERT_EQ(plan.PositionOf(record, static_cast<uint16_t>(repeat)), position) << what;
    }
  }
}

TEST(EpochPlan, IsABijectionForEveryN) {
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kChunked, Shuffle::kFull}) {
    for (const uint64_t n : {1, 2, 3, 5, 7, 61, 63, 64, 65, 127, 128, 129, 1021, 65535, 65536, 65537, 104729, 262145}) {
      ExpectBijection(MakePlan({n}, {.seed = 5, .shuffle = shuffle}, n % 3),
                      absl::StrCat("N ", n, ", shuffle ", static_cast<int>(shuffle)));
    }
  }
}

// Small chunks and windows cover every case of strata, left-over chunks and the short chunk.
TEST(EpochPlan, IsABijectionForEveryCutIntoChunksAndStrata) {
  for (const uint32_t chunk : {1, 2, 3, 5}) {
    for (const uint32_t window : {1, 2, 3, 4, 7, 8}) {
      for (uint64_t n = 1; n <= 90; ++n) {
        for (uint64_t epoch = 0; epoch < 3; ++epoch) {
          ExpectBijection(MakePlan({n}, {.repeats = 2, .chunk_records = chunk, .window_chunks = window}, epoch),
                          absl::StrCat("N ", n, ", chunk ", chunk, ", window ", window, ", epoch ", epoch));
        }
      }
    }
  }
}

// ShuffledUpTo() cuts each pass into windows, and each chunk is whole within one window.
TEST(EpochPlan, EachChunkLiesInOneWindow) {
  for (const uint32_t chunk : {1, 3, 5}) {
    for (const uint32_t window : {1, 2, 4, 7}) {
      for (uint64_t n = 1; n <= 90; ++n) {
        const EpochPlan plan = MakePlan({n}, {.repeats = 2, .chunk_records = chunk, .window_chunks = window}, n);
        const std::string what = absl::StrCat("N ", n, ", chunk ", chunk, ", window ", window);
        for (uint64_t begin = 0, end; begin < plan.num_positions(); begin = end) {
          end = plan.ShuffledUpTo(begin);
          ASSERT_GT(end, begin) << what;
          ASSERT_EQ(plan.RepeatAt(begin), plan.RepeatAt(end - 1)) << what;
          std::vector<bool> inside(n);
          for (uint64_t position = begin; position < end; ++position) {
            ASSERT_EQ(plan.ShuffledUpTo(position), end) << what << ", position " << position;
            inside[plan.RecordAt(position)] = true;
          }
          uint64_t runs = 0;  // runs of consecutive records, with the end joined to the start
          for (uint64_t record = 0; record < n; ++record) runs += inside[record] && !inside[(record + 1) % n] ? 1 : 0;
          ASSERT_LE(runs, window + window / 2) << what;
        }
      }
    }
  }
}

TEST(EpochPlan, WithoutWindowsRecordsAreShuffledInTheWholePassOrNotAtAll) {
  const EpochPlan none = MakePlan({10}, {.shuffle = Shuffle::kNone, .repeats = 2}, 0);
  EXPECT_EQ(none.ShuffledUpTo(13), 14u);
  const EpochPlan full = MakePlan({10}, {.shuffle = Shuffle::kFull, .repeats = 2}, 0);
  EXPECT_EQ(full.ShuffledUpTo(0), 10u);
  EXPECT_EQ(full.ShuffledUpTo(10), 20u);
  EXPECT_EQ(full.ShuffledUpTo(19), 20u);
}

TEST(EpochPlan, RoundTripsOnHugeCounts) {
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kChunked, Shuffle::kFull}) {
    for (const uint64_t n : {(uint64_t{1} << 31) + 11, uint64_t{1'000'000'000'000}, (uint64_t{1} << 60) + 7}) {
      const EpochPlan plan = MakePlan({n}, {.seed = 3, .shuffle = shuffle, .repeats = 3}, 8);
      for (uint64_t k = 0; k < 3000; ++k) {
        const uint64_t position = HashWords({k, n}) % plan.num_positions();
        const uint64_t record = plan.RecordAt(position);
        ASSERT_LT(record, n);
        ASSERT_EQ(plan.PositionOf(record, plan.RepeatAt(position)), position);
        const uint64_t other = HashWords({k, n, 1}) % n;
        ASSERT_EQ(plan.RecordAt(plan.PositionOf(other, 2)), other);
      }
      for (const uint64_t position : {uint64_t{0}, n - 1, n, 3 * n - 1}) {
        EXPECT_EQ(plan.PositionOf(plan.RecordAt(position), plan.RepeatAt(position)), position);
      }
    }
  }
}

// 10^12 records: neither the construction nor a query uses memory that grows with N.
TEST(EpochPlan, TakesConstantMemoryAtATrillionRecords) {
  static_assert(sizeof(EpochPlan) <= 256);
  const std::vector<uint64_t> counts(1000, 1'000'000'000);
  const EpochPlan plan = MakePlan(counts, {.seed = 1}, 0);
  EXPECT_EQ(plan.num_positions(), 1'000'000'000'000u);
  std::vector<int> of_shard(1000);
  for (uint64_t k = 0; k < 20'000; ++k) {
    const Location location = plan.LocationAt(HashWords({k}) % plan.num_positions());
    ASSERT_LT(location.shard, 1000u);
    ASSERT_LT(location.record, 1'000'000'000u);
    ++of_shard[location.shard];
  }
  for (const int count : of_shard) EXPECT_LT(count, 60);  // 20 expected
}

TEST(EpochPlan, LocatesRecordsAmongEmptyShards) {
  const std::vector<uint64_t> counts = {0, 3, 0, 0, 2, 1, 0};
  const EpochPlan plan = MakePlan(counts, {.shuffle = Shuffle::kNone}, 0);
  const std::vector<Location> expected = {{1, 0}, {1, 1}, {1, 2}, {4, 0}, {4, 1}, {5, 0}};
  for (uint64_t p = 0; p < 6; ++p) {
    EXPECT_EQ(plan.LocationAt(p), expected[p]);
    EXPECT_EQ(plan.offsets().RecordNumber(expected[p]), p);
  }
  EXPECT_EQ(MakePlan({}, {}, 0).num_positions(), 0u);
  EXPECT_EQ(MakePlan({0, 0}, {}, 0).num_positions(), 0u);
}

TEST(EpochPlan, WithoutShuffleEachRepeatHasTheSnapshotsOrder) {
  const EpochPlan plan = MakePlan({4, 3}, {.seed = 9, .shuffle = Shuffle::kNone, .repeats = 2}, 6);
  for (uint64_t p = 0; p < 14; ++p) {
    EXPECT_EQ(plan.RecordAt(p), p % 7);
    EXPECT_EQ(plan.RepeatAt(p), p / 7);
  }
}

TEST(EpochPlan, SeedEpochAndRepeatEachGiveAnotherOrder) {
  for (const Shuffle shuffle : {Shuffle::kChunked, Shuffle::kFull}) {
    const uint64_t n = 10'000;
    const auto same = [&](const EpochPlan& a, uint64_t from_a, const EpochPlan& b, uint64_t from_b) {
      int count = 0;
      for (uint64_t i = 0; i < n; ++i) count += a.RecordAt(from_a + i) == b.RecordAt(from_b + i);
      return count;
    };
    const PlanOptions options = {.seed = 1, .shuffle = shuffle, .repeats = 2};
    const EpochPlan base = MakePlan({n}, options, 2);
    EXPECT_EQ(same(base, 0, MakePlan({n}, options, 2), 0), static_cast<int>(n));
    PlanOptions other_seed = options;
    other_seed.seed = 2;
    // Seed and epoch are hashed, not added: (seed 1, epoch 2) and (seed 2, epoch 1) are unrelated too.
    EXPECT_LT(same(base, 0, MakePlan({n}, other_seed, 2), 0), 10);
    EXPECT_LT(same(base, 0, MakePlan({n}, other_seed, 1), 0), 10);
    EXPECT_LT(same(base, 0, MakePlan({n}, options, 3), 0), 10);
    EXPECT_LT(same(base, 0, base, n), 10);
  }
}

TEST(EpochPlan, DoesNotDependOnHowRecordsAreSharded) {
  const EpochPlan one = MakePlan({5000}, {.seed = 4}, 1);
  const EpochPlan many = MakePlan({1000, 0, 3999, 1}, {.seed = 4}, 1);
  for (uint64_t p = 0; p < 5000; ++p) ASSERT_EQ(one.RecordAt(p), many.RecordAt(p));
}

TEST(EpochPlan, RejectsOptionsOutsideTheirLimits) {
  auto offsets = ShardOffsets::Create({uint64_t{1} << 60}).value();
  const auto message = [&](const PlanOptions& options) {
    const auto plan = EpochPlan::Create(offsets, options, 0);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(plan.status().message());
  };
  EXPECT_NE(message({.repeats = 0}).find("order.repeats is 0"), std::string::npos);
  EXPECT_NE(message({.repeats = 65536}).find("order.repeats is 65536"), std::string::npos);
  EXPECT_NE(message({.chunk_records = 0}).find("chunk_records"), std::string::npos);
  EXPECT_NE(message({.window_chunks = 0}).find("window_chunks"), std::string::npos);
  EXPECT_NE(message({.shuffle = static_cast<Shuffle>(3)}).find("shuffle"), std::string::npos);
  EXPECT_NE(message({.repeats = 5}).find("2^62"), std::string::npos);
  const auto too_many = ShardOffsets::Create({uint64_t{1} << 61, uint64_t{1} << 61, 1});
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(too_many.status().message().find("shard 2"), std::string::npos);
  EXPECT_FALSE(ShardOffsets::Create({UINT64_MAX, UINT64_MAX}).ok());
}

}  // namespace
}  // namespace penstock::plan
