// What this process may use, as the container's limits say.
#ifndef PENSTOCK_BASE_CGROUP_H_
#define PENSTOCK_BASE_CGROUP_H_

#include <cstdint>
#include <string>

namespace penstock {

// CPUs available to this process: the cgroup's quota (v2 cpu.max, v1 cfs quota) rounded up, at most the CPUs of its
// affinity mask, at least 1. `root` is where cgroup files are looked for (tests give a folder of their own).
int AvailableCpus(const std::string& root = "/sys/fs/cgroup");

// The cgroup's memory limit in bytes, or the machine's memory when there is none.
uint64_t AvailableMemory(const std::string& root = "/sys/fs/cgroup");

}  // namespace penstock

#endif  // PENSTOCK_BASE_CGROUP_H_
