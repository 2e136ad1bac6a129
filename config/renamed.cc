#include "config/renamed.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

constexpr std::array<RenamedName, 7> kRenamed = {{
    {"centre_crop", "center_crop", "0.2.0", "0.4"},
    {"colour_jitter", "color_jitter", "0.2.0", "0.4"},
    {"normalise", "normalize", "0.2.0", "0.4"},
    {"no_colour_ops", "no_color_ops", "0.2.0", "0.4"},
    {"COLOUR", "COLOR", "0.2.0", "0.4"},
    {"RANGES", "BY_RECORD", "0.2.0", "0.4"},
    {"RANKS", "BY_RANK", "0.2.0", "0.4"},
}};

}  // namespace

std::span<const RenamedName> RenamedNames() { return kRenamed; }

const RenamedName* FindRenamed(std::string_view word, const std::vector<std::string>& names) {
  for (const RenamedName& renamed : kRenamed) {
    if (word == renamed.before && std::find(names.begin(), names.end(), renamed.now) != names.end()) return &renamed;
  }
  return nullptr;
}

std::string RenamedWarning(const RenamedName& renamed) {
  return absl::StrCat("'", std::string(renamed.before), "' is called '", std::string(renamed.now), "' since ",
                      std::string(renamed.since), "; ", std::string(renamed.last_read),
                      " is the last release that reads the old name");
}

}  // namespace penstock::config
