// Reports of commands about a valid job: its columns, its epochs, and probable mistakes.
#ifndef PENSTOCK_CLIENT_CLI_JOB_REPORT_H_
#define PENSTOCK_CLIENT_CLI_JOB_REPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/batch/row.h"
#include "pipeline/plan/data_order.h"

namespace penstock::cli {

// Converts the coordinator's columns of a job's rows.
batch::RowSchema SchemaOf(const google::protobuf::RepeatedPtrField<v1::Column>& columns);

// Returns the columns of a job's batches, one on each line: "  image            UINT8, 224 x 224 x 3". `rows` is the
// schema of its rows before any mixing.
std::string ColumnLines(const v1::JobSpec& job, const batch::RowSchema& rows);

// Returns the order of a READY job, or the errors of plan::DataOrderOf().
absl::StatusOr<std::shared_ptr<const plan::DataOrder>> OrderOf(const v1::Job& job);

// Returns the share of each data set of a blend, one on each line: "  dataset web: 45875 of 65536 rows, 1 passes in an
// epoch". If the records of the only data set are in groups, returns those of the first and the last groups or parts.
// Empty for another data set.
std::string ShareLines(const v1::JobSpec& job, const plan::DataOrder& order);

// The steps of the first epoch, of `rows` rows.
// Batches whose sizes depend on their values (plan::DataOrder::batches); null: there are none.
using Batches = std::shared_ptr<const plan::BatchSequence>;

struct EpochFacts {
  uint64_t rows = 0, steps = 0, dropped = 0, padding = 0;
  uint64_t last_rows = 0;  // rows of the last step, if it is smaller than the others
  uint64_t largest = 0;    // rows of the largest step if sizes depend on the values; otherwise 0
};
EpochFacts EpochFactsOf(const v1::JobSpec& job, uint64_t rows, const Batches& batches = nullptr);
// Returns "8", or "8, 20 from row 30 of the run, 12 from row 100".
std::string BatchSizesText(const v1::Batch& batch);
// Returns "an epoch has 60 rows: 3 steps of 16, 12 rows (20.0 %) are dropped at its end".
std::string EpochLine(const v1::JobSpec& job, const EpochFacts& facts);

// Returns a warning with a remedy if a large part of each epoch is dropped, or if an epoch has no step.
std::vector<std::string> DroppedRowsWarnings(const v1::JobSpec& job, uint64_t rows, const Batches& batches = nullptr);

// Returns JobWarnings and DroppedRowsWarnings, each with a remedy. If `rows` is 0, does not check the epoch.
std::vector<std::string> WarningsOf(const v1::JobSpec& job, uint64_t rows, const Batches& batches = nullptr);
// Prints "warning: ..." on stderr for each.
void PrintWarnings(const std::vector<std::string>& warnings);

// Returns a sentence about the bad records that the job's selection left out.
std::string LeftOutText(uint64_t records);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_REPORT_H_
