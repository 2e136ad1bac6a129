// A data set in a blend has the rows, and the order, of a job of that data set alone.
#include "pipeline/plan/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "pipeline/plan/state.h"
#include "tests/pipeline/plan/plan_testing.h"

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;
using OrderPtr = std::shared_ptr<const DataOrder>;

const std::vector<uint64_t> kCounts = {30, 0, 17, 200, 5};  // 47 records, 200, 5

BlendOptions Three() { return {.sets = {{"a", 3, 5}, {"b", 1, 2}, {"c", 1, 1}}}; }

OrderPtr Make(const std::vector<uint64_t>& counts, const PlanOptions& options, const BlendOptions& blend) {
  const auto order = DataOrder::Create(counts, options, blend);
  EXPECT_TRUE(order.ok()) << order.status();
  return *order;
}

TEST(DataOrder, WithoutNamesEachEpochIsThatOfVersion1) {
  for (PlanOptions options : AllShuffles()) {
    options.repeats = 2;
    const auto order = DataOrder::Create(kCounts, options, std::nullopt);
    ASSERT_TRUE(order.ok());
    const EpochPlan plan = *EpochPlan::Create(*ShardOffsets::Create(kCounts), options, 4);
    const EpochOrder epoch = (*order)->Epoch(4);
    ASSERT_EQ(epoch.num_positions(), plan.num_positions());
    for (uint64_t p = 0; p < plan.num_positions(); ++p) {
      const PlannedRow row = epoch.RowAt(p);
      ASSERT_EQ(row.record, plan.RecordAt(p));
      ASSERT_EQ(row.number, row.record);
      ASSERT_EQ(row.epoch, 4u);
      ASSERT_EQ(row.repeat, plan.RepeatAt(p));
      ASSERT_EQ(epoch.PositionOf(row.record, epoch.PassAt(p)), p);
      ASSERT_EQ(epoch.ShuffledUpTo(p), plan.ShuffledUpTo(p));
    }
    EXPECT_EQ((*order)->Fingerprint(1), OrderFingerprint(1, options));
  }
}

TEST(DataOrder, ASetInABlendHasTheRowsOfAJobOfThatSetAlone) {
  for (const PlanOptions& options : AllShuffles()) {
    const OrderPtr blend = Make(kCounts, options, Three());
    const OrderPtr alone[] = {Make({30, 0, 17}, options, {.sets = {{"a", 3}}}),
                              Make({200}, options, {.sets = {{"b", 1, 9}}}), Make({5}, options, {.sets = {{"c", 1}}})};
    const uint64_t first_record[] = {0, 47, 247};
    uint64_t next[] = {0, 0, 0};
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      for (uint64_t p = 0; p < blend->num_positions(); ++p) {
        const PlannedRow row = blend->Epoch(epoch).RowAt(p);
        const uint32_t set = blend->SetOfRecord(row.record);
        const uint64_t rows = alone[set]->num_positions(), number = next[set]++;
        const PlannedRow same = alone[set]->Epoch(number / rows).RowAt(number % rows);
        ASSERT_EQ(row.record - first_record[set], same.record) << epoch << " " << p;
        ASSERT_EQ(row.seed, same.seed);
        ASSERT_EQ(row.epoch, same.epoch);
        ASSERT_EQ(row.epoch, number / rows) << "a pass has each record once";
        ASSERT_EQ(row.repeat, 0);
        ASSERT_EQ(row.number, same.number);
      }
    }
  }
}

TEST(DataOrder, PositionsAndPlacesAreTheInverse) {
  BlendOptions changing = Three();
  changing.changes = {{.at_rows = 1000, .over_rows = 700, .weights = {1, 3, 2}}};
  const OrderPtr order = Make(kCounts, {.seed = 9, .chunk_records = 4, .window_chunks = 3}, changing);
  for (const uint64_t number : {0, 1, 7}) {
    const EpochOrder epoch = order->Epoch(number);
    for (uint64_t p = 0; p < epoch.num_positions(); ++p) {
      const PlannedRow row = epoch.RowAt(p);
      ASSERT_EQ(epoch.PositionOf(row.record, epoch.PassAt(p)), p);
      ASSERT_EQ(order->PlaceOf(row, 0), (Cursor{number, p}));
      ASSERT_GT(epoch.ShuffledUpTo(p), p);
      ASSERT_LE(epoch.ShuffledUpTo(p), epoch.num_positions());
      const Cursor later = order->PlaceOf(row, 3).value();
      const PlannedRow again = order->Epoch(later.epoch).RowAt(later.position);
      ASSERT_EQ(again.record, row.record);
      ASSERT_EQ(again.epoch, row.epoch + 3);
    }
    EXPECT_EQ(epoch.PositionOf(0, 1'000'000), std::nullopt) << "this pass is in a later epoch";
  }
}

