// An in-process reader requests exactly the rows that it predicts.
#include "pipeline/loader/prepared_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "pipeline/loader/loader.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock {
namespace {

constexpr uint64_t kPreparedRecords = 100, kPreparedRowBytes = 8;

// The rows of a slice, in their own memory.
class PreparedRows final : public StepTarget {
 public:
  explicit PreparedRows(size_t rows) : bytes_(rows * kPreparedRowBytes) {}
  RowSlot Book(size_t row) override {
    RowSlot slot;
    slot.fixed.push_back(bytes_.data() + row * kPreparedRowBytes);
    return slot;
  }
  absl::Status Put(size_t, RowResult) override { return absl::OkStatus(); }

 private:
  std::vector<std::byte> bytes_;
};

using Place = std::pair<uint64_t, uint64_t>;  // epoch, position

void WillAskIsWhatIsAsked(const Steps& steps, const PreparedStepsOptions& options) {
  const MemoryJob job = MakeMemoryJob(static_cast<int>(kPreparedRecords), 10, kPreparedRowBytes);
  LoaderOptions loader_options;
  loader_options.threads = 1;
  const auto loader = Loader::Create(loader_options).value();
  const auto reader =
      PreparedSteps::Open(loader.get(), job.job, steps, options, [](const StepSpan&, const auto& slice) {
        return std::make_unique<PreparedRows>(slice.size());
      }).value();
  std::set<Place> asked, will_ask;
  for (;;) {
    const auto step = reader->Next(60 * kSecond);
    ASSERT_TRUE(step.ok()) << step.status();
    if (!step->has_value()) break;
    const StepSpan& span = (*step)->span;
    for (uint64_t slot = (*step)->slice.begin; slot < std::min((*step)->slice.end, span.valid); ++slot) {
      asked.emplace(span.epoch, steps.PositionOfSlot(span, slot));
    }
  }
  for (uint64_t epoch = 0; epoch < options.start.epoch + options.epochs + 2; ++epoch) {
    for (uint64_t position = 0; position < kPreparedRecords; ++position) {
      if (reader->WillAsk(epoch, position, position)) will_ask.emplace(epoch, position);
    }
  }
  EXPECT_FALSE(asked.empty());
  EXPECT_EQ(will_ask, asked);
}

TEST(PreparedSteps, WillAskIsWhatIsAskedForEveryRank) {
  for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad}) {
    for (const uint64_t world_size : {1u, 2u, 3u, 4u}) {
      const auto steps = Steps::Create(kPreparedRecords, 24, last, world_size);
      ASSERT_TRUE(steps.ok()) << steps.status();
      for (uint64_t rank = 0; rank < world_size; ++rank) {
        for (const Cursor start : {Cursor{0, 0}, Cursor{0, 48}, Cursor{1, 7}}) {
          SCOPED_TRACE(testing::Message() << LastBatchName(last) << ", rank " << rank << " of " << world_size
                                          << ", from " << start.epoch << ":" << start.position);
          WillAskIsWhatIsAsked(*steps, {.rank = rank, .start = start, .epochs = 2});
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
