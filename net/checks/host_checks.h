// Checks of the host's limits. Each returns a finding without the name of the check.
#ifndef PENSTOCK_NET_CHECKS_HOST_CHECKS_H_
#define PENSTOCK_NET_CHECKS_HOST_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/cgroup.h"
#include "penstock/v1/control.pb.h"

namespace penstock::net {

v1::Finding Fine(std::string message);
// The message has the state, and then what to do.
v1::Finding Fault(std::string message);

// Names of the checks that several processes make.
inline constexpr char kCertificateCheck[] = "certificate", kTokenCheck[] = "token", kOpenFilesCheck[] = "open files",
                      kLimitsCheck[] = "cgroup limits", kSocketBuffersCheck[] = "socket buffers";

// Finds a limit of open files that is too low for a daemon or a trainer of a large fleet, or that is nearly reached.
// `open`: the number of open files.
v1::Finding CheckOpenFiles(size_t limit, size_t open);
// The same for this process.
v1::Finding CheckOpenFiles();

// What the control groups allow this process.
struct GroupLimits {
  int cpus = 1;
  MemoryLimit memory;
  std::optional<TaskLimit> threads;

  static GroupLimits OfThisProcess();
};

// Finds a limit of memory below the bytes that the process needs, and a nearly reached limit of threads. `budget` is
// the part of `needed` that --memory-budget sets. 0: none.
v1::Finding CheckGroupLimits(const GroupLimits& limits, uint64_t needed, uint64_t budget);

// Finds system limits on the buffers of a TCP connection that slow down rows. `sys` has the content of /proc/sys.
v1::Finding CheckSocketBuffers(const std::string& sys = "/proc/sys");

}  // namespace penstock::net

#endif  // PENSTOCK_NET_CHECKS_HOST_CHECKS_H_
