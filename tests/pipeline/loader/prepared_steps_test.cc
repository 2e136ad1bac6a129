// An in-process reader requests exactly the rows that its session expects.
#include "pipeline/loader/prepared_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/loader/loader.h"
#include "pipeline/loader/row_request.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kPreparedRecords = 100, kPreparedRowBytes = 8;

// The rows of a slice, in their own memory.
class PreparedRows final : public StepTarget {
 public:
  explicit PreparedRows(size_t rows) : bytes_(rows * kPreparedRowBytes) {}
  batch::RowSlot Book(size_t row) override {
    batch::RowSlot slot;
    slot.fixed.push_back(bytes_.data() + row * kPreparedRowBytes);
    return slot;
  }
  absl::Status Put(size_t, RowResult) override { return absl::OkStatus(); }

 private:
  std::vector<std::byte> bytes_;
};

using Place = std::pair<uint64_t, uint64_t>;  // epoch, position

// Notes what a session expects.
class NotingLoader final : public Loader {
 public:
  explicit NotingLoader(Loader* loader) : loader_(loader) {}
  absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const LoadJob> job,
                                                       const LoaderSessionOptions& options, RowSink* sink) override {
    expected = options.expected;
    return loader_->OpenSession(std::move(job), options, sink);
  }
  LoaderStats Stats() const override { return loader_->Stats(); }

  ExpectedRows expected;

 private:
  Loader* const loader_;
};

void ExpectedRowsAreRequested(const plan::Steps& steps, const PreparedStepsOptions& options) {
  const MemoryJob job = MakeMemoryJob(static_cast<int>(kPreparedRecords), 10, kPreparedRowBytes);
  LoaderOptions loader_options;
  loader_options.threads = 1;
  const auto made = Loader::Create(loader_options).value();
  NotingLoader loader(made.get());
  const auto reader =
      PreparedSteps::Open(&loader, job.job, steps, options, [](const plan::StepSpan&, const auto& slice) {
        return std::make_unique<PreparedRows>(slice.size());
      }).value();
  std::set<Place> asked, expected;
  for (;;) {
    const auto step = reader->Next(60 * kSecond);
    ASSERT_TRUE(step.ok()) << step.status();
    if (!step->has_value()) break;
    const plan::StepSpan& span = (*step)->span;
    for (uint64_t slot = (*step)->slice.begin; slot < std::min((*step)->slice.end, span.valid); ++slot) {
      asked.emplace(span.epoch, steps.PositionOfSlot(span, slot));
    }
  }
  for (uint64_t epoch = 0; epoch < options.start.epoch + options.epochs + 2; ++epoch) {
    for (uint64_t position = 0; position < kPreparedRecords; ++position) {
      if (loader.expected.Covers(epoch, position, position)) expected.emplace(epoch, position);
    }
  }
  EXPECT_FALSE(asked.empty());
  EXPECT_EQ(expected, asked);
}

TEST(PreparedSteps, RequestsTheExpectedRowsOfEveryRank) {
  for (const plan::LastBatch last : {plan::LastBatch::kDrop, plan::LastBatch::kPad}) {
    for (const uint64_t world_size : {1u, 2u, 3u, 4u}) {
      const auto steps = plan::Steps::Create(kPreparedRecords, 24, last, world_size);
      ASSERT_TRUE(steps.ok()) << steps.status();
      for (uint64_t rank = 0; rank < world_size; ++rank) {
        for (const plan::Cursor start : {plan::Cursor{0, 0}, plan::Cursor{0, 48}, plan::Cursor{1, 7}}) {
          SCOPED_TRACE(testing::Message() << plan::LastBatchName(last) << ", rank " << rank << " of " << world_size
                                          << ", from " << start.epoch << ":" << start.position);
          ExpectedRowsAreRequested(*steps, {.rank = rank, .start = start, .epochs = 2});
        }
      }
    }
  }
}

// Advances by a minute with each look.
class FastClock final : public Clock {
 public:
  Nanos Now() const override { return now_.fetch_add(60 * kSecond); }
  void Pause(Nanos) override {}

 private:
  mutable std::atomic<Nanos> now_{0};
};

TEST(PreparedSteps, TheTimeoutIsMeasuredByTheClock) {
  const MemoryJob job = MakeMemoryJob(static_cast<int>(kPreparedRecords), 10, kPreparedRowBytes);
  SimScheduler sim(1);  // makes no row before it runs
  const auto loader = Loader::Create(OptionsIn(&sim)).value();
  const auto steps = plan::Steps::Create(kPreparedRecords, 10, plan::LastBatch::kDrop, 1).value();
  FastClock clock;
  const auto reader = PreparedSteps::Open(loader.get(), job.job, steps, {.clock = &clock},
                                          [](const plan::StepSpan&, const auto& slice) {
                                            return std::make_unique<PreparedRows>(slice.size());
                                          })
                          .value();
  const absl::Status status = reader->Next(kSecond).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(clock.Now(), 120 * kSecond) << "the call looked twice: when it began, and when the time was over";
  sim.RunAll();  // a reader that closes waits for its rows
}

// The memory of a step would be thousands of such rows.
TEST(PreparedSteps, ARowIsNotLargerThanAMessage) {
  const auto steps = plan::Steps::Create(kPreparedRecords, 10, plan::LastBatch::kDrop, 1).value();
  const auto error_of = [&](uint64_t row_bytes) {
    const MemoryJob job = MakeMemoryJob(static_cast<int>(kPreparedRecords), 10, row_bytes);
    SimScheduler sim(1);
    const auto loader = Loader::Create(OptionsIn(&sim)).value();
    return PreparedSteps::Open(loader.get(), job.job, steps, {},
                               [](const plan::StepSpan&, const auto&) { return std::unique_ptr<StepTarget>(); })
        .status();
  };
  const absl::Status error = error_of(kMaxRowBytes + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(error)) << error;
  EXPECT_NE(error.message().find("a row may have 67043328"), std::string::npos) << error;
}

}  // namespace
}  // namespace penstock::loader
