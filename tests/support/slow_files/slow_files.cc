// Files that answer slowly, like those of a network file system. Preloaded into another program, this makes reads of
// files below $PENSTOCK_TEST_SLOW_FOLDER take $PENSTOCK_TEST_SLOW_MS longer.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void Delay(int fd) {
  const char* const below = std::getenv("PENSTOCK_TEST_SLOW_FOLDER");
  const char* const milliseconds = std::getenv("PENSTOCK_TEST_SLOW_MS");
  if (below == nullptr || milliseconds == nullptr) return;
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = '\0';
  if (std::strncmp(path, below, std::strlen(below)) != 0) return;
  const long nanos = std::atol(milliseconds) * 1'000'000;
  const timespec time{nanos / 1'000'000'000, nanos % 1'000'000'000};
  nanosleep(&time, nullptr);
}

}  // namespace

extern "C" ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  static const auto next = reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pread"));
  Delay(fd);
  return next(fd, out, size, offset);
}
