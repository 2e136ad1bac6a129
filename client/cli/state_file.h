// The file of `penstock read --state`.
#ifndef PENSTOCK_CLIENT_CLI_STATE_FILE_H_
#define PENSTOCK_CLIENT_CLI_STATE_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace penstock::cli {

struct SavedState {
  std::string text;    // ReaderOptions::state
  uint64_t epoch = 0;  // the epoch in which it resumes
};

// Returns the state in the file, or nullopt if there is no file. Removes temporary files of a killed run. Returns an
// error that names the file if the file is empty, is not a state, or names an epoch that no run can reach.
absl::StatusOr<std::optional<SavedState>> LoadStateFile(const std::string& path);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STATE_FILE_H_
