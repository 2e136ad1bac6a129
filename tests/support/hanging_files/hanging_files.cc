#include "tests/support/hanging_files/hanging_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace penstock::support {
namespace {

constexpr char kFolder[] = "PENSTOCK_TEST_HANGING_FOLDER";
constexpr char kTrigger[] = "PENSTOCK_TEST_HANGING_TRIGGER";

// The hanging folder. Never freed, because calls may be under way at the program's end.
std::atomic<const std::string*> folder{nullptr};
std::atomic<int> hanging_calls{0};

bool HangsForever(const char* path) {
  const std::string* const below = folder.load();
  return below != nullptr && std::strncmp(path, below->c_str(), below->size()) == 0;
}

bool HangsNow(const char* path) {
  const char* const named = std::getenv(kFolder);
  const char* const trigger = std::getenv(kTrigger);
  return named != nullptr && trigger != nullptr && std::strncmp(path, named, std::strlen(named)) == 0 &&
         access(trigger, F_OK) == 0;
}

// Behaves like a call that waits for a server: no signal and no cancellation ends it. It polls, because another process
// may end the hang.
void MayHang(const char* path) {
  if (HangsForever(path)) {
    hanging_calls.fetch_add(1);
    for (;;) pause();
  }
  while (HangsNow(path)) usleep(20'000);
}

void MayHang(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = '\0';
  MayHang(path);
}

// Returns libc's own function.
template <typename Call>
Call Next(Call, const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

HangingFiles::HangingFiles(const std::string& below) {
  hanging_calls.store(0);
  folder.store(new std::string(below));
}

HangingFiles::~HangingFiles() { folder.store(nullptr); }

int HangingFiles::hanging() { return hanging_calls.load(); }

std::vector<std::string> HangingFilesEnvironment(const std::string& library, const std::string& below,
                                                 const std::string& trigger) {
  return {"LD_PRELOAD=" + library, std::string(kFolder) + "=" + below, std::string(kTrigger) + "=" + trigger};
}

}  // namespace penstock::support

extern "C" {

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  static const auto next = penstock::support::Next(&open, "open");
  penstock::support::MayHang(path);
  return next(path, flags, mode);
}

ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  static const auto next = penstock::support::Next(&pread, "pread");
  penstock::support::MayHang(fd);
  return next(fd, out, size, offset);
}

int stat(const char* path, struct stat* info) noexcept {
  static const auto next = penstock::support::Next(&stat, "stat");
  penstock::support::MayHang(path);
  return next(path, info);
}

int fstat(int fd, struct stat* info) noexcept {
  static const auto next = penstock::support::Next(&fstat, "fstat");
  penstock::support::MayHang(fd);
  return next(fd, info);
}

char* realpath(const char* path, char* resolved) noexcept {
  static const auto next = penstock::support::Next(&realpath, "realpath");
  penstock::support::MayHang(path);
  return next(path, resolved);
}

DIR* opendir(const char* path) {
  static const auto next = penstock::support::Next(&opendir, "opendir");
  penstock::support::MayHang(path);
  return next(path);
}

int posix_fadvise(int fd, off_t offset, off_t size, int advice) noexcept {
  static const auto next = penstock::support::Next(&posix_fadvise, "posix_fadvise");
  penstock::support::MayHang(fd);
  return next(fd, offset, size, advice);
}
}
