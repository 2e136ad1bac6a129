// CPU usage of this host.
#ifndef PENSTOCK_BASE_HOST_CPU_H_
#define PENSTOCK_BASE_HOST_CPU_H_

#include <string>

namespace penstock {

struct HostCpu {
  int cpus = 1;               // number of online CPUs of the host, regardless of a quota
  double others_seconds = 0;  // CPU time outside this process since boot, with interrupts and steal; use differences
};

// Reads `stat`, in the format of /proc/stat. If it cannot be read, others_seconds is 0.
HostCpu UsedCpu(const std::string& stat = "/proc/stat");

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_CPU_H_
