// What commands say of a job that is fine: its columns, its epochs, and what is hardly meant.
#ifndef PENSTOCK_CLIENT_CLI_JOB_REPORT_H_
#define PENSTOCK_CLIENT_CLI_JOB_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/batch/row.h"

namespace penstock::cli {

// The columns of a job's rows as the coordinator tells of them.
RowSchema SchemaOf(const google::protobuf::RepeatedPtrField<v1::Column>& columns);

// The columns of a job's batches, one a line: "  image            UINT8, 224 x 224 x 3". `rows` are those of its rows:
// where the job mixes, the label is what mixing makes of it.
std::string ColumnLines(const v1::JobSpec& job, const RowSchema& rows);

// Records of the data set, times order.repeats.
uint64_t EpochRows(const v1::JobSpec& job, uint64_t records);

// What becomes of an epoch of so many rows.
struct EpochFacts {
  uint64_t rows = 0, steps = 0, dropped = 0, padding = 0;
};
EpochFacts EpochFactsOf(const v1::JobSpec& job, uint64_t rows);
// "an epoch has 60 rows: 3 steps of 16, 12 rows (20.0 %) are dropped at its end"
std::string EpochLine(const v1::JobSpec& job, const EpochFacts& facts);

// JobWarnings, and one where much of each epoch is dropped. Each with its cure. Without `rows` (0) the epoch is not
// judged.
std::vector<std::string> WarningsOf(const v1::JobSpec& job, uint64_t rows);
// On stderr: "warning: ...".
void PrintWarnings(const std::vector<std::string>& warnings);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_REPORT_H_
