// What local commands take: a job file, or a glob that a job is made for.
#ifndef PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
#define PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/local_data.h"
#include "penstock/v1/job.pb.h"

namespace penstock::cli {

struct MadeJob {
  std::string text, name;
  uint64_t records = 0;            // looked at
  bool has_pictures = false;       // for a contact sheet
  std::vector<std::string> notes;  // what was left out or added, a sentence each
};

// A job for the files of `argument`, a glob or a folder, from their first `records` records. `name` may be empty: it is
// then taken from the glob. Records and files that cannot be read are gone past, unless all of them are so.
absl::StatusOr<MadeJob> MakeJob(const LocalData& data, const std::string& argument, const std::string& name,
                                uint64_t records);

// NotFound: there is no such job file. Names the one that may be meant, and how one comes about.
absl::Status NoJobFile(const std::string& path);

// The text of a job or configuration file, or of standard input ("-"); at most 1 MiB.
absl::StatusOr<std::string> ReadFileOrInput(const std::string& path);
// The job of a file or of standard input; InvalidArgument lists all mistakes by line.
absl::StatusOr<v1::JobSpec> LoadJobFileOrInput(const std::string& path);

// The job of `argument`: a .textproto file or "-", else the job that MakeJob writes for it. Its globs are resolved for
// this machine.
absl::StatusOr<v1::JobSpec> LoadJobArgument(const LocalData& data, const std::string& argument);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
