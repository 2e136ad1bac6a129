// The final report of `penstock read`, as text and as JSON with the same content.
#ifndef PENSTOCK_CLIENT_CLI_READ_REPORT_H_
#define PENSTOCK_CLIENT_CLI_READ_REPORT_H_

#include <cstdint>
#include <string>

#include "penstock/stats.h"

namespace penstock::cli {

struct ReadReport {
  std::string job;
  uint64_t steps = 0, rows = 0;
  double seconds = 0;  // from before the open of the job to the last step
  // Rate after the first step, which waits until the pipeline is full. For a single step, the rate over its whole time.
  double rows_per_second = 0;
  double first_batch_seconds = 0, longest_wait_seconds = 0, waited_seconds = 0;
  ReaderStats stats;
  std::string digest;  // empty: not requested
};

std::string ReadReportText(const ReadReport& report);
// Returns one object on one line.
std::string ReadReportJson(const ReadReport& report);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_READ_REPORT_H_
