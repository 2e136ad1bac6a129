#include "pipeline/storage/object/common/environment.h"

#include <chrono>
#include <cstdlib>

#include "base/file.h"
#include "pipeline/storage/object/common/program_output.h"

namespace penstock::storage {
namespace {

constexpr uint64_t kLargestFile = 1 << 20;
constexpr Nanos kProgramsLimit = 30 * kSecond;

}  // namespace

Environment Environment::Process() {
  return {
      .variable =
          [](const std::string& name) {
            const char* const value = std::getenv(name.c_str());
            return std::string(value == nullptr ? "" : value);
          },
      .file = [](const std::string& path) { return ReadWholeFile(path, kLargestFile); },
      .now =
          [] {
            return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                .count();
          },
      .output = [](const std::string& command,
                   const std::stop_token& stop) { return OutputOf(command, kProgramsLimit, stop); }};
}

bool Says(const Environment& environment, const std::string& variable) {
  const std::string value = environment.variable(variable);
  return !value.empty() && value != "0" && value != "false";
}

}  // namespace penstock::storage
