// Preloaded into a program, this makes listings of folders fail for lack of memory, as under RLIMIT_AS: opendir() fails
// with ENOMEM while the file $PENSTOCK_TEST_SHORT_OF_MEMORY exists.
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" DIR* opendir(const char* path) {
  static const auto next = reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"));
  const char* const trigger = std::getenv("PENSTOCK_TEST_SHORT_OF_MEMORY");
  if (trigger == nullptr || access(trigger, F_OK) != 0) return next(path);
  errno = ENOMEM;
  return nullptr;
}
