// A reader of a local job whose batches get no memory.
#include "client/feed/direct_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "client/feed/local_jobs.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::feed {
namespace {

// Refuses blocks of at most `most` bytes while `refuses` is set.
class RefusingAllocator final : public Allocator {
 public:
  explicit RefusingAllocator(size_t most) : most_(most) {}
  void* Allocate(size_t bytes) override {
    return refuses && bytes <= most_ ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void Deallocate(void* memory, size_t) override { std::free(memory); }

  std::atomic<bool> refuses{false};

 private:
  const size_t most_;
};

TEST(DirectReader, StaysAtAStepWhoseBatchHasFailed) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  LocalJobs jobs({.host = {.storage = storage::LocalFiles()}});
  const auto job = jobs.Load(set.job, set.roots);
  ASSERT_TRUE(job.ok()) << job.status();
  ASSERT_TRUE(jobs.host().ok());
  const auto open = [&](Allocator* allocator) {
    ReaderOptions options;
    options.allocator = allocator;
    return *OpenDirectReader((*jobs.host())->loader(), *job, options);
  };
  // The block of FIXED columns is larger than that of a RAGGED one, which is allocated when all rows are there.
  RefusingAllocator allocator(640);
  allocator.refuses = true;
  const std::unique_ptr<Reader> reader = open(&allocator);
  const absl::StatusOr<Batch> failed = reader->Next(absl::Seconds(60));
  ASSERT_TRUE(absl::IsResourceExhausted(failed.status())) << failed.status();
  ASSERT_THAT(std::string(failed.status().message()), testing::HasSubstr("for column"));
  const std::string state = reader->SaveState();
  allocator.refuses = false;
  EXPECT_EQ(reader->Next(absl::Seconds(60)).status(), failed.status());
  EXPECT_EQ(reader->SaveState(), state);
}

}  // namespace
}  // namespace penstock::feed
