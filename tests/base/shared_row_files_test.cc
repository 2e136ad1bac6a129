#include "base/shared_row_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace penstock {
namespace {

constexpr uint64_t kBytes = 64 << 10;

TEST(SharedRowFiles, FindsTheFileThatContainsBytes) {
  const auto files = std::make_shared<SharedRowFiles>();
  const auto one = *files->Create(kBytes), two = *files->Create(kBytes);
  EXPECT_NE(one->id(), two->id());
  EXPECT_EQ(files->FileOf(one->data(), kBytes), one);
  EXPECT_EQ(files->FileOf(two->data() + 100, 7), two);
  EXPECT_EQ(files->FileOf(one->data() + kBytes - 10, 11), nullptr) << "the bytes end after the file";
  EXPECT_NE(files->FileOf(one->data() - 1, 1), one);
  const std::string elsewhere(100, 'x');
  EXPECT_EQ(files->FileOf(elsewhere.data(), elsewhere.size()), nullptr);
  EXPECT_EQ(std::make_shared<SharedRowFiles>()->FileOf(one->data(), 1), nullptr) << "another object's file";
}

TEST(SharedRowFiles, ADestroyedFileIsNoLongerFound) {
  const auto files = std::make_shared<SharedRowFiles>();
  auto file = *files->Create(kBytes);
  const std::byte* const at = file->data();
  const uint64_t id = file->id();
  file.reset();
  EXPECT_EQ(files->FileOf(at, 1), nullptr);
  EXPECT_NE((*files->Create(kBytes))->id(), id) << "ids differ even at the same address";
}

// A trainer receives the descriptor, and a trainer may be any program.
TEST(SharedRowFiles, TheDescriptorPermitsNeitherWritesNorTruncation) {
  const auto file = *std::make_shared<SharedRowFiles>()->Create(kBytes);
  std::memset(file->data(), 7, kBytes);
  EXPECT_EQ(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd(), 0), MAP_FAILED);
  EXPECT_LT(pwrite(file->fd(), "x", 1, 0), 0);
  EXPECT_NE(ftruncate(file->fd(), 4096), 0);
  EXPECT_NE(fallocate(file->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
}

}  // namespace
}  // namespace penstock