TEST(DataOrder, AnEpochEndsWithThePassOfTheLongestOrShortestSetOrAfterItsRows) {
  BlendOptions blend = Three();  // shares 5/8, 2/8, 1/8: passes of 75.2, 800 and 40 rows
  EXPECT_EQ(Make(kCounts, {}, blend)->num_positions(), 800u);
  blend.end = EpochEnd::kShortest;
  EXPECT_EQ(Make(kCounts, {}, blend)->num_positions(), 40u);
  EXPECT_EQ(Make(kCounts, {.repeats = 3}, blend)->num_positions(), 120u);
  blend.epoch_rows = 123;
  EXPECT_EQ(Make(kCounts, {}, blend)->num_positions(), 123u);
  EXPECT_EQ(Make({7}, {}, {.sets = {{"alone", 1}}})->num_positions(), 7u);
}

TEST(DataOrder, RepeatsGiveEachSetItsPasses) {
  BlendOptions blend = Three();  // of 47, 200 and 5 records
  blend.sets[0].repeats = 2.5;
  blend.sets[1].repeats = 1;
  blend.sets[2].repeats = 10;
  const OrderPtr order = Make(kCounts, {.seed = 5}, blend);
  ASSERT_EQ(order->num_positions(), 368u);  // 117.5 + 200 + 50
  const std::vector<SetProgress> one = order->ProgressAt({1, 0}), three = order->ProgressAt({3, 0});
  EXPECT_EQ(one[0].rows, 118u);
  EXPECT_EQ(one[1].rows, 200u) << "one pass";
  EXPECT_EQ(one[2].rows, 50u) << "ten passes";
  EXPECT_EQ(three[1].rows, 600u);
  EXPECT_NEAR(order->PassesPerEpoch(0), 2.5, 0.011) << "half a row of 47";
  EXPECT_EQ(order->PassesPerEpoch(1), 1);
  EXPECT_EQ(order->PassesPerEpoch(2), 10);
}

