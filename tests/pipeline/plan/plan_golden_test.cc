// tests/golden/plan.txt pins the plan of kPlanVersion, and plan-2.txt that of kBlendPlanVersion. A release with another
// answer would give running jobs another order, so the files never change within a version. For a new version or new
// cases, write the files again from the repository's root, and check the difference:
//   PENSTOCK_WRITE_GOLDEN=1 build/release/tests/pipeline/plan/plan_golden_test
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/hash.h"
#include "pipeline/plan/data_order.h"
#include "pipeline/plan/state.h"
#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

constexpr char kPath[] = "tests/golden/plan.txt", kBlendPath[] = "tests/golden/plan-2.txt",
               kBalancePath[] = "tests/golden/plan-2-balanced.txt", kSortedPath[] = "tests/golden/plan-2-sorted.txt";

struct Case {
  std::vector<uint64_t> counts;
  PlanOptions options;
  uint64_t epoch;
};

std::vector<Case> Cases() {
  const std::vector<std::vector<uint64_t>> counts = {
      {1},
      {2, 1},
      {0, 60, 3, 0, 1},
      {65},
      {997},
      {300, 300, 400},
      {40'000, 25'537},
      {1'281'167},
      {(uint64_t{1} << 31) + 11},
      std::vector<uint64_t>(8, 125'000'000'000),
  };
  std::vector<Case> cases;
  for (const auto& count : counts) {
    cases.push_back({count, {.seed = 17}, 0});
    cases.push_back({count, {.seed = 17}, 1});
    cases.push_back({count, {.seed = 17, .shuffle = Shuffle::kFull}, 0});
    cases.push_back({count, {.seed = UINT64_MAX, .shuffle = Shuffle::kFull, .repeats = 2}, 5});
    cases.push_back({count, {.seed = 3, .shuffle = Shuffle::kNone, .repeats = 2}, 2});
    cases.push_back({count, {.repeats = 3, .chunk_records = 7, .window_chunks = 10}, 12345});
    cases.push_back({count, {.seed = 1, .chunk_records = 1, .window_chunks = 16}, 4});
  }
  return cases;
}

std::string Render() {
  std::string text = absl::StrCat(
      "# Written by plan_golden_test; see there. For each plan: position -> shard:record.\n"
      "plan version ",
      kPlanVersion, "\n");
  for (const Case& c : Cases()) {
    const EpochPlan plan = MakePlan(c.counts, c.options, c.epoch);
    const char* const shuffles[] = {"NONE", "CHUNKED", "FULL"};
    absl::StrAppend(&text, "\ncounts ", absl::StrJoin(c.counts, ","), " seed ", c.options.seed, " ",
                    shuffles[static_cast<int>(c.options.shuffle)], " repeats ", c.options.repeats, " chunk_records ",
                    c.options.chunk_records, " window_chunks ", c.options.window_chunks, " epoch ", c.epoch, "\n");
    absl::StrAppend(&text,
                    "order fingerprint with snapshot 1: ", absl::Hex(OrderFingerprint(1, c.options), absl::kZeroPad16),
                    "\n");
    // The first positions, some in between, the borders of repeats, and the last.
    const uint64_t n = plan.num_positions();
    std::vector<uint64_t> positions;
    for (uint64_t p = 0; p < 8; ++p) positions.push_back(p);
    for (uint64_t k = 0; k < 8; ++k) positions.push_back(HashWords({n, k}) % n);
    for (uint64_t p = 0; p < 3; ++p) positions.push_back(n - 1 - std::min(p, n - 1));
    positions.push_back(plan.num_records() - 1);
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    for (const uint64_t position : positions) {
      if (position >= n) continue;
      const Location at = plan.LocationAt(position);
      absl::StrAppend(&text, position, " -> ", at.shard, ":", at.record, "\n");
    }
  }
  return text;
}

struct BlendCase {
  std::vector<uint64_t> counts;
  PlanOptions options;
  BlendOptions blend;
};

std::vector<BlendCase> BlendCases() {
  std::vector<BlendCase> cases;
  const std::vector<BlendCase> data = {
      {{7}, {}, {.sets = {{"alone", 1}}}},
      {{7, 3}, {}, {.sets = {{"alone", 2}}, .epoch_rows = 4}},
      {{30, 0, 17, 200, 5}, {}, {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 1}}}},
      {{30, 0, 17, 200, 5}, {}, {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 1}}, .end = EpochEnd::kShortest}},
      {{1'281'167, 40'000, 25'537}, {}, {.sets = {{"web", 1, 0.7}, {"code", 2, 0.3}}, .epoch_rows = 1'000'000}},
      {{uint64_t{1} << 40, 11}, {}, {.sets = {{"large", 1, 1e5}, {"tiny", 1, 0.5}}}},
      {{30, 0, 17, 200, 5}, {}, {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 1}}, .batch = 80}},
      {{30, 0, 17, 200, 5}, {}, {.sets = {{"a", 3, 0, 2.5}, {"b", 1, 0, 1}, {"c", 1, 0, 10}}}},
      {{30, 0, 17, 200, 5},
       {},
       {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 1}}, .changes = {{640, 256, {1, 1, 9}}, {2000, 0, {1, 2, 3}}}}},
      {{30, 0, 17, 200, 5},
       {},
       {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 0}},
        .changes = {{1500, 0, {1, 0, 3}}},
        .batch = 8,
        .single = true}},
  };
  for (BlendCase c : data) {
    for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kChunked, Shuffle::kFull}) {
      c.options = {.seed = 17, .shuffle = shuffle, .chunk_records = 8, .window_chunks = 16};
      cases.push_back(c);
    }
  }
  return cases;
}

