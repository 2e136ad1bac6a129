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
  uint64_t epoch = 0;  // that it goes on in
};

// What the file holds; nothing where there is none. What a killed run left beside it is removed. Errors name the file
// and the way out: a file that is empty, that is no state, or whose epoch no run has come to.
absl::StatusOr<std::optional<SavedState>> LoadStateFile(const std::string& path);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_STATE_FILE_H_