TEST(DataOrder, RepeatsOfALongEpochAreWithinTheRoundingOfAShare) {
  const OrderPtr order =
      Make({300'000, 7'000}, {.seed = 5},
           {.sets = {{.name = "a", .shards = 1, .repeats = 1}, {.name = "b", .shards = 1, .repeats = 3}}});
  ASSERT_EQ(order->num_positions(), 321'000u);
  const double rounding = 321'000.0 / 65'536 + 2;
  EXPECT_NEAR(static_cast<double>(order->ProgressAt({1, 0})[0].rows), 300'000, rounding);
  EXPECT_NEAR(static_cast<double>(order->ProgressAt({1, 0})[1].rows), 21'000, rounding);
}

TEST(DataOrder, AnEpochOfExactBatchesHasWholeBatches) {
  BlendOptions blend = Three();
  blend.batch = 24;  // 15, 6 and 3 rows
  const OrderPtr order = Make(kCounts, {.seed = 5}, blend);
  ASSERT_EQ(order->num_positions(), 816u);  // 800 rows, rounded up
  for (const uint64_t epoch : {0, 3}) {
    const EpochOrder rows = order->Epoch(epoch);
    for (uint64_t begin = 0; begin < rows.num_positions(); begin += 24) {
      std::vector<uint64_t> counts(3, 0);
      for (uint64_t p = begin; p < begin + 24; ++p) ++counts[order->SetOfRecord(rows.RecordAt(p))];
      ASSERT_EQ(counts, (std::vector<uint64_t>{15, 6, 3})) << "from " << begin;
    }
  }
  EXPECT_TRUE(order->CheckBatchRows(48).ok());
  EXPECT_THAT(
      std::string(order->CheckBatchRows(32).message()),
      HasSubstr("a batch of 32 rows: with blend.batches: EXACT it must be a multiple of the job's batch.size, 24"));
  EXPECT_TRUE(Make(kCounts, {}, Three())->CheckBatchRows(32).ok());
}

TEST(DataOrder, TheProgressOfEachSetCountsItsRowsInAllEpochsUpToTheCursor) {
  const OrderPtr order = Make(kCounts, {.seed = 9, .chunk_records = 4, .window_chunks = 3}, Three());
  std::vector<uint64_t> rows(3, 0);
  uint64_t total = 0;
  for (uint64_t number = 0; number < 3; ++number) {
    const EpochOrder epoch = order->Epoch(number);
    for (uint64_t p = 0; p < epoch.num_positions(); ++p) {
      const std::vector<SetProgress> progress = order->ProgressAt({number, p});
      ASSERT_EQ(progress.size(), 3u);
      for (uint32_t set = 0; set < 3; ++set) {
        ASSERT_EQ(progress[set].rows, rows[set]) << number << " " << p << " " << set;
        ASSERT_DOUBLE_EQ(progress[set].passes,
                         static_cast<double>(rows[set]) / static_cast<double>(order->records(set)));
        const double all = static_cast<double>(std::max<uint64_t>(total, 1));
        ASSERT_DOUBLE_EQ(progress[set].actual_share, static_cast<double>(rows[set]) / all);
      }
      ASSERT_DOUBLE_EQ(progress[0].wanted_share, 0.625);
      const PlannedRow row = epoch.RowAt(p);
      const uint32_t set = order->SetOfRecord(row.record);
      ASSERT_EQ(static_cast<uint64_t>(progress[set].passes), row.epoch) << "the pass of the next row";
      ++rows[set];
      ++total;
    }
  }
}

TEST(DataOrder, TheProgressWithoutNamesIsThatOfTheEpochs) {
  const auto order = DataOrder::Create(kCounts, {}, std::nullopt);
  ASSERT_TRUE(order.ok());
  const std::vector<SetProgress> progress = (*order)->ProgressAt({2, 63});
  ASSERT_EQ(progress.size(), 1u);
  EXPECT_EQ(progress[0].rows, 2 * 252u + 63);
  EXPECT_DOUBLE_EQ(progress[0].passes, 2.25);
  EXPECT_DOUBLE_EQ(progress[0].wanted_share, 1);
  EXPECT_DOUBLE_EQ(progress[0].actual_share, 1);
}

TEST(DataOrder, AWeightOrASetMoreChangesNothingInTheOthers) {
  const PlanOptions options = {.seed = 4, .chunk_records = 4, .window_chunks = 3};
  BlendOptions more = Three();
  more.sets.push_back({"d", 1, 2.5});
  more.sets[1].weight = 11;
  std::vector<uint64_t> counts = kCounts;
  counts.push_back(64);
  const auto rows_of = [](const OrderPtr& order, uint32_t set) {
    std::vector<uint64_t> rows;
    for (uint64_t epoch = 0; rows.size() < 90; ++epoch) {
      for (uint64_t p = 0; p < order->num_positions() && rows.size() < 90; ++p) {
        const PlannedRow row = order->Epoch(epoch).RowAt(p);
        if (order->SetOfRecord(row.record) == set) rows.push_back(row.number);
      }
    }
    return rows;
  };
  const OrderPtr before = Make(kCounts, options, Three()), after = Make(counts, options, more);
  for (const uint32_t set : {0u, 1u, 2u}) EXPECT_EQ(rows_of(before, set), rows_of(after, set)) << set;
}

// A row of a set, as (pass, number in the set).
using SetRow = std::pair<uint64_t, uint64_t>;

// Returns the first rows of each set by name, from a cursor on.
std::map<std::string, std::vector<SetRow>> RowsBySet(const OrderPtr& order, Cursor from, uint64_t rows) {
  std::map<std::string, std::vector<SetRow>> by_set;
  for (uint64_t left = rows; left > 0; ++from.epoch, from.position = 0) {
    const EpochOrder epoch = order->Epoch(from.epoch);
    for (; from.position < order->num_positions() && left > 0; ++from.position, --left) {
      const PlannedRow row = epoch.RowAt(from.position);
      by_set[order->set_name(order->SetOfRecord(row.record))].push_back({row.epoch, row.number});
      EXPECT_EQ(epoch.PositionOf(row.record, row.epoch), from.position);
      EXPECT_EQ(order->PlaceOf(row, 0), from);
    }
  }
  return by_set;
}

// Other weights, a set less and a set more, batches of each kind, and any place: also inside a batch, and again in the
// run that continued.
TEST(DataOrder, ABlendContinuesAnotherOneWithTheNextRowOfEachSet) {
  const PlanOptions options = {.seed = 4, .chunk_records = 4, .window_chunks = 3};
  std::mt19937_64 random(26);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const auto weight = [&] { return 1 + static_cast<double>(random() % 9); };
    BlendOptions first = Three();
    first.epoch_rows = 96;
    const OrderPtr run = Make(kCounts, options, first);
    auto expected = RowsBySet(run, {0, 0}, 6000);
    std::map<std::string, uint64_t> had;
    OrderPtr before = run;
    Cursor at{random() % 4, random() % 97};
    for (int again = 0; again < 2; ++again) {
      BlendOptions next = {.sets = {{"c", 1, weight()}, {"a", 3, weight()}, {"new", 1, weight()}}, .epoch_rows = 96};
      next.batch = round % 3 == 0 ? 0 : 24;
      next.single = round % 3 == 2;
      if (round % 2 == 0) next.changes = {{.at_rows = 64 * (random() % 20), .weights = {weight(), weight(), weight()}}};
      BlendStart start{.order = before->Fingerprint(1), .at = at, .epoch_rows = 96};
      const std::vector<SetProgress> progress = before->ProgressAt(at);
      for (uint32_t set = 0; set < before->sets(); ++set) had[before->set_name(set)] = progress[set].rows;
      for (const NamedSet& set : next.sets) start.rows.push_back(had[set.name]);
      next.start = start;
      const OrderPtr order = Make({5, 30, 0, 17, 64}, options, next);
      if (!expected.contains("new")) {
        expected["new"] = RowsBySet(Make({64}, options, {.sets = {{"new", 1, 1}}}), {0, 0}, 2000)["new"];
      }
      for (const auto& [name, rows] : RowsBySet(order, at, 400)) {
        const std::vector<SetRow>& all = expected[name];
        for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], all[had[name] + i]) << name << " row " << i;
      }
      const std::vector<SetProgress> there = order->ProgressAt(at);
      for (uint32_t set = 0; set < 3; ++set) EXPECT_EQ(there[set].rows, had[order->set_name(set)]);
      const PlannedRow earlier = run->Epoch(0).RowAt(0);  // if it is of "a", it has come already
      if (at != Cursor{0, 0} && run->set_name(run->SetOfRecord(earlier.record)) == "a") {
        EXPECT_EQ(order->PlaceOf(order->RowOf(5 + earlier.number, 0), 0), std::nullopt);
      }
      before = order;
      at = {at.epoch + random() % 3, 96};
    }
  }
}

