// Facts about this host and process as text, for support files.
#ifndef PENSTOCK_BASE_HOST_FACTS_H_
#define PENSTOCK_BASE_HOST_FACTS_H_

#include <string>

namespace penstock {

// Returns lines: release, kernel, time, CPUs, memory, limits and load of the host, and the process's status. Reads
// /proc, the control groups and /etc/os-release. Has no environment variable and no command line, which may contain
// secrets.
std::string HostFacts();

}  // namespace penstock

#endif  // PENSTOCK_BASE_HOST_FACTS_H_
