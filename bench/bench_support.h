// Helpers of the benchmarks: the time of work, medians, flags.
#ifndef PENSTOCK_BENCH_BENCH_SUPPORT_H_
#define PENSTOCK_BENCH_BENCH_SUPPORT_H_

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace penstock::bench {

// Wall time, and CPU time of all threads of this process, in seconds.
struct Spent {
  double wall = 0;
  double cpu = 0;
};

inline double SecondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Runs the work and returns the time that it took.
inline Spent TimeOf(const std::function<void()>& work) {
  const double wall = SecondsOf(CLOCK_MONOTONIC), cpu = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {SecondsOf(CLOCK_MONOTONIC) - wall, SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Returns the value of "--name=value" among the arguments, or `fallback`.
inline std::string Flag(int argc, char** argv, const std::string& name, const std::string& fallback) {
  const std::string prefix = "--" + name + "=";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(prefix, 0) == 0) return argument.substr(prefix.size());
  }
  return fallback;
}

}  // namespace penstock::bench

#endif  // PENSTOCK_BENCH_BENCH_SUPPORT_H_
