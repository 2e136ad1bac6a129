#include "pipeline/loader/row_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/row_slots.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr int kMakerRecords = 4;
constexpr uint64_t kMakerRowBytes = 1000;

// Grants memory, unless `has_room` is false. Records the bytes that were reserved before the slot was allocated.
class NotingMemory final : public RowMaker::Memory {
 public:
  absl::StatusOr<RowMaker::Answer> Reserve(uint64_t bytes) override {
    if (!has_room) return RowMaker::Answer::kPutBack;
    reserved_ = std::max(reserved_, bytes);
    return RowMaker::Answer::kYes;
  }
  batch::RowSlot* Slot() override {
    if (slots_++ == 0) reserved_before_slot = reserved_;
    slot_.fixed = {bytes_.data()};
    return &slot_;
  }
  bool Borrow(const std::shared_ptr<const cache::CachedRow>&) override { return false; }

  bool has_room = true;
  uint64_t reserved_before_slot = 0;
  int slots() const { return slots_; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kMakerRowBytes);
  batch::RowSlot slot_;
  uint64_t reserved_ = 0;
  int slots_ = 0;
};

TEST(RaggedBound, CoversNumbersThatTakeTwoBytesInASample) {
  // 1000 float16 elements of an array, or 1000 digits with commas in JSON.
  constexpr uint64_t kRecordBytes = 2000, kElements = 1000;
  for (const batch::DType dtype : {batch::DType::kFloat32, batch::DType::kInt64}) {
    batch::RowSchema schema;
    schema.columns = {{.name = "values", .dtype = dtype, .ragged = true, .shape = {}}};
    EXPECT_GE(RaggedBound(schema, kRecordBytes), sizeof(uint32_t) + kElements * batch::DTypeSize(dtype));
  }
}

TEST(RowMaker, AMaskedRowOfDecidedRecordsReservesItsMemoryBeforeItsSlot) {
  for (const v1::ErrorPolicy policy : {v1::MASK, v1::SUBSTITUTE}) {
    const MemoryJob job = MakeMemoryJob(kMakerRecords, 10, kMakerRowBytes, policy);
    DecidedRecords decided;
    decided.Add(std::vector<uint64_t>{0, 1, 2, 3});
    cache::ByteCache records(0), decoded(0);
    cache::RowCache rows(0);
    const RowMaker maker({.records = &records, .decoded = &decoded, .rows = &rows});
    MakerContext context;
    RowTask task({.session = 1, .number = 1}, RowRequest());
    NotingMemory memory;

    memory.has_room = false;
    MadeRow put_back;
    EXPECT_EQ(maker.Make(*job.job, decided, 0, &memory, &context, &task, &put_back), RowMaker::End::kPutBack);
    EXPECT_EQ(memory.slots(), 0);

    memory.has_room = true;
    MadeRow made;
    EXPECT_EQ(maker.Make(*job.job, decided, 0, &memory, &context, &task, &made), RowMaker::End::kMade);
    EXPECT_TRUE(made.status.ok()) << made.status;
    EXPECT_TRUE(made.masked);
    EXPECT_EQ(FaultOf(made.fault), Fault::kWrongCrc);
    EXPECT_GE(memory.reserved_before_slot, kMakerRowBytes);
  }
}

TEST(RowMaker, ARetryCountsNoSecondMissOfTheDiskCache) {
  const support::TempFolder folder;
  cache::DiskCacheOptions on_disk;
  on_disk.folder = folder.File("cache");
  const auto disk = cache::DiskCache::Open(std::move(on_disk));
  ASSERT_TRUE(disk.ok()) << disk.status();
  const MemoryJob job = MakeMemoryJob(kMakerRecords, 10, kMakerRowBytes);
  int failures = 1;
  job.dataset->on_read = [&failures](uint64_t) {
    return failures-- > 0 ? absl::UnavailableError("later") : absl::OkStatus();
  };
  DecidedRecords decided;
  cache::ByteCache records(0), decoded(0);
  cache::RowCache rows(0);
  const RowMaker maker({.records = &records, .decoded = &decoded, .disk = disk->get(), .rows = &rows});
  MakerContext context;
  RowTask task({.session = 1, .number = 1}, RowRequest());
  NotingMemory memory;
  MadeRow first, second;
  EXPECT_EQ(maker.Make(*job.job, decided, 0, &memory, &context, &task, &first), RowMaker::End::kNotReady);
  EXPECT_EQ(maker.Make(*job.job, decided, 0, &memory, &context, &task, &second), RowMaker::End::kMade);
  EXPECT_TRUE(second.status.ok()) << second.status;
  EXPECT_EQ((*disk)->Stats().misses, 1u);
}

}  // namespace
}  // namespace penstock::loader
