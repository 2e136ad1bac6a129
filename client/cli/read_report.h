// What `penstock read` says at its end: the same things as text and as JSON.
#ifndef PENSTOCK_CLIENT_CLI_READ_REPORT_H_
#define PENSTOCK_CLIENT_CLI_READ_REPORT_H_

#include <cstdint>
#include <string>

#include "penstock/stats.h"

namespace penstock::cli {

struct ReadReport {
  std::string job;
  uint64_t steps = 0, rows = 0;
  double seconds = 0;  // from before the job was opened to the last step
  // Behind the first step, which waits for the pipeline to fill; of a single step, over all its time.
  double rows_per_second = 0;
  double first_batch_seconds = 0, longest_wait_seconds = 0, waited_seconds = 0;
  ReaderStats stats;
  std::string digest;  // empty: none was asked for
};

std::string ReadReportText(const ReadReport& report);
// One object on one line.
std::string ReadReportJson(const ReadReport& report);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_READ_REPORT_H_
