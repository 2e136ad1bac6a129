// Makes reads of files below $SLOW_READS_BELOW take $SLOW_READS_MS longer, as on a network file system:
//   cc -shared -fPIC -O2 -o slow_reads.so slow_reads.c -ldl; LD_PRELOAD=./slow_reads.so ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void Delay(int fd) {
  const char* below = getenv("SLOW_READS_BELOW");
  const char* ms = getenv("SLOW_READS_MS");
  char link[64], path[PATH_MAX];
  if (below == NULL || ms == NULL) return;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0) return;
  path[length] = 0;
  if (strncmp(path, below, strlen(below)) != 0) return;
  const long nanos = (long)(atof(ms) * 1e6);
  const struct timespec time = {nanos / 1000000000, nanos % 1000000000};
  nanosleep(&time, NULL);
}

typedef ssize_t (*Pread)(int, void*, size_t, off_t);
typedef ssize_t (*Preadv)(int, const struct iovec*, int, off_t);

ssize_t pread(int fd, void* out, size_t length, off_t offset) {
  static Pread real;
  if (real == NULL) real = (Pread)dlsym(RTLD_NEXT, "pread");
  Delay(fd);
  return real(fd, out, length, offset);
}

ssize_t pread64(int fd, void* out, size_t length, off_t offset) {
  static Pread real;
  if (real == NULL) real = (Pread)dlsym(RTLD_NEXT, "pread64");
  Delay(fd);
  return real(fd, out, length, offset);
}

ssize_t preadv(int fd, const struct iovec* pieces, int count, off_t offset) {
  static Preadv real;
  if (real == NULL) real = (Preadv)dlsym(RTLD_NEXT, "preadv");
  Delay(fd);
  return real(fd, pieces, count, offset);
}

ssize_t preadv64(int fd, const struct iovec* pieces, int count, off_t offset) {
  static Preadv real;
  if (real == NULL) real = (Preadv)dlsym(RTLD_NEXT, "preadv64");
  Delay(fd);
  return real(fd, pieces, count, offset);
}
