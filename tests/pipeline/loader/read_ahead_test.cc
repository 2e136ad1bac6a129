// Decisions about reads ahead: which records, how and with how many bytes, without a loader, a storage or a thread.
#include "pipeline/loader/read_ahead/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

using AheadPlace = ReadAhead::Place;

constexpr int kAheadShards = 3, kAheadShardRecords = 400;
constexpr uint64_t kAheadRecordBytes = 1000, kAllRecords = kAheadShards * kAheadShardRecords;
// Rows that start too soon for a range.
constexpr uint64_t kSoon = 64;

// Records in made-up shards. Each record of a range that began is here from then on.
class MadeUpRecords final : public ReadAhead::Records {
 public:
  MadeUpRecords() {
    auto index = std::make_shared<sources::ShardIndex>();
    for (int i = 0; i < kAheadShardRecords; ++i) index->AppendRecord(kAheadRecordBytes);
    index_ = std::move(index);
  }
  bool Has(uint64_t record) const override {
    ++calls;
    return here.contains(record);
  }
  bool IsOpen(uint64_t record) const override { return !closed.contains(ShardOf(record)); }
  void Open(uint64_t record) override { opened.insert(ShardOf(record)); }
  std::shared_ptr<const sources::ShardIndex> IndexOf(uint32_t shard) const override {
    return closed.contains(shard) || alone.contains(shard) ? nullptr : index_;
  }
  static uint32_t ShardOf(uint64_t record) { return static_cast<uint32_t>(record / kAheadShardRecords); }

  std::set<uint64_t> here;                   // records
  std::set<uint32_t> closed, opened, alone;  // shards; `alone`: their records cannot be read several at a time
  mutable uint64_t calls = 0;

 private:
  std::shared_ptr<const sources::ShardIndex> index_;
};

class ReadAheadTest : public ::testing::Test {
 protected:
  void Make(v1::Order::Shuffle shuffle = v1::Order::NONE, uint64_t range_bytes = 20 * kAheadRecordBytes) {
    known_.bytes = uint64_t{1} << 30;
    known_.now = kSecond;
    v1::JobSpec spec;
    spec.set_name("ahead");
    spec.mutable_order()->set_shuffle(shuffle);
    spec.mutable_order()->set_chunk_records(8);
    spec.mutable_order()->set_window_chunks(20);
    job_ = LoadJob::Create(spec, std::make_shared<MemoryDataset>(kAheadShards, kAheadShardRecords, kAheadRecordBytes),
                           std::make_unique<MemoryPipeline>(8))
               .value();
    RangeLimits limits;
    limits.most_bytes = range_bytes;
    ahead_ = std::make_unique<ReadAhead>(job_, limits);
    Expect(ExpectAll(*job_));
    Ask(0, 100);
  }
  void Expect(ExpectedRows rows) { known_.expected = std::make_shared<const ExpectedRows>(std::move(rows)); }
  // Rows [begin, end) of epoch 0 are requested, and the first of them is made.
  void Ask(uint64_t begin, uint64_t end) {
    known_.at = {0, begin};
    known_.requested.Add(RowsOf(begin, end, 10));
  }
  // One look: begins all its ranges.
  std::vector<RangeRead> Look() {
    const ReadAhead::Turn turn(ahead_.get());
    PS_CHECK(turn.granted());
    ReadAhead::RangeLook look(ahead_.get(), known_, &records_);
    std::vector<RangeRead> ranges;
    while (std::optional<RangeRead> range = look.Next()) {
      for (const uint64_t number : range->wanted) {
        EXPECT_TRUE(records_.here.insert(range->shard_first + number).second) << "read twice";
      }
      ranges.push_back(*std::move(range));
    }
    return ranges;
  }
  // Looks until nothing more can be read at this row.
  std::vector<RangeRead> LookOften() {
    std::vector<RangeRead> all;
    for (int i = 0; i < 100; ++i) {
      for (RangeRead& range : Look()) all.push_back(std::move(range));
    }
    return all;
  }
  static std::set<uint64_t> RecordsOf(const std::vector<RangeRead>& ranges) {
    std::set<uint64_t> records;
    for (const RangeRead& range : ranges) {
      for (const uint64_t number : range.wanted) records.insert(range.shard_first + number);
    }
    return records;
  }

  std::shared_ptr<const LoadJob> job_;
  std::unique_ptr<ReadAhead> ahead_;
  MadeUpRecords records_;
  ReadAhead::Known known_;
};

