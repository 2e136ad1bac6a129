#include "base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace penstock {
namespace {

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<int64_t> Number(const std::string& path) {
  const std::optional<std::string> line = FirstLine(path);
  int64_t value = 0;
  if (!line || !absl::SimpleAtoi(*line, &value)) return std::nullopt;
  return value;
}

// CPUs of the quota, if there is one.
std::optional<double> CpuQuota(const std::string& root) {
  if (const auto line = FirstLine(root + "/cpu.max")) {  // "max 100000" or "150000 100000"
    const std::vector<std::string> words = absl::StrSplit(*line, ' ');
    double quota = 0, period = 0;
    if (words.size() == 2 && absl::SimpleAtod(words[0], &quota) && absl::SimpleAtod(words[1], &period) && quota > 0 &&
        period > 0) {
      return quota / period;
    }
    return std::nullopt;
  }
  const auto quota = Number(root + "/cpu/cpu.cfs_quota_us");
  const auto period = Number(root + "/cpu/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) {
    return static_cast<double>(*quota) / static_cast<double>(*period);
  }
  return std::nullopt;
}

}  // namespace

int AvailableCpus(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const auto quota = CpuQuota(root)) cpus = std::min(cpus, static_cast<int>(std::ceil(*quota)));
  return std::max(1, cpus);
}

uint64_t AvailableMemory(const std::string& root) {
  const uint64_t machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  for (const char* file : {"/memory.max", "/memory/memory.limit_in_bytes"}) {
    const auto limit = Number(root + file);
    if (limit && *limit > 0) return std::min(machine, static_cast<uint64_t>(*limit));
  }
  return machine;
}

}  // namespace penstock
