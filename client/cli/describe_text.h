// Formats the description of a job or worker for display.
#ifndef PENSTOCK_CLIENT_CLI_DESCRIBE_TEXT_H_
#define PENSTOCK_CLIENT_CLI_DESCRIBE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// Returns the facts, the parts, the readers, the job file and the events, each as a section. Events have their age at
// `now`, and their time in `zone`.
std::string DescribeText(const v1::DescribeReply& reply, absl::Time now, absl::TimeZone zone);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_DESCRIBE_TEXT_H_