TEST(ReadAheadWays, OnlySlowStorageIsReadAhead) {
  using Way = ReadAhead::Way;
  for (const bool low_latency : {false, true}) {
    EXPECT_EQ(ReadAhead::WayOf(RecordPlace::kMemory, low_latency), Way::kNone);
    EXPECT_EQ(ReadAhead::WayOf(RecordPlace::kDiskCache, low_latency), Way::kHintDiskCache);
  }
  EXPECT_EQ(ReadAhead::WayOf(RecordPlace::kStorage, true), Way::kHintStorage);
  EXPECT_EQ(ReadAhead::WayOf(RecordPlace::kStorage, false), Way::kRead);
}

TEST(ReadAheadWays, ReadsAndRangesLeaveMemoryForRows) {
  EXPECT_EQ(ReadAhead::BytesForRead(1000, 4, 300), 1000u + 4 * 300);
  EXPECT_EQ(ReadAhead::BytesForRanges(10'000, 4000), 3000u);
}

TEST(LookPace, SkipsMoreAfterEachLookWithoutReadsUpToTheLimit) {
  LookPace pace(10);
  const auto skipped = [&] {
    int count = 0;
    while (pace.Skips()) ++count;
    return count;
  };
  EXPECT_EQ(skipped(), 0);
  for (const int expected : {1, 3, 7, 10, 10}) {
    pace.BeganNothing();
    EXPECT_EQ(skipped(), expected);
  }
  pace.Began();
  EXPECT_EQ(skipped(), 0);
  pace.BeganNothing();
  EXPECT_EQ(skipped(), 1);
}

TEST_F(ReadAheadTest, OnlyALookAtManyRowsWithoutReadsDelaysTheNextLook) {
  Make();
  ASSERT_TRUE(ahead_->BeginsReads());
  ahead_->EndReads(ReadAhead::kRowsAtOnce - 1, 0);  // it has reached the last row
  ASSERT_TRUE(ahead_->BeginsReads());
  ahead_->EndReads(ReadAhead::kRowsAtOnce, 1);
  ASSERT_TRUE(ahead_->BeginsReads());
  ahead_->EndReads(ReadAhead::kRowsAtOnce, 0);
  EXPECT_FALSE(ahead_->BeginsReads());
  EXPECT_TRUE(ahead_->BeginsReads());
}

TEST_F(ReadAheadTest, OnlyOneThreadAtATimeLooksAhead) {
  Make();
  std::optional<ReadAhead::Turn> first(ahead_.get());
  EXPECT_TRUE(first->granted());
  {
    const ReadAhead::Turn second(ahead_.get());
    EXPECT_FALSE(second.granted());
  }
  EXPECT_FALSE(ReadAhead::Turn(ahead_.get()).granted());  // the second one ended nothing
  first.reset();
  EXPECT_TRUE(ReadAhead::Turn(ahead_.get()).granted());
}

TEST_F(ReadAheadTest, RangesHaveEachExpectedRecordOnceExceptThoseNeededSoon) {
  for (const v1::Order::Shuffle shuffle : {v1::Order::NONE, v1::Order::CHUNKED}) {
    Make(shuffle);
    known_.requested = {};
    Ask(0, 300);
    records_.here.clear();
    const std::vector<RangeRead> ranges = LookOften();
    const plan::EpochOrder plan = job_->PlanOf(0);
    const std::set<uint64_t> read = RecordsOf(ranges);
    for (uint64_t position = 0; position < kSoon; ++position) {
      EXPECT_FALSE(read.contains(plan.RecordAt(position))) << position;
    }
    EXPECT_GT(read.size(), kAllRecords * 3 / 4);
    EXPECT_LT(ranges.size(), read.size() / 4);
    for (const RangeRead& range : ranges) {
      EXPECT_LE(range.records.bytes, 20 * kAheadRecordBytes);
      EXPECT_EQ(range.records.wanted, range.wanted.size());
      AheadPlace last;
      for (const uint64_t number : range.wanted) {
        last = std::max(last, AheadPlace{0, *plan.PositionOf(range.shard_first + number, 0)});
      }
      EXPECT_EQ(range.end, last);
    }
  }
}

TEST_F(ReadAheadTest, UnexpectedAndPresentRecordsAreNotRead) {
  Make();
  // Each second step of 20 rows, as rank 0 of 2.
  Expect(ExpectedRows(*plan::Steps::Create(kAllRecords, 40, plan::LastBatch::kDrop, 2), 0, {}, 1));
  for (uint64_t record = 400; record < 800; ++record) records_.here.insert(record);
  known_.requested = {};
  Ask(0, 300);
  const std::set<uint64_t> read = RecordsOf(LookOften());
  EXPECT_FALSE(read.empty());
  for (const uint64_t record : read) {
    EXPECT_LT(record % 40, 20u) << record;
    EXPECT_TRUE(record < 400 || record >= 800) << record;
  }
}

TEST_F(ReadAheadTest, ReadsOnlyAsFarAsTheBytesHoldAllRecords) {
  Make();
  known_.bytes = 200 * kAheadRecordBytes;
  const std::set<uint64_t> read = RecordsOf(LookOften());
  ASSERT_FALSE(read.empty());
  EXPECT_LT(*read.rbegin(), 200u);
  EXPECT_GT(*read.rbegin(), 130u);  // a range begins before three quarters
  // The distance grows as rows are made.
  Ask(100, 200);
  const std::set<uint64_t> more = RecordsOf(LookOften());
  ASSERT_FALSE(more.empty());
  EXPECT_LT(*more.rbegin(), 300u);
  EXPECT_GT(*more.rbegin(), 230u);
}

// However many epochs a session expects, a look examines a few positions, and none of an epoch without requests.
TEST_F(ReadAheadTest, TwoHundredEpochsCostNoMoreThanOne) {
  uint64_t calls[2] = {};
  std::set<uint64_t> read[2];
  for (const uint64_t epochs : {1u, 200u}) {
    Make(v1::Order::CHUNKED);
    Expect(ExpectAll(*job_, epochs));
    records_ = MadeUpRecords();
    read[epochs > 1] = RecordsOf(LookOften());
    calls[epochs > 1] = records_.calls;
  }
  EXPECT_EQ(calls[1], calls[0]);
  EXPECT_EQ(read[1], read[0]);
}

// A read that is needed sooner blocks the later ones for as long as a storage may take, and no longer.
TEST_F(ReadAheadTest, AShardThatDoesNotOpenBlocksTheOthersForASecond) {
  Make(v1::Order::CHUNKED);
  records_.closed = {1};
  const size_t waiting = RecordsOf(LookOften()).size();
  EXPECT_EQ(records_.opened, std::set<uint32_t>{1});
  EXPECT_LT(waiting, 100u);
  known_.now += kSecond - 1;
  EXPECT_TRUE(LookOften().empty());
  known_.now += 1;
  const std::set<uint64_t> read = RecordsOf(LookOften());
  EXPECT_GT(read.size(), 300u);
  for (const uint64_t record : read) EXPECT_NE(MadeUpRecords::ShardOf(record), 1u);
}

TEST_F(ReadAheadTest, ARangeWithoutMemoryIsReturnedAgainAfterASkippedLook) {
  Make();
  std::optional<RangeRead> first;
  {
    const ReadAhead::Turn turn(ahead_.get());
    ReadAhead::RangeLook look(ahead_.get(), known_, &records_);
    first = look.Next();
    ASSERT_TRUE(first.has_value());
    look.NotBegun();
  }
  EXPECT_TRUE(Look().empty());  // skipped
  const std::vector<RangeRead> again = Look();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].records, first->records);
  EXPECT_EQ(again[0].shard, first->shard);
}

