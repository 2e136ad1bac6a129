// Formats the numbers in the sentences of an explanation.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_NUMBER_TEXT_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_NUMBER_TEXT_H_

#include <cmath>
#include <string>

#include "absl/strings/str_format.h"

namespace penstock::coordinator {

// Threads are short of CPUs if they get a smaller fraction of a CPU while they make rows.
constexpr double kShortOfCpu = 0.75;

// Converts the fraction `part` to text such as "47 %" or "0.3 %".
inline std::string Percent(double part) {
  const double percent = 100 * part;
  return absl::StrFormat("%.*f %%", percent < 1 && percent > 0 ? 1 : 0, percent);
}

// Returns text such as "812 rows/s" or "4.5 rows/s".
inline std::string Rate(double rows_per_second) {
  return absl::StrFormat("%.*f rows/s", rows_per_second < 10 ? 1 : 0, rows_per_second);
}

// Returns text such as "4.5 GB" or "68 MB". Rounds up to whole MB. From 1 GB on, rounds up to the next 0.1 GB.
inline std::string Bytes(double bytes) {
  const double whole = std::round(bytes);  // products of exact numbers may be a little larger
  return whole >= 1e9 ? absl::StrFormat("%.1f GB", std::ceil(whole / 1e8) / 10)
                      : absl::StrFormat("%.0f MB", std::ceil(whole / 1e6));
}

// Returns text such as "12 MB/s" or "340 kB/s".
inline std::string BytesPerSecond(double bytes) {
  return bytes >= 1e6 ? absl::StrFormat("%.0f MB/s", bytes / 1e6) : absl::StrFormat("%.0f kB/s", bytes / 1e3);
}

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_NUMBER_TEXT_H_
