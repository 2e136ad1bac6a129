// Packed rows: each value of each record is in one row, no row is too long, and few rows have room left.
#include "pipeline/plan/record_packs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace penstock::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Longer = PackOptions::Longer;

std::vector<uint32_t> LogNormalLengths(size_t count, uint64_t seed, double mean) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> draw(mean, 1);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = static_cast<uint32_t>(draw(random));
  return lengths;
}

RecordPacks Pack(const std::vector<uint32_t>& lengths, const PackOptions& options) {
  const absl::StatusOr<RecordPacks> packs = PackRecords(lengths, options);
  EXPECT_TRUE(packs.ok()) << packs.status();
  return packs.value_or(RecordPacks());
}

uint64_t ValuesOf(std::span<const PackPart> row) {
  uint64_t values = 0;
  for (const PackPart& part : row) values += part.count;
  return values;
}

// Returns the number of rows that best fit decreasing needs, computed with a search of all rows for each record.
size_t RowsBySearch(std::vector<uint32_t> lengths, uint64_t length) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<uint64_t> room;
  for (const uint32_t each : lengths) {
    auto best = room.end();
    for (auto row = room.begin(); row != room.end(); ++row) {
      if (*row >= each && (best == room.end() || *row < *best)) best = row;
    }
    if (best == room.end()) best = room.insert(room.end(), length);
    *best -= each;
  }
  return room.size();
}

TEST(RecordPacks, EachValueIsInOneRowAndNoRowIsTooLong) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<uint32_t> lengths = LogNormalLengths(random() % 300, random(), 3);
    const PackOptions options{.length = 1 + random() % 100, .window = 1 + random() % 90};
    const RecordPacks packs = Pack(lengths, options);
    std::set<std::pair<uint32_t, uint32_t>> begins;
    std::vector<uint64_t> values(lengths.size(), 0);
    for (size_t row = 0; row < packs.rows(); ++row) {
      EXPECT_LE(ValuesOf(packs.Row(row)), options.length);
      EXPECT_FALSE(packs.Row(row).empty());
      const uint64_t window = packs.Row(row)[0].record / options.window;
      for (const PackPart& part : packs.Row(row)) {
        EXPECT_EQ(part.record / options.window, window);
        EXPECT_TRUE(begins.emplace(part.record, part.first).second);
        EXPECT_EQ(part.first % options.length, 0u) << "records are cut only where a whole row ends";
        values[part.record] += part.count;
      }
    }
    for (size_t k = 0; k < lengths.size(); ++k) EXPECT_EQ(values[k], lengths[k]);
  }
}

TEST(RecordPacks, TruncatedRecordsHaveTheirFirstOrLastValuesAndDroppedOnesNone) {
  const std::vector<uint32_t> lengths = {3, 25, 10, 11, 0};
  const RecordPacks cut = Pack(lengths, {.length = 10, .longer = Longer::kKeepFirst, .window = 100});
  EXPECT_EQ(cut.rows(), 4u);
  const RecordPacks last = Pack(lengths, {.length = 10, .longer = Longer::kKeepLast, .window = 100});
  EXPECT_THAT(last.parts, UnorderedElementsAre(PackPart{0, 0, 3}, PackPart{1, 15, 10}, PackPart{2, 0, 10},
                                               PackPart{3, 1, 10}, PackPart{4, 0, 0}));
  const RecordPacks dropped = Pack(lengths, {.length = 10, .longer = Longer::kDrop, .window = 100});
  EXPECT_THAT(dropped.parts, ElementsAre(PackPart{0, 0, 3}, PackPart{2, 0, 10}, PackPart{4, 0, 0}));
  EXPECT_THAT(dropped.ends, ElementsAre(1u, 3u));
}

TEST(RecordPacks, RowsAreThoseOfBestFitDecreasing) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<uint32_t> lengths = LogNormalLengths(400, random(), 4);
    for (uint32_t& length : lengths) length = std::min<uint32_t>(length, 500);
    const RecordPacks packs = Pack(lengths, {.length = 500, .window = 400});
    EXPECT_EQ(packs.rows(), RowsBySearch(lengths, 500));
  }
}

TEST(RecordPacks, AlignedPartsTakeWholePlaces) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    const uint64_t align = 1 + random() % 16;
    std::vector<uint32_t> lengths = LogNormalLengths(300, random(), 3);
    const PackOptions options{.length = align * (1 + random() % 12), .align = align, .window = 300};
    const RecordPacks packs = Pack(lengths, options);
    uint64_t values = 0;
    for (size_t row = 0; row < packs.rows(); ++row) {
      uint64_t places = 0;
      for (const PackPart& part : packs.Row(row)) places += (part.count + align - 1) / align;
      EXPECT_LE(places * align, options.length);
      values += ValuesOf(packs.Row(row));
    }
    EXPECT_EQ(values, std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
    if (options.length < *std::max_element(lengths.begin(), lengths.end())) continue;
    // As many rows as records need that fill their places.
    for (uint32_t& length : lengths) length = static_cast<uint32_t>((length + align - 1) / align * align);
    EXPECT_EQ(packs.rows(), Pack(lengths, {.length = options.length, .window = 300}).rows());
  }
}

