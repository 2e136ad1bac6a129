// The variables, files, clock and programs of a process, for looking up keys. Tests replace the functions.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ENVIRONMENT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ENVIRONMENT_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"

namespace penstock::storage {

struct Environment {
  std::function<std::string(const std::string&)> variable;              // "" if unset
  std::function<absl::StatusOr<std::string>(const std::string&)> file;  // content of a file, at most 1 MiB
  std::function<int64_t()> now;                                         // seconds since 1970
  // Returns the output of a shell command (program_output.h). May block for half a minute. Null: no command is run.
  std::function<absl::StatusOr<std::string>(const std::string&, const std::stop_token&)> output = nullptr;
  static Environment Process();
};

// Returns whether a variable is set: neither empty, nor "0", nor "false".
bool Says(const Environment& environment, const std::string& variable);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_ENVIRONMENT_H_
