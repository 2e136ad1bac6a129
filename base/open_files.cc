#include "base/open_files.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr rlim_t kEnough = 65536;

}  // namespace

void RaiseOpenFileLimit() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= kEnough) return;
  files.rlim_cur = std::min(kEnough, files.rlim_max);
  setrlimit(RLIMIT_NOFILE, &files);  // on failure, the process continues with the lower limit
}

void IgnoreFileSizeSignal() { signal(SIGXFSZ, SIG_IGN); }

uint64_t FileSizeLimit() {
  rlimit size = {};
  if (getrlimit(RLIMIT_FSIZE, &size) != 0 || size.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return size.rlim_cur;
}

size_t OpenFileLimit() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  return static_cast<size_t>(std::min(kEnough, files.rlim_cur));
}

}  // namespace penstock
