#include "server/common/core_dumps.h"

#include <sys/resource.h>

#include <algorithm>

namespace penstock::server {

void PreventCoreDumps() {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  // A limit of 0 prevents a file, but not a dump that the kernel pipes to a program, such as systemd-coredump. A limit
  // of 1 byte prevents both (core(5), fs/coredump.c).
  limit.rlim_cur = std::min<rlim_t>(1, limit.rlim_max);
  setrlimit(RLIMIT_CORE, &limit);
}

}  // namespace penstock::server
