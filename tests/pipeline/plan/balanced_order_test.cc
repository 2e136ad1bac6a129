// The order of a balanced data set: each group has its exact share of the rows, and makes exact passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/plan/data_order.h"
#include "pipeline/plan/group_map.h"
#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

// Two groups with one record each, a common group, and one that only the last shard has.
const std::vector<uint64_t> kOfShards = {40, 0, 25, 12};
const RecordGroups kFourGroups = {{"common", "late", "one", "single"},
                                  {{{0, 2}, {39, 1}}, {}, {{0, 3}, {24, 1}}, {{0, 1}, {5, 7}}}};

std::shared_ptr<const DataOrder> Balanced(const std::vector<uint64_t>& counts, const PlanOptions& options,
                                          const Grouping& balance) {
  const auto order = DataOrder::CreateGrouped(counts, options, balance);
  EXPECT_TRUE(order.ok()) << order.status();
  return *order;
}

TEST(BalancedOrder, EachGroupMakesExactPassesThroughAllEpochs) {
  for (PlanOptions options : AllShuffles()) {
    options.repeats = 2;
    const auto order = Balanced(kOfShards, options, {kFourGroups, 0.3});
    EXPECT_EQ(order->num_positions(), 2 * 77u);
    std::map<std::pair<uint32_t, uint64_t>, std::multiset<uint64_t>> passes;  // by group and pass: its records
    std::map<uint32_t, uint64_t> last;
    for (uint64_t epoch = 0; epoch < 5; ++epoch) {
      const EpochOrder plan = order->Epoch(epoch);
      for (uint64_t p = 0; p < plan.num_positions(); ++p) {
        const PlannedRow row = plan.RowAt(p);
        const uint32_t group = order->groups()->PlaceOf(row.record).group;
        EXPECT_GE(row.epoch, last[group]) << "passes follow each other";
        last[group] = row.epoch;
        passes[{group, row.epoch}].insert(row.record);
      }
    }
    for (const auto& [key, records] : passes) {
      const std::set<uint64_t> distinct(records.begin(), records.end());
      EXPECT_EQ(distinct.size(), records.size()) << "group " << key.first << ", pass " << key.second;
      if (key.second < last[key.first]) {
        EXPECT_EQ(records.size(), order->records_of_part(key.first));
      }
    }
  }
}

TEST(BalancedOrder, EachRunOf64RowsHasTheShares) {
  for (const double power : {0.0, 0.5, 1.0}) {
    const auto order = Balanced(kOfShards, {.seed = 5}, {kFourGroups, power});
    double total = 0;
    for (uint32_t group = 0; group < 4; ++group) {
      total += std::pow(static_cast<double>(order->records_of_part(group)), power);
    }
    std::vector<double> rows(4, 0);
    for (uint64_t place = 0; place < 64 * 60; ++place) {
      const EpochOrder epoch = order->Epoch(place / 77);
      ++rows[order->groups()->PlaceOf(epoch.RecordAt(place % 77)).group];
      if ((place + 1) % 64 != 0) continue;
      for (uint32_t group = 0; group < 4; ++group) {
        const double share = std::pow(static_cast<double>(order->records_of_part(group)), power) / total;
        ASSERT_NEAR(rows[group], share * static_cast<double>(place + 1), 2) << "power " << power << ", row " << place;
      }
    }
  }
}

TEST(BalancedOrder, APositionIsFoundFromItsRecord) {
  for (const PlanOptions& options : AllShuffles()) {
    const auto order = Balanced(kOfShards, options, {kFourGroups, 0});
    const EpochOrder first = order->Epoch(0);
    for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{7}}) {
      const EpochOrder plan = order->Epoch(epoch);
      for (uint64_t p = 0; p < plan.num_positions(); ++p) {
        const PlannedRow row = plan.RowAt(p);
        ASSERT_EQ(plan.RecordAt(p), row.record);
        ASSERT_EQ(plan.PositionOf(row.record, plan.PassAt(p)), p);
        ASSERT_GT(plan.ShuffledUpTo(p), p);
        ASSERT_LE(plan.ShuffledUpTo(p), plan.num_positions());
        const PlannedRow same = order->RowOf(row.record, row.epoch);
        ASSERT_EQ(std::pair(same.seed, same.number), std::pair(row.seed, row.number));
        const Cursor next = order->PlaceOf(row, 1).value();
        const PlannedRow later = order->Epoch(next.epoch).RowAt(next.position);
        ASSERT_EQ(std::pair(later.record, later.epoch), std::pair(row.record, row.epoch + 1));
        const SetLocation at = order->Locate(row.record);
        ASSERT_EQ(at.set, 0u);
        ASSERT_EQ(order->offsets().RecordNumber({at.shard, at.record}), row.record);
      }
    }
  }
}

// The records of a group, and their random numbers, depend on its name and its own records alone.
TEST(BalancedOrder, AGroupKeepsItsRowsWhateverTheOthersAre) {
  const auto all = Balanced(kOfShards, {.seed = 9}, {kFourGroups, 0});
  const auto two = Balanced({39, 0, 24, 12}, {.seed = 9},
                            {{{"common", "late"}, {{{0}, {39}}, {}, {{0}, {24}}, {{0, 1}, {5, 7}}}}, 1});
  const auto rows = [](const DataOrder& order, const std::string& name) {
    std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> out;
    for (uint64_t epoch = 0; epoch < 30; ++epoch) {
      for (uint64_t p = 0; p < order.num_positions(); ++p) {
        const PlannedRow row = order.Epoch(epoch).RowAt(p);
        if (order.groups()->name(order.groups()->PlaceOf(row.record).group) != name) continue;
        out.emplace_back(row.number, row.seed, row.epoch);
      }
    }
    return out;
  };
  for (const char* name : {"common", "late"}) {
    auto a = rows(*all, name), b = rows(*two, name);
    const size_t both = std::min(a.size(), b.size());
    ASSERT_GT(both, 150u);
    a.resize(both);
    b.resize(both);
    EXPECT_EQ(a, b) << name;
  }
}

