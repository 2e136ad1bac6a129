#include "config/renamed.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct Renamed {
  std::string_view before, now;
};

// 0.1.0 -> 0.2.0. CHANGELOG.md lists them for users.
constexpr std::array<Renamed, 7> kRenamed = {{
    {"centre_crop", "center_crop"},
    {"colour_jitter", "color_jitter"},
    {"normalise", "normalize"},
    {"no_colour_ops", "no_color_ops"},
    {"COLOUR", "COLOR"},
    {"RANGES", "BY_RECORD"},
    {"RANKS", "BY_RANK"},
}};

}  // namespace

std::string RenamedHint(std::string_view word, const std::vector<std::string>& names) {
  for (const Renamed& renamed : kRenamed) {
    if (word == renamed.before && std::find(names.begin(), names.end(), renamed.now) != names.end()) {
      return absl::StrCat(" (since 0.2.0 it is called '", std::string(renamed.now), "')");
    }
  }
  return "";
}

}  // namespace penstock