TEST_F(ReadAheadTest, ALookStartsAgainWhenTheSessionExpectsOtherRows) {
  Make();
  Expect(ExpectedRows());
  EXPECT_TRUE(LookOften().empty());
  Expect(ExpectAll(*job_));
  const std::set<uint64_t> read = RecordsOf(LookOften());
  ASSERT_FALSE(read.empty());
  EXPECT_EQ(*read.begin(), kSoon);
}

TEST_F(ReadAheadTest, ShardsWhoseRecordsCannotBeReadTogetherAreSkipped) {
  Make();
  records_.alone = {0};
  known_.requested = {};
  Ask(0, 300);
  const std::set<uint64_t> read = RecordsOf(LookOften());
  ASSERT_FALSE(read.empty());
  EXPECT_EQ(MadeUpRecords::ShardOf(*read.begin()), 1u);
}

TEST_F(ReadAheadTest, RangesHavePassedWhenTheSessionIsFarBeyondTheirEnd) {
  EXPECT_FALSE(ReadAhead::HavePassed({0, 100}, {0, 100}));
  EXPECT_FALSE(ReadAhead::HavePassed({0, 100}, {0, 1124}));
  EXPECT_TRUE(ReadAhead::HavePassed({0, 100}, {0, 1125}));
  EXPECT_FALSE(ReadAhead::HavePassed({0, 100}, {1, 1024}));
  EXPECT_TRUE(ReadAhead::HavePassed({0, 100}, {1, 1025}));
}

}  // namespace
}  // namespace penstock::loader
