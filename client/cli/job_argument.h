// Arguments of local commands: a job file, or a glob from which the command makes a job.
#ifndef PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
#define PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/job_writer.h"
#include "client/cli/local_data.h"
#include "config/job_file.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

struct MadeJob {
  std::string text, name;
  uint64_t records = 0;            // number of records read
  bool has_pictures = false;       // true if the rows have images for a contact sheet
  std::string label_range;         // JobWriter::LabelRange
  std::vector<std::string> notes;  // omissions and additions, one sentence each
};

// Makes a job for the files of `argument`, a glob or a folder, from their first `records` records. If `name` is empty,
// derives the name from the glob, and appends "-eval" for an evaluation. Skips unreadable records and files. Returns
// the first error if all are unreadable.
absl::StatusOr<MadeJob> MakeJob(const LocalData& data, const std::string& argument, const std::string& name,
                                uint64_t records, Recipe recipe = Recipe::kTraining);

// Returns NotFound for a missing job file. The message names a similar file and the command that writes one.
absl::Status NoJobFile(const std::string& path);

// Returns the text of a job or configuration file, or of standard input ("-"), of at most 1 MiB.
absl::StatusOr<std::string> ReadFileOrInput(storage::Storage* storage, const std::string& path);
// Returns a function that checks file names with `storage`, which must outlive it.
config::FileNameCheck NameCheckOf(const storage::Storage* storage);
// Returns the job of a file or of standard input ("-"). Prints a warning for each name of an earlier release. Returns
// InvalidArgument that lists all mistakes by line, or NoJobFile(path).
absl::StatusOr<v1::JobSpec> LoadJobFileOrInput(storage::Storage* storage, const std::string& path);

// Returns the job of `argument`: a .textproto file or "-", otherwise the job that MakeJob makes for it. Resolves its
// globs for this machine.
absl::StatusOr<v1::JobSpec> LoadJobArgument(const LocalData& data, const std::string& argument);

// Returns the number of the data set with the name `set` in the job of the argument `name`. Without `set`, the job must
// have one data set. Otherwise returns a usage error that lists the names.
absl::StatusOr<int> DataSetOf(const v1::JobSpec& job, const std::string& name, const std::string& set);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_ARGUMENT_H_
