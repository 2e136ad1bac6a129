// Data sets that are sorted by a value, or whose batches have similar values: each pass has each record once, in the
// order that the step promises.
#include "pipeline/plan/sorted_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/plan/data_order.h"
#include "pipeline/plan/group_map.h"
#include "pipeline/plan/record_groups.h"
#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;

// Groups of 1 to 40 records in some of the shards; the middle shard is empty.
struct Data {
  std::vector<uint64_t> counts;
  RecordGroups groups;
};

Data RandomData(uint32_t seed, uint32_t groups) {
  std::mt19937 random(seed);
  Data data;
  for (uint32_t i = 0; i < groups; ++i) data.groups.names.push_back(std::to_string(10'000 + i));
  for (int shard = 0; shard < 5; ++shard) {
    ShardGroups& of_shard = data.groups.shards.emplace_back();
    uint64_t records = 0;
    for (uint32_t group = 0; group < groups && shard != 2; ++group) {
      if (shard > 0 && random() % 2 == 0) continue;
      of_shard.groups.push_back(group);
      of_shard.records.push_back(1 + random() % 10);
      records += of_shard.records.back();
    }
    data.counts.push_back(records);
  }
  return data;
}

std::shared_ptr<const DataOrder> Sorted(const Data& data, const PlanOptions& options, const SortOptions& sort) {
  auto order = DataOrder::CreateGrouped(data.counts, options, {.groups = data.groups, .sorted = sort});
  EXPECT_TRUE(order.ok()) << order.status();
  return *order;
}

uint32_t GroupAt(const DataOrder& order, const EpochOrder& epoch, uint64_t position) {
  return order.groups()->PlaceOf(epoch.RecordAt(position)).group;
}

std::vector<uint64_t> RecordsOf(const EpochOrder& epoch) {
  std::vector<uint64_t> records;
  for (uint64_t p = 0; p < epoch.num_positions(); ++p) records.push_back(epoch.RecordAt(p));
  return records;
}

TEST(SortedOrder, EachPassHasEachRecordOnceFromTheLeastGroupToTheGreatest) {
  for (PlanOptions options : AllShuffles()) {
    options.repeats = 2;
    const Data data = RandomData(1, 9);
    const auto order = Sorted(data, options, {});
    const uint64_t records = order->num_records();
    ASSERT_EQ(order->num_positions(), 2 * records);
    for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{8}}) {
      const std::vector<uint64_t> rows = RecordsOf(order->Epoch(epoch));
      for (uint64_t pass = 0; pass < 2; ++pass) {
        const auto first = rows.begin() + static_cast<ptrdiff_t>(pass * records);
        EXPECT_EQ(std::set<uint64_t>(first, first + static_cast<ptrdiff_t>(records)).size(), records);
        for (uint64_t p = 1; p < records; ++p) {
          ASSERT_LE(GroupAt(*order, order->Epoch(epoch), pass * records + p - 1),
                    GroupAt(*order, order->Epoch(epoch), pass * records + p))
              << "epoch " << epoch << ", pass " << pass << ", row " << p;
        }
      }
    }
    const bool shuffles = options.shuffle != Shuffle::kNone;
    EXPECT_EQ(RecordsOf(order->Epoch(0)) != RecordsOf(order->Epoch(1)), shuffles) << "groups are shuffled";
  }
}

TEST(SortedOrder, LaterEpochsAreShuffledAsAWhole) {
  const auto order = Sorted(RandomData(2, 30), {.seed = 4, .shuffle = Shuffle::kFull}, {.passes = 3});
  const auto sorted = Sorted(RandomData(2, 30), {.seed = 4, .shuffle = Shuffle::kFull}, {});
  const auto descents = [&](uint64_t epoch) {
    uint64_t found = 0;
    for (uint64_t p = 1; p < order->num_positions(); ++p) {
      found += GroupAt(*order, order->Epoch(epoch), p) < GroupAt(*order, order->Epoch(epoch), p - 1);
    }
    return found;
  };
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(descents(epoch), 0u);
    EXPECT_EQ(RecordsOf(order->Epoch(epoch)), RecordsOf(sorted->Epoch(epoch)));
  }
  for (const uint64_t epoch : {uint64_t{3}, uint64_t{4}}) {
    EXPECT_GT(descents(epoch), order->num_positions() / 3);
    const std::vector<uint64_t> rows = RecordsOf(order->Epoch(epoch));
    EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), order->num_records());
  }
}

