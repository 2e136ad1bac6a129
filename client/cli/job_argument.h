// What local commands take: a job file, or a glob that a job is made for.
#ifndef PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
#define PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/local_data.h"
#include "penstock/v1/job.pb.h"

namespace penstock::cli {

// A job's text for the files of `glob`, from their first `records` records. `name` may be empty: it is then taken from
// the glob. A folder stands for all files in it.
absl::StatusOr<std::string> MakeJobText(const LocalData& data, std::string glob, const std::string& name,
                                        uint64_t records);

// The job of `argument`: a .textproto file, else the job that MakeJobText writes for it. Its globs are resolved for
// this machine.
absl::StatusOr<v1::JobSpec> LoadJobArgument(const LocalData& data, const std::string& argument);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
