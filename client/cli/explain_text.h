// Formats what limits a job, for a terminal.
#ifndef PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_
#define PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_

#include <string>

#include "penstock/v1/explain.pb.h"

namespace penstock::cli {

// Returns the verdict, its reasons, the stages of a row, the load of several workers, and the effect of changes. Wraps
// sentences at 80 characters if words allow.
std::string ExplainText(const v1::Explanation& explanation);

// Returns a line for each job: rate, share of waiting, workers, verdict.
std::string TopText(const v1::ExplainReply& reply);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_
