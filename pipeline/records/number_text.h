// Numbers that are written in decimal, for the parsers of text formats.
#ifndef PENSTOCK_PIPELINE_RECORDS_NUMBER_TEXT_H_
#define PENSTOCK_PIPELINE_RECORDS_NUMBER_TEXT_H_

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/strings/charconv.h"

namespace penstock::records {

// Returns nullopt if the text is not one integer in the range of INT64.
inline std::optional<int64_t> IntegerIn(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

// Returns the nearest double of a number, nan or inf; out of the range of a double, 0 or the largest one. Returns
// nullopt if the text is not one number.
inline std::optional<double> NumberIn(std::string_view text) {
  if (text.find_first_of("xX") != std::string_view::npos) return std::nullopt;  // from_chars reads hexadecimal too
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = absl::from_chars(text.data(), end, value);
  return parsed.ec != std::errc::invalid_argument && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

// Returns the nearest float, or nullopt for a finite number over the range of a 32-bit float.
inline std::optional<float> FloatOf(double value) {
  if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    return std::nullopt;
  }
  return static_cast<float>(value);
}

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_NUMBER_TEXT_H_
