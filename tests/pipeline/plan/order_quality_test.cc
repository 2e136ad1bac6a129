// How well an epoch is shuffled, in measures that matter for training, on a data set of ImageNet's size: 1,281,167
// records sorted by class, 1000 classes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

constexpr uint64_t kRecords = 1'281'167;
constexpr uint64_t kClasses = 1000;

std::vector<uint64_t> Order(Shuffle shuffle, uint64_t records = kRecords, uint64_t epoch = 0) {
  const EpochPlan plan = MakePlan({records}, {.seed = 17, .shuffle = shuffle}, epoch);
  std::vector<uint64_t> order(records);
  for (uint64_t p = 0; p < records; ++p) order[p] = plan.RecordAt(p);
  return order;
}

// Mean number of distinct classes in batches of 256 rows.
double DistinctClasses(const std::vector<uint64_t>& order) {
  std::vector<uint64_t> last_batch(kClasses, UINT64_MAX);
  uint64_t distinct = 0;
  const uint64_t batches = order.size() / 256;
  for (uint64_t p = 0; p < batches * 256; ++p) {
    const uint64_t label = order[p] * kClasses / kRecords;
    if (last_batch[label] != p / 256) ++distinct;
    last_batch[label] = p / 256;
  }
  return static_cast<double>(distinct) / static_cast<double>(batches);
}

uint64_t AdjacentPairs(const std::vector<uint64_t>& order) {
  uint64_t pairs = 0;
  for (uint64_t p = 1; p < order.size(); ++p) pairs += order[p] == order[p - 1] + 1;
  return pairs;
}

TEST(OrderQuality, BatchesOfASortedDatasetContainManyClasses) {
  const double chunked = DistinctClasses(Order(Shuffle::kChunked));
  const double full = DistinctClasses(Order(Shuffle::kFull));
  RecordProperty("distinct_chunked", std::to_string(chunked));
  RecordProperty("distinct_full", std::to_string(full));
  EXPECT_GE(chunked, 215);
  EXPECT_GE(full, 225);
  EXPECT_LE(full, 227.5);  // 1000 * (1 - 0.999^256) = 226.0
}

// A random permutation has one pair on average for any N. Inside a window of 65,536 records a chunked order has one
// too, so about 19 in the epoch. An order that reads whole chunks would have 1.26 million.
TEST(OrderQuality, NeighborsInTheDataAreRarelyNeighborsInTheOrder) {
  const uint64_t full = AdjacentPairs(Order(Shuffle::kFull));
  const uint64_t chunked = AdjacentPairs(Order(Shuffle::kChunked));
  RecordProperty("pairs_chunked", std::to_string(chunked));
  EXPECT_LE(full, 8u);
  EXPECT_LE(chunked, 45u);
}

// The mean work of the owners divided by the largest, per window, if each owner has a contiguous run of the data set.
double EvenWork(const std::vector<uint64_t>& order, uint64_t owners) {
  const uint64_t window = 65536;
  double sum = 0;
  uint64_t windows = 0;
  for (uint64_t begin = 0; begin + window <= order.size(); begin += window, ++windows) {
    std::vector<uint64_t> work(owners);
    for (uint64_t p = begin; p < begin + window; ++p) ++work[order[p] * owners / order.size()];
    const double mean = static_cast<double>(window) / static_cast<double>(owners);
    sum += mean / static_cast<double>(*std::max_element(work.begin(), work.end()));
  }
  return sum / static_cast<double>(windows);
}

TEST(OrderQuality, TheWorkOfAWindowIsEvenlySplitAmongContiguousOwners) {
  const std::vector<uint64_t> order = Order(Shuffle::kChunked);
  const double at10 = EvenWork(order, 10), at100 = EvenWork(order, 100);
  RecordProperty("even_10", std::to_string(at10));
  RecordProperty("even_100", std::to_string(at100));
  EXPECT_GE(at10, 0.97);
  EXPECT_GE(at100, 0.9);
}

// 65,537 records are 1024 chunks of 64 and one record more; 66,000 leave 8 chunks over. The end of the epoch is as
// mixed as the rest.
TEST(OrderQuality, TheEndOfAnEpochMixesManyChunks) {
  for (const uint64_t records : {uint64_t{65537}, uint64_t{66'000}, uint64_t{140'000}, kRecords}) {
    const std::vector<uint64_t> order = Order(Shuffle::kChunked, records);
    std::vector<uint64_t> tail(order.end() - 64, order.end());
    for (uint64_t& record : tail) record = record * 64 / records;
    std::sort(tail.begin(), tail.end());
    const auto distinct = std::unique(tail.begin(), tail.end()) - tail.begin();
    EXPECT_GE(distinct, 30) << records;  // 40.6 expected of a random order
  }
}

// Over epochs, each record's place is uniform: the first batch is not always from the same part of the data.
TEST(OrderQuality, ThePositionOfARecordIsUniformOverEpochs) {
  const uint64_t records = 200'001;
  std::vector<int> tenth(10);
  for (uint64_t epoch = 0; epoch < 20'000; ++epoch) {
    const EpochPlan plan = MakePlan({records}, {.seed = 2}, epoch);
    ++tenth[plan.PositionOf(123'456) * 10 / records];
  }
  for (const int count : tenth) {
    EXPECT_GT(count, 1780);  // 2000 expected, standard deviation 42
    EXPECT_LT(count, 2220);
  }
}

}  // namespace
}  // namespace penstock::plan
