// What keys are looked for in: the machine as a process sees it, so that tests can say it.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_SURROUNDINGS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_SURROUNDINGS_H_

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

struct Surroundings {
  std::function<std::string(const std::string&)> variable;              // "" where there is none
  std::function<absl::StatusOr<std::string>(const std::string&)> file;  // its content
  std::function<int64_t()> now;                                         // seconds since 1970
  // What a line of the shell prints (program_output.h), which may take half a minute.
  std::function<absl::StatusOr<std::string>(const std::string&, const std::stop_token&)> output = nullptr;
  static Surroundings Process();
};

// Whether a variable says yes: neither empty, nor "0", nor "false".
bool Says(const Surroundings& surroundings, const std::string& variable);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_SURROUNDINGS_H_
