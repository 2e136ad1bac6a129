// Reads and checks job files.
#ifndef PENSTOCK_CONFIG_JOB_FILE_H_
#define PENSTOCK_CONFIG_JOB_FILE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/text_file.h"
#include "penstock/v1/job.pb.h"

namespace penstock::config {

// Returns the mistakes of features and ops, each "path: message" with a path like "ops[2].random_resized_crop.height".
// The caller provides this function, so that reading a job file does not need the image libraries (see CheckPipeline in
// pipeline/augment).
using PipelineCheck = std::function<std::vector<std::string>(const v1::JobSpec&)>;

// Returns why no storage of the host can read a file or glob, with the remedy, or OK (see Storage::CheckName).
using FileNameCheck = std::function<absl::Status(const std::string& name)>;

// Parses `text` into `job`, and returns all mistakes: syntax, unknown fields, values out of range, contradictions.
// Checks features and ops only if the parser finds no mistake. Adds a warning for each name of an earlier release to
// `warnings`, unless it is null. Checks the names of files only if `check_name` is not empty.
std::vector<Mistake> CheckJobText(std::string_view text, const PipelineCheck& check_pipeline, v1::JobSpec* job,
                                  std::vector<Mistake>* warnings = nullptr, const FileNameCheck& check_name = nullptr);

// Checks the rules for a job that need neither text nor storage: name, data set, number of features and ops, order,
// batch, errors, mix, caps, idle expiry. Lines are 0.
std::vector<Mistake> CheckJobSpec(const v1::JobSpec& job);

// Reads and checks a file of at most 1 MiB. Returns NotFound if it does not exist, and InvalidArgument that lists all
// mistakes by line. Adds a line for each name of an earlier release to `warnings`.
absl::StatusOr<v1::JobSpec> LoadJobFile(const std::string& path, const PipelineCheck& check_pipeline,
                                        std::vector<std::string>* warnings, const FileNameCheck& check_name = nullptr);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_JOB_FILE_H_
