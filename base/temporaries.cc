#include "base/temporaries.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

constexpr std::string_view kStart = kTemporarySuffix.substr(0, kTemporarySuffix.find('X'));

// Whether `name` is `of` with a suffix whose X's are letters and digits, mkostemp's.
bool IsTemporaryOf(std::string_view of, std::string_view name) {
  if (name.size() != of.size() + kTemporarySuffix.size() || name.substr(0, of.size()) != of) return false;
  name.remove_prefix(of.size());
  if (name.substr(0, kStart.size()) != kStart) return false;
  for (const char c : name.substr(kStart.size())) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return false;
  }
  return true;
}

}  // namespace

void RemoveTemporariesOf(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path file(path);
  const std::string name = file.filename().string();
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (IsTemporaryOf(name, it->path().filename().string())) fs::remove(it->path(), ignored);
  }
}

}  // namespace penstock