std::string RenderBlends() {
  std::string text = absl::StrCat(
      "# Written by plan_golden_test; see there. For each plan: epoch, position -> data set, shard:record, pass.\n"
      "plan version ",
      kBlendPlanVersion, "\n");
  for (const BlendCase& c : BlendCases()) {
    const auto order = *DataOrder::Create(c.counts, c.options, c.blend);
    const char* const shuffles[] = {"NONE", "CHUNKED", "FULL"};
    absl::StrAppend(&text, "\ncounts ", absl::StrJoin(c.counts, ","), " ",
                    shuffles[static_cast<int>(c.options.shuffle)], " rows ", order->num_positions(), " shares");
    for (uint32_t set = 0; set < order->sets(); ++set) {
      absl::StrAppend(&text, " ", order->set_name(set), "=", order->share(set));
    }
    absl::StrAppend(&text, " of ", order->rows_per(),
                    "\norder fingerprint with snapshot 1: ", absl::Hex(order->Fingerprint(1), absl::kZeroPad16), "\n");
    const uint64_t n = order->num_positions();
    for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{12'345}}) {
      std::vector<uint64_t> positions = {0, 1, 2, 3, 62, 63, 64, 65, n - 1};
      for (uint64_t k = 0; k < 6; ++k) positions.push_back(HashWords({n, k}) % n);
      std::sort(positions.begin(), positions.end());
      positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
      for (const uint64_t position : positions) {
        if (position >= n) continue;
        const PlannedRow row = order->Epoch(epoch).RowAt(position);
        const SetLocation at = order->Locate(row.record);
        absl::StrAppend(&text, epoch, ", ", position, " -> ", at.set, ", ", at.shard, ":", at.record, ", ", row.epoch,
                        ", seed ", absl::Hex(row.seed), "\n");
      }
    }
  }
  return text;
}

// Appends the rows at some positions of three epochs of an order of groups.
void AppendGroupedRows(const DataOrder& order, const std::vector<uint64_t>& positions, std::string* text) {
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{12'345}}) {
    for (const uint64_t position : positions) {
      const PlannedRow row = order.Epoch(epoch).RowAt(position);
      const SetLocation at = order.Locate(row.record);
      absl::StrAppend(text, epoch, ", ", position, " -> ", order.groups()->PlaceOf(row.record).group, ", ", at.shard,
                      ":", at.record, ", ", row.epoch, ", seed ", absl::Hex(row.seed), "\n");
    }
  }
}

