// Numbers for people, as all sentences of an explanation have them.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_WORDS_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_WORDS_H_

#include <cmath>
#include <string>

#include "absl/strings/str_format.h"

namespace penstock {

// Threads that make rows with less of a CPU each are short of CPUs.
constexpr double kShortOfCpu = 0.75;

// "47 %", "0.3 %"
inline std::string Percent(double part) {
  const double percent = 100 * part;
  return absl::StrFormat("%.*f %%", percent < 1 && percent > 0 ? 1 : 0, percent);
}

// "812 rows/s"
inline std::string Rate(double rows_per_second) {
  return absl::StrFormat("%.*f rows/s", rows_per_second < 10 ? 1 : 0, rows_per_second);
}

// "4.5 GB", "68 MB": what is needed, so rounded up
inline std::string Bytes(double bytes) {
  return bytes >= 1e9 ? absl::StrFormat("%.1f GB", bytes / 1e9) : absl::StrFormat("%.0f MB", std::ceil(bytes / 1e6));
}

// "12 MB/s"
inline std::string BytesPerSecond(double bytes) {
  return bytes >= 1e6 ? absl::StrFormat("%.0f MB/s", bytes / 1e6) : absl::StrFormat("%.0f kB/s", bytes / 1e3);
}

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_WORDS_H_
