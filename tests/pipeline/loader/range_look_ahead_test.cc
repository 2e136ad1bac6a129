// Look-ahead of a session's rows, row by row, on the test's clock.
#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/loader/read_ahead/record_ranges.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/pipeline/loader/ranged_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kAheadRecords = 1200, kAheadPerShard = 400;

// Grants every request and counts the bytes of each session.
class Memory final : public BudgetLease::Owner {
 public:
  void Release(uint64_t session, uint64_t bytes) override {
    MutexLock lock(&mutex_);
    used_[session] -= bytes;
  }
  void Reserve(uint64_t session, uint64_t bytes) {
    MutexLock lock(&mutex_);
    used_[session] += bytes;
  }
  uint64_t used(uint64_t session) {
    MutexLock lock(&mutex_);
    return used_[session];
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, uint64_t> used_ ABSL_GUARDED_BY(mutex_);
};

struct Opened final : ReadyWaiter {
  void OnReady(std::shared_ptr<const void>) override { done.set_value(); }
  std::promise<void> done;
};

class RangeLookAheadTest : public ::testing::Test {
 protected:
  RangeLookAheadTest() {
    support::ImageDatasetOptions images;
    images.shards = 3;
    images.records_per_shard = kAheadPerShard;
    set_ = support::MakeImageDataset(images, folder_.path());
    RecordRanges::Options options;
    options.most_under_way = 1000;
    options.reserve = [memory = memory_](uint64_t session, uint64_t bytes) {
      memory->Reserve(session, bytes);
      return std::make_unique<BudgetLease>(memory, session, bytes);
    };
    options.cached = [](const LoadJob&, uint64_t) { return false; };
    options.wanted = [] { return false; };
    clock_.Advance(kSecond);  // 0 would mean that no time is set
    options.clock = &clock_;
    ranges_ = std::make_shared<RecordRanges>(std::move(options));
  }
  ~RangeLookAheadTest() override {
    storage_.HoldOpensOf("");
    for (const auto& [id, ahead] : sessions_) ranges_->CloseSession(id);
  }

  // A job with loaded indexes and without open files.
  std::shared_ptr<const LoadJob> Job(v1::Order::Shuffle shuffle) {
    set_.job.mutable_order()->set_shuffle(shuffle);
    set_.job.mutable_order()->set_window_chunks(1024);
    const auto frozen = OpenDataset(storage::LocalFiles(), set_.job, set_.roots, std::nullopt, 1);
    PS_CHECK(frozen.ok());
    for (const bool read : {true, false}) {
      DatasetReader::Options options;
      const auto reader = DatasetReader::Create(
          read ? storage::LocalFiles() : &storage_, (*frozen)->snapshot(), set_.roots,
          IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), sources::IndexOptions()),
          options);
      PS_CHECK(reader.ok());
      if (!read) return LoadJob::Create(set_.job, *reader).value();
      for (uint64_t record = 0; record < kAheadRecords; record += kAheadPerShard) {
        std::string bytes;
        PS_CHECK((*reader)->ReadRecord(record, &bytes).ok());
        storage_.longest_record = 4 << 10;
      }
    }
    return nullptr;
  }
  void Open(uint64_t id, std::shared_ptr<const LoadJob> job) {
    RangeLimits limits;
    limits.most_bytes = 12 << 10;  // a few records
    sessions_.emplace(id, std::make_unique<ReadAhead>(job, limits));
    ranges_->OpenSession(id, std::move(job), {});
  }
  // Acts as if the session, which has requested 400 rows from `at` on, made the first of them `times` times.
  void Look(uint64_t id, uint64_t at, uint64_t room, std::shared_ptr<const ExpectedRows> expected, int times = 1000) {
    ReadAhead::Known known;
    known.at = {0, at};
    known.requested.first = known.requested.furthest = known.at;
    known.requested.rows = 400;
    known.requested.furthest.position += known.requested.rows;
    known.expected = expected;
    known.bytes = room;
    known.now = clock_.Now();
    for (int i = 0; i < times; ++i) ranges_->LookAhead(id, sessions_.at(id).get(), known);
  }
  // Blocks until the files of these shards are open. Only look-ahead requests to open them.
  void WaitUntilOpen(const LoadJob& job, const std::vector<uint32_t>& shards) {
    for (const uint32_t shard : shards) {
      storage_.WaitForOpenOf(set_.files[shard]);
      const auto opened = std::make_shared<Opened>();
      job.reader().WhenReady(shard * kAheadPerShard, opened);
      opened->done.get_future().wait();
    }
  }
  // The number of the shard's records in ranges that are loaded or under way.
  uint64_t InRanges(const LoadJob& job, uint32_t shard) {
    uint64_t found = 0;
    for (uint64_t record = shard * kAheadPerShard; record < (shard + 1) * kAheadPerShard; ++record) {
      found += ranges_->WhenOver(job, record, [] {}) ? 1 : 0;
    }
    return found;
  }

  support::TempFolder folder_, state_;
  RangedStorage storage_;
  support::TestDataset set_;
  ManualClock clock_;
  const std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::shared_ptr<RecordRanges> ranges_;
  std::map<uint64_t, std::unique_ptr<ReadAhead>> sessions_;
};