// Balanced data sets, by group instead of data set.
std::string RenderBalances() {
  std::string text = absl::StrCat(
      "# Written by plan_golden_test; see there. For each plan: epoch, position -> group, shard:record, pass.\n"
      "plan version ",
      kBlendPlanVersion, "\n");
  const std::vector<uint64_t> counts = {40, 0, 25, 12};
  const RecordGroups groups = {{"common", "late", "one", "single"},
                               {{{0, 2}, {39, 1}}, {}, {{0, 3}, {24, 1}}, {{0, 1}, {5, 7}}}};
  for (const double power : {0.0, 0.5, 0.3}) {
    for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kChunked, Shuffle::kFull}) {
      const auto order = *DataOrder::CreateGrouped(
          counts, {.seed = 17, .shuffle = shuffle, .chunk_records = 8, .window_chunks = 16}, {groups, power});
      absl::StrAppend(&text, "\npower ", power, " shuffle ", static_cast<int>(shuffle), " shares");
      for (uint32_t group = 0; group < order->parts(); ++group) absl::StrAppend(&text, " ", order->share(group));
      absl::StrAppend(&text, " of ", order->rows_per(),
                      "\norder fingerprint with snapshot 1: ", absl::Hex(order->Fingerprint(1), absl::kZeroPad16),
                      "\n");
      AppendGroupedRows(*order, {0, 1, 2, 3, 20, 40, 63, 64, 76}, &text);
    }
  }
  return text;
}

// Groups that are sorted, and groups whose records have weights.
std::string RenderGroupings() {
  std::string text = absl::StrCat(
      "# Written by plan_golden_test; see there. For each plan: epoch, position -> group, shard:record, pass.\n"
      "plan version ",
      kBlendPlanVersion, "\n");
  const std::vector<uint64_t> counts = {40, 0, 25, 12};
  const RecordGroups groups = {{"00000 1", "00001 2 to 7", "00002 9"},
                               {{{0, 1}, {31, 9}}, {}, {{1, 2}, {24, 1}}, {{2}, {12}}}};
  const std::vector<std::pair<std::string, Grouping>> groupings = {
      {"sort", {.groups = groups, .sorted = SortOptions()}},
      {"sort, 1 pass", {.groups = groups, .sorted = SortOptions{.passes = 1}}},
      {"bucket, batches of 8", {.groups = groups, .sorted = SortOptions{.batch = 8}}},
      {"weights 0.5, 2, 7", {.groups = groups, .power = 1, .weights = {0.5, 2, 7}}}};
  for (const auto& [name, grouping] : groupings) {
    for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kChunked, Shuffle::kFull}) {
      const auto order = *DataOrder::CreateGrouped(
          counts, {.seed = 17, .shuffle = shuffle, .chunk_records = 8, .window_chunks = 16}, grouping);
      absl::StrAppend(&text, "\n", name, ", shuffle ", static_cast<int>(shuffle),
                      "\norder fingerprint with snapshot 1: ", absl::Hex(order->Fingerprint(1), absl::kZeroPad16),
                      "\n");
      AppendGroupedRows(*order, {0, 1, 7, 8, 20, 40, 63, 72, 76}, &text);
    }
  }
  return text;
}

void ExpectGolden(const char* path, const std::string& text) {
  if (std::getenv("PENSTOCK_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  }
  const auto golden = ReadWholeFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status() << "; run the test from the repository's root";
  EXPECT_EQ(text, *golden);
}

TEST(PlanGolden, TheSameInputsGiveTheSamePlanInEveryRelease) { ExpectGolden(kPath, Render()); }

TEST(PlanGolden, TheSameBlendGivesTheSamePlanInEveryRelease) { ExpectGolden(kBlendPath, RenderBlends()); }

TEST(PlanGolden, TheSameValuesGiveTheSamePlanInEveryRelease) { ExpectGolden(kSortedPath, RenderGroupings()); }

TEST(PlanGolden, TheSameGroupsGiveTheSamePlanInEveryRelease) { ExpectGolden(kBalancePath, RenderBalances()); }

}  // namespace
}  // namespace penstock::plan
