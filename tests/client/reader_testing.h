// A fake coordinator, fake workers, and readers of their job.
#ifndef PENSTOCK_TESTS_CLIENT_READER_TESTING_H_
#define PENSTOCK_TESTS_CLIENT_READER_TESTING_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/client.h"
#include "tests/client/fakes/fake_job.h"
#include "tests/client/fakes/fake_worker.h"

namespace penstock::client {

class FakeCluster {
 public:
  explicit FakeCluster(int count, FakeJob fake = {}) : job(fake), coordinator(fake) {
    for (int i = 0; i < count; ++i) workers.push_back(std::make_unique<FakeWorker>("w" + std::to_string(i), fake));
    coordinator.SetView(Views());
  }

  std::vector<plan::ViewWorker> Views() const {
    std::vector<plan::ViewWorker> views;
    for (const auto& worker : workers) views.push_back(worker->view());
    return views;
  }

  ConnectOptions connect(absl::Duration timeout = absl::Seconds(20)) const {
    ConnectOptions options;
    options.coordinator = coordinator.address();
    options.open_timeout = timeout;
    return options;
  }

  ReaderOptions options(uint64_t epochs = 1) const {
    ReaderOptions options;
    options.job = job.name;
    options.epochs = epochs;
    return options;
  }

  std::unique_ptr<Reader> Open(const ReaderOptions& options) {
    auto reader = Reader::Open(connect(), options);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }

  const FakeJob job;
  FakeCoordinator coordinator;
  std::vector<std::unique_ptr<FakeWorker>> workers;
};

// Returns the result of `call`. The test fails if the call takes longer than `limit`.
template <typename Call>
auto Within(std::chrono::seconds limit, Call call) {
  auto result = std::async(std::launch::async, std::move(call));
  EXPECT_EQ(result.wait_for(limit), std::future_status::ready) << "after " << limit.count() << " s";
  return result.get();
}

// The end of a read, and the number of checked batches before it.
struct ReadEnd {
  int batches = 0;
  absl::Status status;  // OutOfRange at the end
};

// Reads and checks batches until an error, the end, or `at_most` batches. Calls `after` with their number after each
// one.
inline ReadEnd ReadAll(const FakeJob& job, Reader* reader, uint64_t rank = 0, uint64_t world_size = 1,
                       const std::function<void(int)>& after = nullptr, int at_most = 1 << 30) {
  ReadEnd result;
  while (result.batches < at_most) {
    absl::StatusOr<Batch> batch = reader->Next(absl::Seconds(20));
    if (!batch.ok()) {
      result.status = batch.status();
      break;
    }
    const std::string wrong = CheckBatch(job, *batch, rank, world_size);
    EXPECT_EQ(wrong, "") << "in batch " << result.batches;
    ++result.batches;
    if (after) after(result.batches);
  }
  return result;
}

}  // namespace penstock::client

#endif  // PENSTOCK_TESTS_CLIENT_READER_TESTING_H_
