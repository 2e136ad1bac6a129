// Reads that a signal interrupts. The kernel interrupts them on some network file systems only, so pread and preadv of
// this program do it.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "base/file.h"
#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

std::atomic<int> interruptions{0};  // later reads that fail with EINTR

bool Interrupts() {
  if (interruptions.load() == 0) return false;
  --interruptions;
  errno = EINTR;
  return true;
}

}  // namespace
}  // namespace penstock

extern "C" ssize_t pread(int fd, void* out, size_t bytes, off_t offset) {
  return penstock::Interrupts() ? -1 : syscall(SYS_pread64, fd, out, bytes, offset);
}

extern "C" ssize_t preadv(int fd, const iovec* pieces, int count, off_t offset) {
  return penstock::Interrupts() ? -1 : syscall(SYS_preadv, fd, pieces, count, offset, 0);
}

namespace penstock {
namespace {

TEST(InterruptedRead, ContinuesAfterASignal) {
  TempDir dir;
  dir.Write("a", "0123456789");
  const auto file = OpenFile(dir.File("a")).value();
  char out[3];
  interruptions = 2;
  EXPECT_EQ(file->ReadAt(3, 3, out).value(), 3u);
  EXPECT_EQ(interruptions, 0);
  interruptions = 2;
  EXPECT_EQ(file->ReadPartsAt(3, {{out, 3}}).value(), 3u);
  EXPECT_EQ(interruptions, 0);
  interruptions = 2;
  const absl::StatusOr<size_t> past_caches = file->ReadAtPastCaches(3, 3, out);
  EXPECT_EQ(interruptions, 0);
  ASSERT_TRUE(past_caches.ok()) << past_caches.status();
  EXPECT_EQ(std::string(out, *past_caches), "345");
}

}  // namespace
}  // namespace penstock
