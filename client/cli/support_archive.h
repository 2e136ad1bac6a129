// A support file: files in a tar archive, compressed by Zstandard.
#ifndef PENSTOCK_CLIENT_CLI_SUPPORT_ARCHIVE_H_
#define PENSTOCK_CLIENT_CLI_SUPPORT_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::cli {

// Limit of all contents, so that the archive has at most 50 MiB even if they do not compress.
constexpr size_t kMostSupportBytes = size_t{48} << 20;

// Contents by path in the archive.
using SupportContents = std::map<std::string, std::string>;

// Returns the first 60 bytes of the name as a path component: characters other than letters, digits, '.', '-' and '_'
// become '_'. Inserts a '_' before a leading '.', and into an empty name.
std::string ComponentOf(std::string_view name);

// Removes the beginnings of the longest texts (*.txt) until all contents fit into `most`, and then, if they still do
// not, the longest other files. Keeps at least 16 KiB of a text: a large number of texts may still exceed `most`.
// Returns a line for each shortened or removed file.
std::vector<std::string> FitSupportContents(size_t most, SupportContents* contents);

// Returns the archive. `unix_seconds` is the time of its files. Paths have at most 100 bytes.
absl::StatusOr<std::string> SupportArchive(const SupportContents& contents, int64_t unix_seconds);

// Writes a file with mode 0600: a temporary file, which then gets the name. Returns AlreadyExists if `path` exists and
// `replace` is false. Errors name the path.
absl::Status WritePrivateFile(const std::string& path, std::string_view content, bool replace);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_SUPPORT_ARCHIVE_H_
