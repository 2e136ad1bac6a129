// Names of fields and values that an earlier release called differently. Files with them are still read, with a
// warning.
#ifndef PENSTOCK_CONFIG_RENAMED_H_
#define PENSTOCK_CONFIG_RENAMED_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::config {

struct RenamedName {
  std::string_view before, now;
  std::string_view since;      // the release that renamed it
  std::string_view last_read;  // the last release that reads the old name
};

// Returns all renamed names. CHANGELOG.md lists them for users.
std::span<const RenamedName> RenamedNames();

// Returns the entry of `word` if it is the old name of one of `names`, otherwise null.
const RenamedName* FindRenamed(std::string_view word, const std::vector<std::string>& names);

// Returns "'centre_crop' is called 'center_crop' since 0.2.0; 0.4 is the last release that reads the old name".
std::string RenamedWarning(const RenamedName& renamed);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_RENAMED_H_
