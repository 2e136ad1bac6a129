// The limits that control groups (versions 1 and 2) set for this process. The limit of each group from the process's
// own up to the root of the hierarchy applies. These functions return the smallest one.
//
// `proc` is the process's folder in /proc: its `cgroup` names the groups, and its `mountinfo` lists where they are
// mounted.
#ifndef PENSTOCK_BASE_CGROUP_H_
#define PENSTOCK_BASE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Returns the CPUs of the quota (cpu.max, cpu.cfs_quota_us), rounded up, or the CPUs of the affinity mask if they are
// fewer or no group has a quota. At least 1.
int AvailableCpus(const std::string& proc = "/proc/self");

struct MemoryLimit {
  uint64_t bytes = 0;
  std::string source;  // the file that sets the limit, or "the machine's memory"
};

// Returns the smallest of memory.max, memory.high and memory.limit_in_bytes, at most the machine's memory.
MemoryLimit AvailableMemory(const std::string& proc = "/proc/self");

struct TaskLimit {
  uint64_t most = 0;   // maximum number of threads of all processes of the group
  uint64_t used = 0;   // current number of threads
  std::string source;  // the file that sets the limit
};

// Returns the pids.max of the group with the fewest threads left, or nullopt if no group has such a limit.
std::optional<TaskLimit> LeastTaskLimit(const std::string& proc = "/proc/self");

// How often and how long quotas have stopped the threads of a group since its creation.
struct CpuThrottling {
  uint64_t periods = 0, throttled_periods = 0;
  double throttled_seconds = 0;  // sum over CPUs
};

// Returns the throttling (cpu.stat) of the group with a quota that was stopped for the longest time, or nullopt if no
// group has a quota.
std::optional<CpuThrottling> ThrottlingByQuota(const std::string& proc = "/proc/self");

}  // namespace penstock

#endif  // PENSTOCK_BASE_CGROUP_H_
