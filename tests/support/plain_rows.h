// The rows of a job, from a plain loop: plan, record, read, pipeline. The loop uses no loader, thread or cache. Tests
// compare the rows of a loader, a worker or a feeder with it.
#ifndef PENSTOCK_TESTS_SUPPORT_PLAIN_ROWS_H_
#define PENSTOCK_TESTS_SUPPORT_PLAIN_ROWS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/plan/steps.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::support {

struct PlainRow {
  struct Column {
    std::string bytes;  // in the encoding of row.h if it is ragged
    bool ragged = false;
    bool operator==(const Column&) const = default;
  };
  plan::SetLocation id;  // record that the plan has for the slot
  uint64_t source = 0;   // number of the record with the content
  bool valid = true;     // neither padding nor masked
  bool masked = false, substituted = false;
  std::vector<Column> columns;  // in schema order
  bool operator==(const PlainRow&) const = default;
};

struct PlainStep {
  plan::StepSpan span;
  std::vector<PlainRow> rows;  // rows of one rank
  bool operator==(const PlainStep&) const = default;
};

struct PlainRead {
  plan::Cursor start = {};
  uint64_t epochs = 1;
  uint64_t rank = 0, world_size = 1;
};

// Opens the job's data set. Builds the indexes on the calling thread.
absl::StatusOr<std::shared_ptr<const loader::LoadJob>> OpenJob(const v1::JobSpec& job,
                                                               const std::vector<sources::DataRoot>& roots,
                                                               storage::Storage* storage = storage::LocalFiles());

// Makes the steps of one rank, from `read.start` on, in `read.epochs` epochs. Returns the error of the first row that
// fails under the job's policy.
absl::StatusOr<std::vector<PlainStep>> PlainSteps(const loader::LoadJob& job, const PlainRead& read = {});

// Returns the digest of the steps' rows (pipeline/batch/batch_digest.h).
std::string DigestOf(const std::vector<PlainStep>& steps);

// Returns the digest of the job's rows in `epochs` epochs, or the text of an error. A run of one rank must deliver rows
// with this digest.
std::string PlainDigest(const TestDataset& dataset, const v1::JobSpec& job, uint64_t epochs,
                        storage::Storage* storage = storage::LocalFiles());

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_PLAIN_ROWS_H_
