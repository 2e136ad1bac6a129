#include "client/feed/batch_arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

namespace penstock::feed {
namespace {

std::unique_ptr<BatchArena> Make(uint64_t bytes, BatchArena::Pages pages = BatchArena::Pages::kRelease) {
  auto arena = BatchArena::Create(bytes, pages);
  EXPECT_TRUE(arena.ok()) << arena.status();
  return *std::move(arena);
}

uint64_t PagesOf(int fd) {
  struct stat info {};
  EXPECT_EQ(fstat(fd, &info), 0);
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

TEST(BatchArena, BlocksAreWholePagesAndNeverOverlap) {
  constexpr uint64_t kBytes = 256 * BatchArena::kPage;
  const std::unique_ptr<BatchArena> arena = Make(kBytes);
  std::mt19937 random(7);
  struct Block {
    void* memory;
    size_t bytes;
    unsigned char mark;
  };
  std::vector<Block> blocks;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0 || blocks.empty()) {
      const size_t bytes = 1 + random() % (20 * BatchArena::kPage);
      void* const memory = arena->Allocate(bytes);
      if (memory == nullptr) continue;
      EXPECT_EQ(arena->OffsetOf(memory) % BatchArena::kPage, 0u);
      blocks.push_back({memory, bytes, static_cast<unsigned char>(random())});
      std::memset(memory, blocks.back().mark, bytes);
    } else {
      const size_t at = random() % blocks.size();
      const Block block = blocks[at];
      for (size_t b = 0; b < block.bytes; b += 97) {
        ASSERT_EQ(static_cast<unsigned char*>(block.memory)[b], block.mark);
      }
      arena->Deallocate(block.memory, block.bytes);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const Block& block : blocks) arena->Deallocate(block.memory, block.bytes);
  EXPECT_EQ(arena->used_bytes(), 0u);
  void* const all = arena->Allocate(kBytes - BatchArena::kPage);  // the gaps have joined
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(arena->Allocate(1), nullptr);
  EXPECT_GT(arena->refusals(), 0u);
  EXPECT_EQ(arena->last_refusal().bytes, BatchArena::kPage);
  EXPECT_EQ(arena->last_refusal().used, kBytes - BatchArena::kPage);
}

TEST(BatchArena, AReleasedBlockTakesNoMemory) {
  const std::unique_ptr<BatchArena> arena = Make(uint64_t{1} << 38);  // far more than the machine's memory
  EXPECT_EQ(PagesOf(arena->fd()), 0u);
  constexpr size_t kBytes = size_t{8} << 20;
  void* const memory = arena->Allocate(kBytes);
  std::memset(memory, 1, kBytes);
  EXPECT_GE(PagesOf(arena->fd()), kBytes);
  arena->Deallocate(memory, kBytes);
  EXPECT_LT(PagesOf(arena->fd()), kBytes / 4);
}

TEST(BatchArena, ReleasedBlocksKeepTheirPagesIfTheArenaKeepsPages) {
  const std::unique_ptr<BatchArena> arena = Make(uint64_t{64} << 20, BatchArena::Pages::kKeep);
  constexpr size_t kBytes = size_t{8} << 20;
  void* const memory = arena->Allocate(kBytes);
  std::memset(memory, 1, kBytes);
  const uint64_t pages = PagesOf(arena->fd());
  arena->Deallocate(memory, kBytes);
  EXPECT_EQ(PagesOf(arena->fd()), pages);
  EXPECT_EQ(static_cast<char*>(memory)[kBytes - 1], 1);  // a new page would be zeros
  const std::atomic<bool> stop{false};
  arena->Prepare(kBytes, stop);
  EXPECT_EQ(arena->Allocate(kBytes), memory);
  EXPECT_EQ(static_cast<char*>(memory)[0], 1);
}

TEST(BatchArena, UsedBlocksKeepTheirPagesAfterKeepUsed) {
  const std::unique_ptr<BatchArena> arena = Make(uint64_t{64} << 20);
  constexpr size_t kBytes = size_t{8} << 20;
  char* const used = static_cast<char*>(arena->Allocate(kBytes));
  char* const freed = static_cast<char*>(arena->Allocate(kBytes));
  std::memset(used, 5, kBytes);
  std::memset(freed, 6, kBytes);
  const std::atomic<bool> stop{false};
  arena->Prepare(uint64_t{32} << 20, stop);
  arena->Deallocate(freed, kBytes);
  arena->KeepUsed();
  EXPECT_LT(PagesOf(arena->fd()), kBytes + kBytes / 4);
  arena->Deallocate(used, kBytes);
  EXPECT_EQ(used[0], 5);
  EXPECT_EQ(used[kBytes - 1], 5);
}

TEST(BatchArena, PreparingAddsPagesAndChangesNoContent) {
  const std::unique_ptr<BatchArena> arena = Make(uint64_t{64} << 20);
  constexpr size_t kBytes = size_t{1} << 20;
  void* const memory = arena->Allocate(kBytes);
  std::memset(memory, 5, kBytes);
  const std::atomic<bool> stop{false};
  arena->Prepare(uint64_t{16} << 20, stop);
  EXPECT_GE(PagesOf(arena->fd()), uint64_t{16} << 20);
  for (size_t i = 0; i < kBytes; i += 1000) ASSERT_EQ(static_cast<char*>(memory)[i], 5);
}

TEST(BatchArena, ItsSizeIsSealedAndAllItsPagesCanBeReleased) {
  const std::unique_ptr<BatchArena> arena = Make(uint64_t{4} << 20);
  EXPECT_NE(ftruncate(arena->fd(), 4096), 0);
  EXPECT_NE(ftruncate(arena->fd(), 8 << 20), 0);
  void* const child = mmap(nullptr, arena->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd(), 0);
  ASSERT_NE(child, MAP_FAILED);
  std::memset(child, 9, arena->bytes());
  arena->ReleaseAll();
  EXPECT_EQ(PagesOf(arena->fd()), 0u);
  EXPECT_EQ(static_cast<char*>(child)[4096], 0);
  munmap(child, arena->bytes());
}

}  // namespace
}  // namespace penstock::feed
