#include "pipeline/sources/snapshot.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace penstock::sources {
namespace {

std::vector<SnapshotShard> Shards() {
  return {
      {"a", "s0", 100, 3, 11, 60}, {"a", "s1", 16, 0, 12, 0}, {"a", "s10", 90, 2, 13, 50}, {"b", "s0", 80, 1, 14, 40}};
}

TEST(Snapshot, MapsEveryRecordToItsShardAndBack) {
  const auto snapshot = Snapshot::Create(Shards());
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->total_records(), 6u);
  EXPECT_EQ(snapshot->data_bytes(), 150u);
  const std::vector<RecordRef> expected = {{0, 0}, {0, 1}, {0, 2}, {2, 0}, {2, 1}, {3, 0}};
  for (uint64_t g = 0; g < 6; ++g) {
    EXPECT_EQ(snapshot->ToShard(g), expected[g]) << g;
    EXPECT_EQ(snapshot->ToGlobal(expected[g]), g);
  }
  EXPECT_EQ(Snapshot().total_records(), 0u);
}

TEST(Snapshot, FindsRecordsOfShardsOfVeryDifferentSizes) {
  // In order: shards of one size; empty shards at all places; a huge shard among small ones; more shards than records.
  const std::vector<std::vector<uint64_t>> shapes = {{100, 100, 100, 100, 100, 100, 100},
                                                     {0, 0, 5, 0, 1, 0, 0},
                                                     {1, 2, 100'000, 1, 0, 3},
                                                     {100'000, 1, 1, 1, 1, 1},
                                                     {0, 0, 0, 0, 0, 0, 0, 0, 1},
                                                     {1}};
  for (const std::vector<uint64_t>& counts : shapes) {
    std::vector<SnapshotShard> shards;
    for (const uint64_t count : counts) {
      shards.push_back({"a", std::string(1, static_cast<char>('a' + shards.size())), 100, count, 11, 60});
    }
    const auto snapshot = Snapshot::Create(shards);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    uint64_t record = 0;
    for (uint32_t shard = 0; shard < counts.size(); ++shard) {
      for (uint64_t k = 0; k < counts[shard]; ++k, ++record) {
        ASSERT_EQ(snapshot->ToShard(record), (RecordRef{shard, k})) << record;
      }
    }
  }
}

TEST(Snapshot, OfASliceHasItsRecordsAndAFingerprintOfItsOwn) {
  std::set<uint64_t> fingerprints = {Snapshot::Create(Shards())->Fingerprint()};
  for (const auto& [first, stride, count] :
       std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>{{0, 1, 2}, {1, 1, 2}, {0, 2, 2}, {0, 1, 1}, {0, 1, 0}}) {
    auto shards = Shards();
    shards[0].Slice(first, stride, count);
    EXPECT_EQ(shards[0].indexed_records(), 3u);
    EXPECT_EQ(shards[0].data_bytes, 20 * count);
    const auto snapshot = Snapshot::Create(shards);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->total_records(), 3 + count);
    EXPECT_TRUE(fingerprints.insert(snapshot->Fingerprint()).second) << first << " " << stride << " " << count;
  }
  auto shards = Shards();
  shards[0].Slice(0, 1, 3);
  EXPECT_EQ(shards, Shards()) << "a slice that keeps all records is none";
}

TEST(Snapshot, RejectsASliceOutsideItsIndex) {
  for (const RecordSlice& slice :
       {RecordSlice{3, 3, 1}, RecordSlice{3, 0, 2}, RecordSlice{2, 0, 1}, RecordSlice{3, 0, 0}, RecordSlice{3, 1, 1},
        RecordSlice{uint64_t{1} << 32, 0, 1}, RecordSlice{3, 0, UINT64_MAX}, RecordSlice{3, UINT64_MAX, 1}}) {
    auto shards = Shards();
    shards[0].slice = slice;
    EXPECT_TRUE(absl::IsInvalidArgument(Snapshot::Create(shards).status()))
        << slice.of << " " << slice.first << " " << slice.stride;
  }
}

TEST(Snapshot, RejectsASliceOfGroups) {
  auto shards = Shards();
  shards[0].groups = {{0}, {3}};
  ASSERT_TRUE(Snapshot::Create(shards, {}, {"a"}).ok());
  shards[0].Slice(0, 1, 2);
  EXPECT_TRUE(absl::IsInvalidArgument(Snapshot::Create(shards, {}, {"a"}).status()));
}

TEST(Snapshot, RejectsShardsOutOfOrderOrTwice) {
  auto shards = Shards();
  std::swap(shards[0], shards[1]);
  EXPECT_TRUE(absl::IsInvalidArgument(Snapshot::Create(shards).status()));
  shards = Shards();
  shards[1] = shards[0];
  EXPECT_TRUE(absl::IsInvalidArgument(Snapshot::Create(shards).status()));
  shards = Shards();
  shards[2].record_count = UINT64_MAX;
  EXPECT_TRUE(absl::IsInvalidArgument(Snapshot::Create(shards).status()));
}

TEST(Snapshot, FingerprintDependsOnlyOnTheRecords) {
  const uint64_t print = Snapshot::Create(Shards())->Fingerprint();
  EXPECT_EQ(print, 13741351302735566634u);  // pinned: states of trainers contain it
  auto shards = Shards();
  shards[0].size = 99;
  EXPECT_EQ(Snapshot::Create(shards)->Fingerprint(), print);
  shards[0].content_hash = 99;
  EXPECT_NE(Snapshot::Create(shards)->Fingerprint(), print);
  shards = Shards();
  shards[3].root = "c";
  EXPECT_NE(Snapshot::Create(shards)->Fingerprint(), print);
  shards = Shards();
  shards.pop_back();
  EXPECT_NE(Snapshot::Create(shards)->Fingerprint(), print);
}

}  // namespace
}  // namespace penstock::sources