TEST(BalancedOrder, TheFingerprintCoversGroupsAndPower) {
  std::set<uint64_t> prints = {Balanced(kOfShards, {}, {kFourGroups, 0})->Fingerprint(1)};
  prints.insert(Balanced(kOfShards, {}, {kFourGroups, 1})->Fingerprint(1));
  prints.insert(Balanced(kOfShards, {.seed = 1}, {kFourGroups, 0})->Fingerprint(1));
  prints.insert((*DataOrder::Create(kOfShards, {}, std::nullopt))->Fingerprint(1));
  RecordGroups renamed = kFourGroups;
  renamed.names[0] = "a";
  prints.insert(Balanced(kOfShards, {}, {renamed, 0})->Fingerprint(1));
  RecordGroups moved = kFourGroups;
  moved.shards[3].records = {6, 6};
  prints.insert(Balanced(kOfShards, {}, {moved, 0})->Fingerprint(1));
  EXPECT_EQ(prints.size(), 6u);
  EXPECT_TRUE(prints.contains(Balanced(kOfShards, {}, {kFourGroups, 0})->Fingerprint(1)));
}

TEST(BalancedOrder, AShardIsReadAsOftenAsItsGroupsAre) {
  const auto order = Balanced(kOfShards, {}, {kFourGroups, 0});  // each group has 77 / 4 rows in an epoch
  EXPECT_NEAR(order->PassesPerEpoch(2), 77 / 4.0, 0.01);
  EXPECT_NEAR(order->PassesOfShard(0), (77 / 4.0 * 39 / 68 + 77 / 4.0) / 40, 0.01);
  EXPECT_EQ(order->PassesOfShard(1), 0);
  double rows = 0;
  for (size_t shard = 0; shard < kOfShards.size(); ++shard) {
    rows += order->PassesOfShard(shard) * static_cast<double>(kOfShards[shard]);
  }
  EXPECT_NEAR(rows, 77, 0.01);
}

TEST(BalancedOrder, RefusesGroupsThatDoNotFit) {
  const auto error = [](const RecordGroups& groups) {
    return std::string(DataOrder::CreateGrouped(kOfShards, {}, {groups, 0}).status().message());
  };
  RecordGroups wrong = kFourGroups;
  wrong.shards.pop_back();
  EXPECT_THAT(error(wrong), HasSubstr("groups of 3 shards, and there are 4 shards"));
  const std::vector<ShardGroups> firsts = {{{0, 2}, {39, 2}}, {{0, 2}, {39, 0}}, {{2, 0}, {39, 1}}, {{0, 0}, {39, 1}},
                                           {{0, 9}, {39, 1}}, {{0}, {39, 1}},    {{0, 2}, {39}},    {}};
  for (const ShardGroups& first : firsts) {
    wrong = kFourGroups;
    wrong.shards[0] = first;
    EXPECT_THAT(error(wrong), HasSubstr("the groups of shard 0 do not fit its records"));
  }
  wrong = kFourGroups;
  wrong.names.emplace_back("unused");
  EXPECT_THAT(error(wrong), HasSubstr("no shard has a record of group 'unused'"));
  EXPECT_THAT(std::string(DataOrder::CreateGrouped({0}, {}, {{{}, {{}}}, 0}).status().message()),
              HasSubstr("there are no groups"));
  wrong = {std::vector<std::string>(RecordGroups::kMaxGroups + 1, "x"), {}};
  EXPECT_THAT(error(wrong), HasSubstr("more than 16384 groups of records; group by a value that many records have"));
  EXPECT_THAT(std::string(DataOrder::CreateGrouped({uint64_t{3} << 30, 1}, {},
                                                   {{{"all", "few"}, {{{0}, {uint32_t{3} << 30}}, {{1}, {1}}}}, 1})
                              .status()
                              .message()),
              HasSubstr("with power 1 the group 'few' would have less than 1 of 1048576 rows; give a smaller power"));
}

TEST(GroupMap, PlacesAndRecordsAreInverse) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const uint32_t names = 1 + random() % 40;
    RecordGroups groups;
    for (uint32_t i = 0; i < names; ++i) groups.names.push_back(std::to_string(1000 + i));
    std::vector<uint64_t> counts;
    for (int shard = 0; shard < 6; ++shard) {
      ShardGroups& of_shard = groups.shards.emplace_back();
      uint64_t records = 0;
      for (uint32_t group = 0; group < names; ++group) {
        if (shard > 0 && random() % 3 > 0) continue;
        of_shard.groups.push_back(group);
        of_shard.records.push_back(1 + random() % 9);
        records += of_shard.records.back();
      }
      counts.push_back(records);
    }
    const auto offsets = *ShardOffsets::Create(counts);
    const auto map = *GroupMap::Create(offsets, groups);
    uint64_t found = 0;
    for (uint32_t group = 0; group < names; ++group) {
      uint64_t before = 0;
      for (uint64_t number = 0; number < map->offsets(group)->num_records(); ++number, ++found) {
        const uint64_t record = map->RecordOf({group, number});
        EXPECT_TRUE(number == 0 || record > before);
        before = record;
        ASSERT_EQ(map->PlaceOf(record), (GroupMap::Place{group, number}));
      }
    }
    EXPECT_EQ(found, offsets->num_records());
    for (uint64_t shard = 0; shard < counts.size(); ++shard) EXPECT_EQ(map->OfShard(shard), groups.shards[shard]);
  }
}

}  // namespace
}  // namespace penstock::plan
