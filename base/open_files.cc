#include "base/open_files.h"

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
  setrlimit(RLIMIT_NOFILE, &files);  // where it fails all goes on with fewer
}

size_t OpenFileLimit() {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  return static_cast<size_t>(std::min(kEnough, files.rlim_cur));
}

}  // namespace penstock
