// Reading as a trainer does, and what of it tests compare.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_READING_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_READING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "penstock/client.h"
#include "penstock/v1/job.pb.h"
#include "tests/support/test_dataset.h"

namespace penstock {

struct ReadStep {
  uint64_t epoch = 0;
  std::vector<std::pair<int64_t, int64_t>> ids;
  std::vector<std::pair<int64_t, int64_t>> sources;
  std::vector<uint8_t> valid;
  std::string digest;  // of this step's rows alone
};

struct ReadResult {
  absl::Status status;  // OK at the end of the data, or when as much as was asked for is read
  std::string digest;   // of all rows in order
  std::vector<ReadStep> steps;
  double first_wait = 0, longest_wait = 0;  // seconds; the longest without the first
  std::string state;                        // after the last step
  ReaderStats stats;
};

struct ReadPlan {
  ReaderOptions options;
  uint64_t max_steps = UINT64_MAX;
  absl::Duration timeout = absl::Seconds(30);  // of each step
  std::function<bool()> until;                 // asked before each step but the first: whether it was enough
  // Called after each step with their number so far (1 after the first).
  std::function<void(uint64_t steps)> after_step;
};

// Reads from a reader that is open.
ReadResult ReadFrom(Reader& reader, const ReadPlan& plan);

// Opens a reader at the coordinator and reads.
ReadResult ReadThrough(const std::string& coordinator, const ReadPlan& plan);

// The digest of the same epochs by the in-process reader: what every served run must give.
std::string LocalDigest(const TestDataset& dataset, const v1::JobSpec& job, uint64_t epochs);

// Whether every record of the data set comes exactly once in each epoch of the steps.
::testing::AssertionResult EveryRecordOncePerEpoch(const ReadResult& result, uint64_t records, uint64_t epochs);

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_READING_H_
