// Reads as a trainer does, with results that tests compare.
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
#include "tests/support/plain_rows.h"

namespace penstock::support {

struct ReadStep {
  uint64_t epoch = 0;
  std::vector<std::pair<int64_t, int64_t>> ids;
  std::vector<std::pair<int64_t, int64_t>> sources;
  std::vector<int32_t> datasets;  // empty if data sets have no names
  std::vector<uint8_t> valid;
  std::string digest;  // digest of this step's rows only
};

struct ReadResult {
  absl::Status status;  // OK at the end of the data, or after the requested steps
  std::string digest;   // digest of all rows in order
  std::vector<ReadStep> steps;
  double first_wait = 0, longest_wait = 0;  // in seconds; the longest excludes the first
  std::string state;                        // state after the last step
  ReaderStats stats;
};

struct ReadPlan {
  ConnectOptions connect;  // ReadThrough sets `coordinator` and `open_timeout`
  ReaderOptions options;
  uint64_t max_steps = UINT64_MAX;
  absl::Duration timeout = absl::Seconds(30);  // for each step
  std::function<bool()> until;                 // checked before each step except the first; true ends the read
  // Called after each step with the number of steps so far (1 after the first).
  std::function<void(uint64_t steps)> after_step;
};

// Returns the plan that reads `epochs` epochs of a job, four steps ahead.
ReadPlan EpochsOf(const v1::JobSpec& job, uint64_t epochs);

// Reads from an open reader.
ReadResult ReadFrom(Reader& reader, const ReadPlan& plan);

// Opens a reader at the coordinator and reads.
ReadResult ReadThrough(const std::string& coordinator, const ReadPlan& plan);

// Whether the valid rows of the steps are in `epochs` epochs, and each epoch has each of `records` records exactly
// once.
::testing::AssertionResult EveryRecordOncePerEpoch(const ReadResult& result, uint64_t records, uint64_t epochs);

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_READING_H_
