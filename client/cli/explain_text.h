// What holds a job back, for a terminal.
#ifndef PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_
#define PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_

#include <string>

#include "penstock/v1/explain.pb.h"

namespace penstock::cli {

// The verdict, why, the stages of a row, and what changes would give. Lines of at most 80 characters, where words
// allow.
std::string ExplainText(const v1::Explanation& explanation);

// A line for each job: rates, waiting, the verdict.
std::string TopText(const v1::ExplainReply& reply);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_EXPLAIN_TEXT_H_