// A read that is needed sooner blocks the later ones for as long as a storage may take, and no longer.
TEST_F(RangeLookAheadTest, AShardThatDoesNotOpenBlocksTheOthersForASecond) {
  const auto job = Job(v1::Order::CHUNKED);
  const auto all = std::make_shared<const ExpectedRows>(ExpectAll(*job));
  storage_.HoldOpensOf(set_.files[1]);
  Open(1, job);
  Look(1, 0, 16 << 20, all, 1);
  WaitUntilOpen(*job, {0, 2});
  storage_.WaitForOpenOf(set_.files[1]);
  Look(1, 0, 16 << 20, all);
  const uint64_t waiting = InRanges(*job, 0) + InRanges(*job, 2);
  clock_.Advance(kSecond - 1);
  Look(1, 0, 16 << 20, all);
  EXPECT_EQ(InRanges(*job, 0) + InRanges(*job, 2), waiting);
  EXPECT_LT(waiting, 100u);
  clock_.Advance(1);
  Look(1, 0, 16 << 20, all);
  EXPECT_GT(InRanges(*job, 0), kAheadPerShard / 2);
  EXPECT_GT(InRanges(*job, 2), kAheadPerShard / 2);
  EXPECT_EQ(InRanges(*job, 1), 0u);
}

TEST_F(RangeLookAheadTest, ShardsOfRecordsOfOtherWorkersAreNotOpened) {
  const auto job = Job(v1::Order::CHUNKED);
  Open(1, job);
  plan::View view;
  view.key_space = kAheadRecords;
  view.ranges = {{0, 400, 0, 1}, {400, 800, 1, 0}, {800, 1200, 0, 1}};
  view.workers = {{"a", "h:1"}, {"b", "h:2"}};
  const auto ours = std::make_shared<const ExpectedRows>(
      *plan::Steps::Create(kAheadRecords, 10, plan::LastBatch::kDrop, 1), 0, plan::Cursor{}, plan::kWithoutEnd,
      std::make_shared<const plan::OwnedKeys>(plan::OwnedKeys::Of(view, "a")));
  Look(1, 0, 16 << 20, ours, 1);
  WaitUntilOpen(*job, {0, 2});
  Look(1, 0, 16 << 20, ours);
  EXPECT_GT(InRanges(*job, 0), kAheadPerShard / 2);
  EXPECT_GT(InRanges(*job, 2), kAheadPerShard / 2);
  EXPECT_EQ(InRanges(*job, 1), 0u);
  EXPECT_FALSE(job->reader().IsReady(kAheadPerShard));
}

TEST_F(RangeLookAheadTest, SessionsShareTheMemory) {
  const auto job = Job(v1::Order::NONE);
  const auto all = std::make_shared<const ExpectedRows>(ExpectAll(*job));
  constexpr uint64_t kRoom = 2 << 20;  // some 1000 records
  Open(1, job);
  Open(2, job);
  Look(1, 0, kRoom, all, 1);
  Look(2, 600, kRoom, all, 1);
  WaitUntilOpen(*job, {0, 1, 2});
  Look(1, 0, kRoom, all);
  Look(2, 600, kRoom, all);
  for (const uint64_t id : {1, 2}) {
    EXPECT_GT(memory_->used(id), kRoom / 4) << id;
    EXPECT_LT(memory_->used(id), kRoom * 5 / 8) << id;  // half, and the end of its last range
  }
}

}  // namespace
}  // namespace penstock::loader