// Without a rest, the groups of a batch are neighbors: those of one run of rows in the order of groups.
TEST(SortedOrder, BatchesHaveNeighborsAndAreShuffled) {
  for (const uint64_t batch : {uint64_t{1}, uint64_t{7}, uint64_t{16}, uint64_t{5000}}) {
    for (const PlanOptions& options : AllShuffles()) {
      const Data data = RandomData(3, 60);
      const auto order = Sorted(data, options, {.batch = batch});
      std::vector<uint32_t> sorted;  // the groups of all records
      for (uint32_t group = 0; group < 60; ++group) {
        sorted.insert(sorted.end(), order->records_of_part(group), group);
      }
      std::set<uint64_t> rests;  // the first groups of the rest
      for (uint64_t epoch = 0; epoch < 12; ++epoch) {
        const EpochOrder plan = order->Epoch(epoch);
        const std::vector<uint64_t> rows = RecordsOf(plan);
        EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), order->num_records());
        std::vector<std::vector<uint32_t>> batches;
        for (uint64_t p = 0; p < rows.size(); ++p) {
          if (p % batch == 0) batches.emplace_back();
          batches.back().push_back(GroupAt(*order, plan, p));
        }
        if (rows.size() % batch != 0) rests.insert(batches.back().front());
        const std::vector<std::vector<uint32_t>> delivered = batches;
        std::sort(batches.begin(), batches.end());
        std::vector<uint32_t> joined;
        for (std::vector<uint32_t>& each : batches) {
          EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
          joined.insert(joined.end(), each.begin(), each.end());
        }
        std::sort(joined.begin(), joined.end());
        EXPECT_EQ(joined, sorted);
        const bool is_shuffled = options.shuffle != Shuffle::kNone && batches.size() > 4;
        EXPECT_EQ(!std::is_sorted(delivered.begin(), delivered.end()), is_shuffled);
      }
      if (batch == 16 && options.shuffle != Shuffle::kNone) {
        EXPECT_GT(rests.size(), 3u) << "DROP must not always drop the greatest values";
      }
    }
  }
}

TEST(SortedOrder, AReaderMaySetBatchesThatDivideThoseOfTheJob) {
  const auto order = Sorted(RandomData(3, 60), {}, {.batch = 16});
  EXPECT_EQ(order->single_batch(), 16u);
  for (const uint64_t rows : {1, 4, 16}) EXPECT_TRUE(order->CheckBatchRows(rows).ok());
  EXPECT_EQ(order->CheckBatchRows(32).message(),
            "a batch of 32 rows: with `bucket` it must divide the job's batch.size, 16");
  EXPECT_TRUE(Sorted(RandomData(3, 60), {}, {})->CheckBatchRows(32).ok());
}

// Batches of 16, 8 and 4 rows for three ranges of the values that RandomData() has.
SortOptions BySize() {
  return {.batch = 16, .rule = BatchRule{.bounds = {10'004, 10'009}, .sizes = {16, 8, 4}, .multiple = 4}};
}

TEST(SortedOrder, SizesOfBatchesFollowTheirValues) {
  for (const PlanOptions& options : AllShuffles()) {
    const auto order = Sorted(RandomData(3, 14), options, BySize());
    const BatchSequence& batches = *order->batches();
    std::set<uint64_t> sizes;
    for (uint64_t epoch = 0; epoch < 6; ++epoch) {
      const EpochOrder plan = order->Epoch(epoch);
      const std::vector<uint64_t> rows = RecordsOf(plan);
      EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), order->num_records());
      for (uint64_t number = 0; number < batches.batches(); ++number) {
        const BatchSequence::Batch batch = batches.At(epoch, number);
        sizes.insert(batch.rows);
        for (uint64_t p = batch.position; p < batch.position + batch.rows; ++p) {
          const uint32_t group = GroupAt(*order, plan, p);
          EXPECT_LE(batch.rows, group < 4 ? 16u : group < 9 ? 8u : 4u);
        }
      }
    }
    EXPECT_THAT(sizes, ::testing::IsSupersetOf({16u, 8u, 4u}));
  }
  EXPECT_EQ(Sorted(RandomData(3, 14), {}, BySize())->CheckBatchRows(8).message(),
            "a batch size of 8: the values of select.bucket decide about the sizes of batches; leave batch_size out");
  EXPECT_TRUE(Sorted(RandomData(3, 14), {}, BySize())->CheckBatchRows(16).ok());
}

TEST(SortedOrder, APositionIsFoundFromItsRecord) {
  for (PlanOptions options : AllShuffles()) {
    for (const SortOptions& sort : std::vector<SortOptions>{{}, {.passes = 2}, {.batch = 8}, BySize()}) {
      options.repeats = sort.batch == 0 ? 2 : 1;
      const auto order = Sorted(RandomData(5, 12), options, sort);
      for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{7}}) {
        const EpochOrder plan = order->Epoch(epoch);
        for (uint64_t p = 0; p < plan.num_positions(); ++p) {
          const PlannedRow row = plan.RowAt(p);
          ASSERT_EQ(plan.RecordAt(p), row.record);
          ASSERT_EQ(row.epoch, epoch * options.repeats + p / order->num_records());
          ASSERT_EQ(plan.PassAt(p), row.epoch);
          ASSERT_EQ(plan.PositionOf(row.record, plan.PassAt(p)), p);
          ASSERT_GT(plan.ShuffledUpTo(p), p);
          ASSERT_LE(plan.ShuffledUpTo(p), plan.num_positions());
          const PlannedRow same = order->RowOf(row.record, row.epoch);
          ASSERT_EQ(std::pair(same.seed, same.number), std::pair(row.seed, row.number));
          const Cursor next = order->PlaceOf(row, 3).value();
          const PlannedRow later = order->Epoch(next.epoch).RowAt(next.position);
          ASSERT_EQ(std::pair(later.record, later.epoch), std::pair(row.record, row.epoch + 3));
        }
      }
    }
  }
}