TEST(RecordPacks, RowsOfAWindowAreAlmostFull) {
  std::vector<uint32_t> lengths = LogNormalLengths(40960, 11, 5);
  const RecordPacks packs = Pack(lengths, {.length = 2048, .longer = Longer::kSplit, .window = 4096});
  const double values = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
  EXPECT_GT(values / (2048.0 * static_cast<double>(packs.rows())), 0.997);
}

TEST(RecordPacks, ConcatenatedRowsAreFullAndContinueEachOther) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 50; ++round) {
    const std::vector<uint32_t> lengths = LogNormalLengths(1 + random() % 200, random(), 3);
    PackOptions options{.length = 2 + random() % 60, .concatenate = true, .window = 1 + random() % 150};
    options.overlap = random() % 2 == 0 ? 0 : random() % options.length;
    const RecordPacks packs = Pack(lengths, options);
    for (uint64_t begin = 0, row = 0; begin < lengths.size(); begin += options.window) {
      const uint64_t end = std::min<uint64_t>(lengths.size(), begin + options.window);
      // The values of the window's rows in their order, without those that a row shares with its predecessor.
      std::vector<std::pair<uint32_t, uint32_t>> stream;
      bool is_first = true, was_full = true;
      for (; row < packs.rows() && packs.Row(row)[0].record < end; ++row) {
        EXPECT_TRUE(was_full) << "only the last row of a window has room";
        was_full = ValuesOf(packs.Row(row)) == options.length;
        std::vector<std::pair<uint32_t, uint32_t>> values;
        PackPart before;
        for (const PackPart& part : packs.Row(row)) {
          for (uint32_t i = 0; i < part.count; ++i) values.emplace_back(part.record, part.first + i);
          EXPECT_FALSE(before.count > 0 && before.record == part.record && before.first + before.count == part.first)
              << "values that follow each other in a record are one part";
          before = part;
        }
        const size_t shared = is_first ? 0 : options.overlap;
        ASSERT_LE(shared, values.size());
        EXPECT_TRUE(std::equal(values.begin(), values.begin() + static_cast<ptrdiff_t>(shared),
                               stream.end() - static_cast<ptrdiff_t>(shared)));
        stream.insert(stream.end(), values.begin() + static_cast<ptrdiff_t>(shared), values.end());
        is_first = false;
      }
      std::sort(stream.begin(), stream.end());
      std::vector<std::pair<uint32_t, uint32_t>> all;
      for (uint64_t k = begin; k < end; ++k) {
        for (uint32_t i = 0; i < lengths[k]; ++i) all.emplace_back(static_cast<uint32_t>(k), i);
      }
      EXPECT_EQ(stream, all);
    }
  }
}

// The rows of a job must stay the same in every release, because states of trainers count them.
TEST(RecordPacks, StayTheSameInEveryRelease) {
  const std::vector<uint32_t> lengths = {5, 2, 9, 4, 0, 7, 12, 1, 3, 3};
  const RecordPacks fitted = Pack(lengths, {.length = 10, .window = 6});
  EXPECT_THAT(fitted.ends, ElementsAre(2u, 4u, 6u, 7u, 11u));
  EXPECT_THAT(fitted.parts, ElementsAre(PackPart{0, 0, 5}, PackPart{3, 0, 4}, PackPart{1, 0, 2}, PackPart{5, 0, 7},
                                        PackPart{2, 0, 9}, PackPart{4, 0, 0}, PackPart{6, 0, 10}, PackPart{6, 10, 2},
                                        PackPart{7, 0, 1}, PackPart{8, 0, 3}, PackPart{9, 0, 3}));
  const RecordPacks cut = Pack(lengths, {.length = 10, .concatenate = true, .overlap = 1, .window = 10});
  EXPECT_THAT(cut.ends, ElementsAre(2u, 5u, 7u, 11u, 14u));
}

TEST(RecordPacks, RecordsWithoutValuesNeedNoRoom) {
  EXPECT_THAT(Pack({4, 0, 0}, {.length = 4, .window = 9}).ends, ElementsAre(3u));
  EXPECT_EQ(Pack({4, 0, 0}, {.length = 4, .concatenate = true, .overlap = 2, .window = 9}).rows(), 1u);
}

TEST(RecordPacks, TooManyPartsAreAnError) {
  const std::vector<uint32_t> lengths(2, 100 << 20);
  for (const PackOptions& options :
       {PackOptions{.length = 1, .window = 2}, PackOptions{.length = 1, .concatenate = true, .window = 2},
        PackOptions{.length = 1000, .concatenate = true, .overlap = 999, .window = 2}}) {
    const absl::Status status = PackRecords(lengths, options).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
}

TEST(RecordPacks, NoRecordsMakeNoRows) {
  EXPECT_EQ(Pack({}, {.length = 10, .window = 5}).rows(), 0u);
  EXPECT_EQ(Pack({20, 30}, {.length = 10, .longer = Longer::kDrop, .window = 5}).rows(), 0u);
}

}  // namespace
}  // namespace penstock::plan
