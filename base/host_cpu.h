// What this host's CPUs do.
#ifndef PENSTOCK_BASE_HOST_CPU_H_
#define PENSTOCK_BASE_HOST_CPU_H_

#include <string>

namespace penstock {

struct HostCpu {
  int cpus = 1;               // of the host, whatever a quota says
  double others_seconds = 0;  // of CPU time since the host's start, of all but this process; of use as a difference
};

// By `stat`, whose format is /proc/stat's. Where that cannot be read there are no others.
HostCpu UsedCpu(const std::string& stat = "/proc/stat");

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_CPU_H_