TEST(SortedOrder, TheFingerprintCoversEachOption) {
  const Data data = RandomData(6, 5);
  std::set<uint64_t> prints;
  for (const SortOptions& sort :
       std::vector<SortOptions>{{},
                                {.passes = 2},
                                {.passes = 3},
                                {.batch = 8},
                                {.batch = 4},
                                {.batch = 8, .rule = BatchRule{.budget = 40'000}},
                                {.batch = 8, .rule = BatchRule{.budget = 80'000}},
                                {.batch = 8, .rule = BatchRule{.budget = 80'000, .multiple = 2}},
                                {.batch = 4, .rule = BatchRule{.budget = 40'000}}}) {
    EXPECT_EQ(Sorted(data, {}, sort)->Fingerprint(1), Sorted(data, {}, sort)->Fingerprint(1));
    prints.insert(Sorted(data, {}, sort)->Fingerprint(1));
    prints.insert(Sorted(data, {.seed = 1}, sort)->Fingerprint(1));
  }
  prints.insert((*DataOrder::CreateGrouped(data.counts, {}, {.groups = data.groups, .power = 1}))->Fingerprint(1));
  Data moved = data;
  ++moved.groups.shards[0].records[0];
  --moved.groups.shards[0].records[1];
  if (moved.groups.shards[0].records[1] > 0) prints.insert(Sorted(moved, {}, {})->Fingerprint(1));
  EXPECT_GE(prints.size(), 11u);
}

TEST(SortedOrder, AnEpochReadsEachShardOnce) {
  const Data data = RandomData(7, 9);
  const auto order = Sorted(data, {.repeats = 3}, {});
  EXPECT_EQ(order->PassesPerEpoch(4), 3);
  for (const uint64_t shard : {0, 1, 3}) EXPECT_EQ(order->PassesOfShard(shard), 3);
  EXPECT_EQ(order->PassesOfShard(2), 0) << "it has no records";
}

// After any number of rows, records of one weight differ by one row at most, and rows are in proportion to weights.
TEST(WeightedOrder, ARecordHasRowsInProportionToItsWeight) {
  const RecordGroups groups = {{"0", "0.5", "2", "3"}, {{{0, 1, 3}, {9, 30, 1}}, {{1, 2, 3}, {10, 20, 6}}}};
  for (const PlanOptions& options : AllShuffles()) {
    const auto order =
        *DataOrder::CreateGrouped({40, 36}, options, {.groups = groups, .power = 1, .weights = {0, 0.5, 2, 3}});
    const double total = 40 * 0.5 + 20 * 2 + 7 * 3;
    std::map<uint64_t, uint64_t> rows;  // by record
    for (uint64_t place = 0; place < 76 * 40; ++place) {
      const EpochOrder epoch = order->Epoch(place / 76);
      const PlannedRow row = epoch.RowAt(place % 76);
      ASSERT_EQ(epoch.PositionOf(row.record, row.epoch), place % 76);
      ++rows[row.record];
      if ((place + 1) % 64 != 0) continue;
      std::vector<uint64_t> least(4, UINT64_MAX), most(4, 0), of_group(4, 0);
      for (uint64_t record = 0; record < 76; ++record) {
        const uint32_t group = order->groups()->PlaceOf(record).group;
        least[group] = std::min(least[group], rows[record]);
        most[group] = std::max(most[group], rows[record]);
        of_group[group] += rows[record];
      }
      for (uint32_t group = 0; group < 4; ++group) {
        const double share =
            std::vector<double>{0, 0.5, 2, 3}[group] * static_cast<double>(order->records_of_part(group)) / total;
        ASSERT_LE(most[group] - least[group], 1u);
        ASSERT_NEAR(static_cast<double>(of_group[group]), share * static_cast<double>(place + 1), 2);
      }
    }
    EXPECT_EQ(order->PlaceOf(order->RowOf(0, 0), 1), std::nullopt) << "a record of weight 0 is never read";
    EXPECT_EQ(order->PassesPerEpoch(0), 0);
  }
}

TEST(WeightedOrder, RefusesWeightsWithoutRows) {
  const RecordGroups groups = {{"0", "1e-9", "1"}, {{{0, 1, 2}, {5, 1, 1000}}}};
  const auto error = [&](const std::vector<double>& weights) {
    const Grouping grouping = {.groups = groups, .power = 1, .weights = weights};
    return std::string(DataOrder::CreateGrouped({1006}, {}, grouping).status().message());
  };
  EXPECT_EQ(error({0, 0, 0}), NoWeightError().message());
  EXPECT_EQ(error({0, 1e-9, 1}),
            "weights: the records with weight 1e-9 would have less than 1 of 1048576 rows; use coarser weights, or "
            "give them 0");
  EXPECT_EQ(error({0, 1e308, 1e308}), "weights: the sum of all records' weights is too large");
}

}  // namespace
}  // namespace penstock::plan