TEST(DataOrder, AnEpochKeepsItsLengthInABlendThatContinues) {
  BlendOptions next = Three();
  next.epoch_rows = 100;
  next.start = BlendStart{.order = 1, .at = {0, 8}, .epoch_rows = 96, .rows = {5, 2, 1}};
  EXPECT_THAT(DataOrder::Create(kCounts, {}, next).status().ToString(),
              HasSubstr("an epoch has 100 rows, and that of the blend that it continues had 96; set "
                        "blend.epoch_rows: 96"));
}

TEST(DataOrder, TheFingerprintOfASetIsThatOfItsPassesAlone) {
  const OrderPtr order = Make(kCounts, {.seed = 1}, Three());
  BlendOptions other = Three();
  other.sets[0].weight = 99;
  EXPECT_EQ(Make(kCounts, {.seed = 1}, other)->SetFingerprint(0, 7), order->SetFingerprint(0, 7)) << "weight";
  EXPECT_NE(order->SetFingerprint(0, 8), order->SetFingerprint(0, 7)) << "content";
  EXPECT_NE(order->SetFingerprint(1, 7), order->SetFingerprint(0, 7)) << "name";
  EXPECT_NE(Make(kCounts, {.seed = 2}, Three())->SetFingerprint(0, 7), order->SetFingerprint(0, 7)) << "seed";
  EXPECT_NE(Make(kCounts, {.seed = 1, .shuffle = Shuffle::kFull}, Three())->SetFingerprint(0, 7),
            order->SetFingerprint(0, 7))
      << "shuffle";
}

