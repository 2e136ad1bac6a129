// Formats the result of a purge (`penstock delete --purge`).
#ifndef PENSTOCK_CLIENT_CLI_PURGE_TEXT_H_
#define PENSTOCK_CLIENT_CLI_PURGE_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "penstock/v1/purge.pb.h"

namespace penstock::cli {

// Returns a line for each part, a line about shards of other jobs, and the total.
std::string PurgeText(const std::string& job, const v1::PurgeReply& reply);
// Returns the same as a JSON object.
std::string PurgeJson(const std::string& job, const v1::PurgeReply& reply);
// Returns OK if the purge is complete and the job is deleted. Otherwise returns an error that names the parts that are
// not done, and the way out.
absl::Status PurgeResult(const std::string& job, const v1::PurgeReply& reply);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_PURGE_TEXT_H_
