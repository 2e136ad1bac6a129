#include "server/coordinator/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/philox.h"

namespace penstock::coordinator {
namespace {

// The weight whose owner differs between two views of one key space.
double MovedWeight(const plan::View& before, const plan::View& after, const KeyWeights& weights) {
  PS_CHECK(before.key_space == after.key_space && after.key_space == weights.key_space());
  if (before.ranges.empty() || after.ranges.empty()) {
    return before.ranges.empty() && after.ranges.empty() ? 0 : weights.total();
  }
  double moved = 0;
  for (size_t i = 0, j = 0; i < before.ranges.size() && j < after.ranges.size();) {
    const plan::ViewRange &a = before.ranges[i], &b = after.ranges[j];
    const uint64_t end = std::min(a.end, b.end);
    if (before.workers[a.owner].id != after.workers[b.owner].id) {
      moved += weights.Between(std::max(a.begin, b.begin), end);
    }
    if (a.end == end) ++i;
    if (b.end == end) ++j;
  }
  return moved;
}

std::vector<AssignWorker> Workers(const std::vector<std::string>& ids) {
  std::vector<AssignWorker> workers;
  for (const std::string& id : ids) {
    workers.push_back({.id = id, .address = id + ":1", .capacity = 100});
  }
  return workers;
}

std::map<std::string, double> Loads(const plan::View& view, const KeyWeights& weights) {
  std::map<std::string, double> loads;
  for (const plan::ViewRange& range : view.ranges) {
    loads[view.workers[range.owner].id] += weights.Between(range.begin, range.end);
  }
  return loads;
}

// The largest deviation from the ideal load, as a fraction of it.
double Imbalance(const plan::View& view, const std::vector<AssignWorker>& workers, const KeyWeights& weights) {
  double capacity = 0, worst = 0;
  for (const AssignWorker& worker : workers) capacity += worker.capacity;
  std::map<std::string, double> loads = Loads(view, weights);
  for (const AssignWorker& worker : workers) {
    const double ideal = weights.total() * worker.capacity / capacity;
    worst = std::max(worst, std::abs(loads[worker.id] - ideal) / ideal);
  }
  return worst;
}

// The least weight that must change owners for an exact balance: the sum of all workers' deficits.
double LeastMovement(const plan::View& before, const std::vector<AssignWorker>& workers, const KeyWeights& weights) {
  double capacity = 0, least = 0;
  for (const AssignWorker& worker : workers) capacity += worker.capacity;
  std::map<std::string, double> loads = Loads(before, weights);
  for (const AssignWorker& worker : workers) {
    least += std::max(0.0, weights.total() * worker.capacity / capacity - loads[worker.id]);
  }
  return least;
}

plan::View Assign(const std::optional<plan::View>& previous, const std::vector<AssignWorker>& workers,
                  const KeyWeights& weights) {
  auto view = AssignRanges(previous, workers, weights, {.term = 1});
  EXPECT_TRUE(view.ok()) << view.status();
  return *view;
}

TEST(KeyWeights, FollowShardsAndInvert) {
  const KeyWeights weights = KeyWeights::OfShards({10, 0, 5, 100}, {1000, 0, 5000, 0});
  EXPECT_EQ(weights.key_space(), 115u);
  EXPECT_DOUBLE_EQ(weights.total(), 6115);
  EXPECT_DOUBLE_EQ(weights.Before(0), 0);
  EXPECT_DOUBLE_EQ(weights.Before(5), 505);
  EXPECT_DOUBLE_EQ(weights.Before(11), 1010 + 1001);
  EXPECT_DOUBLE_EQ(weights.Before(115), 6115);
  for (uint64_t key = 0; key <= 115; ++key) EXPECT_EQ(weights.KeyAt(weights.Before(key)), key);
  EXPECT_EQ(weights.KeyAt(-1), 0u);
  EXPECT_EQ(weights.KeyAt(1e9), 115u);
  EXPECT_EQ(KeyWeights::OfShards({}, {}).key_space(), 0u);
  EXPECT_DOUBLE_EQ(KeyWeights::Uniform(8).Between(2, 5), 3);
}

TEST(AssignRanges, StartsWithOneEqualRangePerWorkerAndTheNextWorkerAsBackup) {
  const KeyWeights weights = KeyWeights::OfShards({100, 100, 100}, {10'000, 40'000, 10'000});
  const plan::View view = Assign(std::nullopt, Workers({"c", "a", "b"}), weights);
  EXPECT_EQ(view.term, 1u);
  EXPECT_EQ(view.n, 1u);
  ASSERT_EQ(view.ranges.size(), 3u);
  EXPECT_EQ(view.workers[0], (plan::ViewWorker{"a", "a:1"}));
  EXPECT_LT(Imbalance(view, Workers({"a", "b", "c"}), weights), 0.01);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(view.ranges[i].owner, i);
    EXPECT_EQ(view.ranges[i].backup, (i + 1) % 3);
  }
}

TEST(AssignRanges, LoadFollowsCapacityAndUnknownCapacitiesCountAsTheMean) {
  const KeyWeights weights = KeyWeights::Uniform(plan::kRankKeySpace);
  std::vector<AssignWorker> workers = Workers({"a", "b", "c"});
  workers[0].capacity = 300;
  workers[1].capacity = 100;
  workers[2].capacity = 0;
  const auto view = AssignRanges(std::nullopt, workers, weights, {.policy = plan::AssignPolicy::kByRank});
  ASSERT_TRUE(view.ok()) << view.status();
  std::map<std::string, double> loads = Loads(*view, weights);
  EXPECT_NEAR(loads["a"] / weights.total(), 300.0 / 600, 0.001);
  EXPECT_NEAR(loads["b"] / weights.total(), 100.0 / 600, 0.001);
  EXPECT_NEAR(loads["c"] / weights.total(), 200.0 / 600, 0.001);
}

TEST(AssignRanges, NoRangeMovesWithoutAChange) {
  const KeyWeights weights = KeyWeights::Uniform(100'000);
  const plan::View first = Assign(std::nullopt, Workers({"a", "b", "c"}), weights);
  std::vector<AssignWorker> workers = Workers({"b", "c", "a"});
  workers[1].capacity = 108;  // a small change of capacity must move nothing
  const plan::View second = Assign(first, workers, weights);
  EXPECT_EQ(second.ranges, first.ranges);
  EXPECT_EQ(second.n, 2u);
}

TEST(AssignRanges, AThirdWorkerTakesOneRangeBetweenTwo) {
  const KeyWeights weights = KeyWeights::Uniform(90'000);
  const plan::View two = Assign(std::nullopt, Workers({"a", "b"}), weights);
  const plan::View three = Assign(two, Workers({"a", "b", "c"}), weights);
  EXPECT_EQ(three.ranges.size(), 3u);
  EXPECT_LE(MovedWeight(two, three, weights), 30'000 * 1.05);
  EXPECT_LE(Imbalance(three, Workers({"a", "b", "c"}), weights), 0.101);
}

TEST(AssignRanges, AReplacementTakesTheWholeRangeOfItsPredecessor) {
  const KeyWeights weights = KeyWeights::Uniform(90'000);
  const plan::View before = Assign(std::nullopt, Workers({"a", "b", "c", "d"}), weights);
  const plan::View after = Assign(before, Workers({"a", "c", "d", "z"}), weights);
  ASSERT_EQ(after.ranges.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(after.ranges[i].begin, before.ranges[i].begin);
    const std::string& owner = after.workers[after.ranges[i].owner].id;
    EXPECT_EQ(owner, i == 1 ? "z" : before.workers[before.ranges[i].owner].id);
  }
}

TEST(AssignRanges, ALostWorkersRangeGoesToTheOthersWhichKeepTheirRanges) {
  const KeyWeights weights = KeyWeights::Uniform(90'000);
  const plan::View before = Assign(std::nullopt, Workers({"a", "b", "c"}), weights);
  for (const std::vector<std::string>& left : {std::vector<std::string>{"b", "c"}, {"a", "c"}, {"a", "b"}}) {
    const plan::View after = Assign(before, Workers(left), weights);
    EXPECT_EQ(after.ranges.size(), 2u);
    EXPECT_LE(MovedWeight(before, after, weights), 1.5 * 30'000);
    EXPECT_LE(Imbalance(after, Workers(left), weights), 0.101);
  }
}

TEST(AssignRanges, OneWorkerOwnsAndBacksEverythingAndZeroWorkersGiveNoRanges) {
  const KeyWeights weights = KeyWeights::Uniform(1000);
  const plan::View one = Assign(std::nullopt, Workers({"a"}), weights);
  EXPECT_EQ(one.ranges, (std::vector<plan::ViewRange>{{0, 1000, 0, 0}}));
  const plan::View none = Assign(one, {}, weights);
  EXPECT_TRUE(none.ranges.empty());
  EXPECT_EQ(none.n, 2u);
  EXPECT_EQ(Assign(none, Workers({"b"}), weights).ranges.size(), 1u);
  EXPECT_TRUE(Assign(std::nullopt, Workers({"a"}), KeyWeights::Uniform(0)).ranges.empty());
}

// A former owner becomes the backup of the keys that it gave away: it has the index and the cached bytes.
TEST(AssignRanges, TheFormerOwnerBacksTheKeysThatItGaveAway) {
  const KeyWeights weights = KeyWeights::Uniform(100'000);
  const plan::View one = Assign(std::nullopt, Workers({"b"}), weights);
  const plan::View three = Assign(one, Workers({"a", "b", "c"}), weights);
  for (const plan::ViewRange& range : three.ranges) {
    if (three.workers[range.owner].id != "b") {
      EXPECT_EQ(three.workers[range.backup].id, "b");
    }
  }
}

TEST(AssignRanges, FewerRecordsThanWorkersIsStillAPartition) {
  for (uint64_t keys = 1; keys < 12; ++keys) {
    const KeyWeights weights = KeyWeights::Uniform(keys);
    plan::View view = Assign(std::nullopt, Workers({"a", "b", "c", "d", "e", "f", "g"}), weights);
    ASSERT_TRUE(view.Validate().ok()) << view.Validate();
    for (const auto& ids : {std::vector<std::string>{"a", "g"}, {"a", "c", "g", "x", "y"}, {"q"}}) {
      view = Assign(view, Workers(ids), weights);
      ASSERT_TRUE(view.Validate().ok()) << view.Validate();
    }
  }
}

// A data set whose shards weigh from 1 to 1000 MB.
KeyWeights UnevenShards(SampleRandom& random) {
  std::vector<uint64_t> records, bytes;
  for (int i = 0; i < 60; ++i) {
    records.push_back(random.Below(20'000));
    bytes.push_back(records.back() * (100 + random.Below(200'000)));
  }
  return KeyWeights::OfShards(records, bytes);
}

// The laws, over random histories of joining, leaving and changing speed.
TEST(AssignRanges, KeepsItsInvariantsOverRandomHistories) {
  double worst_ratio = 0;
  size_t most_runs = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SampleRandom random(seed, 0, 0);
    const KeyWeights weights = UnevenShards(random);
    const uint32_t largest = 2 + random.Below(40);
    std::vector<AssignWorker> workers;
    int next_id = 0;
    std::optional<plan::View> previous;
    for (int step = 0; step < 60; ++step) {
      const uint32_t event = random.Below(10);
      if (event < 5 ? workers.size() < largest : workers.empty()) {
        const uint32_t count = event == 0 ? 1 + random.Below(4) : 1;
        for (uint32_t k = 0; k < count; ++k) {
          workers.push_back({.id = absl::StrCat("w", random.Below(1000), "-", next_id++),
                             .address = "h:1",
                             .capacity = 50.0 + random.Below(100)});
        }
      } else if (event < 9) {
        const uint32_t count = event == 5 ? 1 + random.Below(3) : 1;
        for (uint32_t k = 0; k < count && workers.size() > 1; ++k) {
          workers.erase(workers.begin() + random.Below(static_cast<uint32_t>(workers.size())));
        }
      } else if (!workers.empty()) {
        workers[random.Below(static_cast<uint32_t>(workers.size()))].capacity = 50.0 + random.Below(100);
      }
      const std::string where = absl::StrCat("seed ", seed, ", step ", step);
      const plan::View view = Assign(previous, workers, weights);
      ASSERT_TRUE(view.Validate().ok()) << where << ": " << view.Validate();  // a partition, with backups
      ASSERT_LE(Imbalance(view, workers, weights), 0.25) << where;
      std::vector<AssignWorker> shuffled(workers.rbegin(), workers.rend());
      ASSERT_EQ(Assign(previous, shuffled, weights), view) << where;
      if (previous) {
        const double moved = MovedWeight(*previous, view, weights);
        const double least = LeastMovement(*previous, workers, weights);
        ASSERT_LE(moved, 2 * least + 1e-6 * weights.total()) << where;
        if (least > 0) worst_ratio = std::max(worst_ratio, moved / least);
      }
      most_runs = std::max(most_runs, view.ranges.size() / workers.size());
      previous = view;
    }
  }
  RecordProperty("worst_movement_over_least", std::to_string(worst_ratio));
  RecordProperty("most_ranges_per_worker", std::to_string(most_runs));
  EXPECT_LE(most_runs, 8u);
}

// Every worker is the backup for about as much as it owns, so that a loss never falls on a single worker.
TEST(AssignRanges, BackingIsSpreadOverWorkers) {
  const KeyWeights weights = KeyWeights::Uniform(1'000'000);
  std::vector<std::string> ids;
  std::optional<plan::View> view;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(absl::StrCat("w", i));
    view = Assign(view, Workers(ids), weights);
    if (ids.size() < 3) continue;
    std::map<uint32_t, double> backing;
    for (const plan::ViewRange& range : view->ranges) {
      backing[range.backup] += weights.Between(range.begin, range.end);
    }
    for (const auto& [worker, weight] : backing) {
      EXPECT_LE(weight, 2.3 * weights.total() / static_cast<double>(ids.size())) << ids.size();
    }
  }
}

TEST(AssignRanges, AssignsAThousandWorkersQuickly) {
  const KeyWeights weights = KeyWeights::Uniform(1'000'000'000);
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(absl::StrCat("w", i));
  plan::View view = Assign(std::nullopt, Workers(ids), weights);
  for (int i = 0; i < 5; ++i) {
    ids.erase(ids.begin() + 100 * i);
    if (i % 2 == 0) ids.push_back(absl::StrCat("n", i));
    const plan::View next = Assign(view, Workers(ids), weights);
    EXPECT_LE(MovedWeight(view, next, weights), 0.003 * weights.total());
    view = next;
  }
}

TEST(AssignRanges, RejectsAndNamesBadInput) {
  const KeyWeights weights = KeyWeights::Uniform(1000);
  const auto message = [&](const std::optional<plan::View>& previous, const std::vector<AssignWorker>& workers,
                           const AssignOptions& options = {}) {
    const auto view = AssignRanges(previous, workers, weights, options);
    EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(view.status().message());
  };
  EXPECT_NE(message(std::nullopt, Workers({"a", "b", "a"})).find("worker a is there twice"), std::string::npos);
  EXPECT_NE(message(std::nullopt, Workers({""})).find("no id"), std::string::npos);
  for (const double capacity : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_NE(message(std::nullopt, {{"a", "h:1", capacity}}).find("capacity"), std::string::npos);
  }
  const plan::View good = Assign(std::nullopt, Workers({"a"}), weights);
  EXPECT_NE(message(good, Workers({"a"}), {.policy = plan::AssignPolicy::kByRank}).find("policy"), std::string::npos);
  EXPECT_NE(message(good, Workers({"a"}), {.tolerance = 2}).find("tolerance"), std::string::npos);
  plan::View broken = good;
  broken.ranges[0].end = 5;
  EXPECT_NE(message(broken, Workers({"a"})).find("cover 5 of 1000"), std::string::npos);
}

}  // namespace
}  // namespace penstock::coordinator
