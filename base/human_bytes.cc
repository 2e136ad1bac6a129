#include "base/human_bytes.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_format.h"

namespace penstock {

std::string HumanBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return absl::StrFormat("%d B", bytes);
  return absl::StrFormat("%.*f %s", value < 10 ? 1 : 0, value, kUnits[unit]);
}

}  // namespace penstock