TEST(DataOrder, EachPropertyOfTheOrderChangesItsFingerprint) {
  const auto print = [](const PlanOptions& options, const BlendOptions& blend, uint64_t snapshot = 1) {
    return Make(kCounts, options, blend)->Fingerprint(snapshot);
  };
  const uint64_t base = print({.seed = 1}, Three());
  BlendOptions other = Three();
  other.sets[0].weight = 10;
  EXPECT_NE(print({.seed = 1}, other), base) << "weight";
  for (NamedSet& set : other.sets) set.weight *= 2;
  other.sets[0].weight = 10;
  EXPECT_EQ(print({.seed = 1}, other), base) << "the same shares";
  other = Three();
  other.sets[2].name = "C";
  EXPECT_NE(print({.seed = 1}, other), base) << "name";
  other = Three();
  other.epoch_rows = 100;
  EXPECT_NE(print({.seed = 1}, other), base) << "epoch_rows";
  other = Three();
  other.end = EpochEnd::kShortest;
  EXPECT_NE(print({.seed = 1}, other), base) << "epoch";
  other = Three();
  other.changes = {{.at_rows = 64, .weights = {1, 1, 1}}};
  EXPECT_NE(print({.seed = 1}, other), base) << "changes";
  const uint64_t changed = print({.seed = 1}, other);
  other.changes[0].at_rows = 128;
  EXPECT_NE(print({.seed = 1}, other), changed) << "at_rows";
  other = Three();
  other.batch = 8;
  EXPECT_NE(print({.seed = 1}, other), base) << "batch";
  const uint64_t by_eight = print({.seed = 1}, other);
  other.batch = 16;
  EXPECT_NE(print({.seed = 1}, other), by_eight) << "another batch";
  other = Three();
  other.sets[0].shards = 2;
  other.sets[1].shards = 2;
  EXPECT_NE(print({.seed = 1}, other), base) << "shards of a set";
  other = Three();
  other.epoch_rows = 96;
  const uint64_t anew = print({.seed = 1}, other);
  other.start = BlendStart{.order = 1, .at = {0, 8}, .epoch_rows = 96, .rows = {5, 2, 1}};
  const uint64_t continued = print({.seed = 1}, other);
  EXPECT_NE(continued, anew) << "start";
  other.start->rows[0] = 4;
  EXPECT_NE(print({.seed = 1}, other), continued) << "rows at the start";
  other.start->rows[0] = 5;
  other.start->at.position = 9;
  EXPECT_NE(print({.seed = 1}, other), continued) << "place of the start";
  EXPECT_NE(print({.seed = 2}, Three()), base) << "seed";
  EXPECT_NE(print({.seed = 1, .shuffle = Shuffle::kFull}, Three()), base) << "shuffle";
  EXPECT_NE(print({.seed = 1, .repeats = 2}, Three()), base) << "repeats";
  EXPECT_NE(print({.seed = 1}, Three(), 2), base) << "snapshot";
}

TEST(DataOrder, RejectsSetsThatDoNotFit) {
  const auto error = [](const std::vector<uint64_t>& counts, const BlendOptions& blend) {
    return std::string(DataOrder::Create(counts, {}, blend).status().message());
  };
  EXPECT_THAT(error(kCounts, {.sets = {{"a", 1}, {"none", 1}, {"c", 3}}}),
              HasSubstr("dataset[1] 'none' has no records"));
  EXPECT_THAT(error(kCounts, {.sets = {{"a", 3}}}), HasSubstr("3 shards, and the snapshot has 5"));
  EXPECT_THAT(error(kCounts, {.sets = {{"a", 9}}}), HasSubstr("more than 5 shards"));
  EXPECT_THAT(error(kCounts, {.sets = {{"a", 5}}, .epoch_rows = UINT64_MAX}), HasSubstr("more than 2^62 rows"));
}

TEST(DataOrder, LocatesRecordsInTheirSet) {
  const OrderPtr order = Make(kCounts, {}, Three());
  EXPECT_EQ(order->Locate(46), (SetLocation{0, 2, 16}));
  EXPECT_EQ(order->Locate(47), (SetLocation{1, 0, 0}));
  EXPECT_EQ(order->Locate(251), (SetLocation{2, 0, 4}));
  EXPECT_EQ(order->SetOf(2), 0u);
  EXPECT_EQ(order->SetOf(3), 1u);
}

}  // namespace
}  // namespace penstock::plan
