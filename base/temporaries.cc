#include "base/temporaries.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = kTemporarySuffix.substr(0, kTemporarySuffix.find('X'));

// Returns the name of the file to which the temporary file `name` belongs, or "" if it is not temporary. mkostemp uses
// letters and digits.
std::string_view FileOf(std::string_view name) {
  if (name.size() <= kTemporarySuffix.size()) return {};
  const std::string_view file = name.substr(0, name.size() - kTemporarySuffix.size());
  name.remove_prefix(file.size());
  if (name.substr(0, kTemporaryPrefix.size()) != kTemporaryPrefix) return {};
  for (const char c : name.substr(kTemporaryPrefix.size())) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return {};
  }
  return file;
}

// If `of` is empty, removes the temporary files of any file.
void Remove(const fs::path& folder, const std::string& of) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (IsTemporary(name) && (of.empty() || FileOf(name) == of)) fs::remove(it->path(), ignored);
  }
}

}  // namespace

bool IsTemporary(std::string_view name) { return !FileOf(name).empty(); }

void RemoveTemporariesOf(const std::string& path) {
  const fs::path file(path);
  Remove(file.has_parent_path() ? file.parent_path() : fs::path("."), file.filename().string());
}

void RemoveTemporariesIn(const std::string& folder) { Remove(folder, ""); }

}  // namespace penstock
