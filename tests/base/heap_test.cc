#include "base/heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitizers.h"

namespace penstock {
namespace {

// Allocates and frees rows like a client, `blocks` of 1 MiB at a time in several rounds. Returns the page faults of the
// last rounds.
long FaultsOf(int blocks) {
  long faults = 0;
  std::thread([&] {
    const auto now = [] {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_minflt;
    };
    for (int round = 0; round < 8; ++round) {
      if (round == 4) faults = -now();
      std::vector<std::unique_ptr<char[]>> rows;
      for (int i = 0; i < blocks; ++i) {
        rows.push_back(std::make_unique_for_overwrite<char[]>(1 << 20));
        std::memset(rows.back().get(), round, 1 << 20);
      }
    }
    faults += now();
  }).join();
  return faults;
}

TEST(OwnMemory, CountsTouchedPagesOfTheHeapAndOfMemoryFiles) {
  constexpr size_t kBytes = size_t{48} << 20;
  const uint64_t before = OwnMemory();
  ASSERT_GT(before, 0u);
  const std::string heap(kBytes, 'x');
  EXPECT_GT(OwnMemory(), before + kBytes * 3 / 4);
  const int file = memfd_create("penstock-test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::memset(mapped, 1, kBytes);
  EXPECT_GT(OwnMemory(), before + 2 * kBytes * 3 / 4);
  munmap(mapped, kBytes);
  close(file);
}

TEST(KeepFreedMemory, BlocksThatAreAllocatedAgainCauseFewPageFaults) {
  if (support::kSanitizersHeap) GTEST_SKIP() << "the sanitizer has a heap of its own";
  if (std::getenv("GLIBC_TUNABLES") != nullptr || std::getenv("MALLOC_TRIM_THRESHOLD_") != nullptr) {
    GTEST_SKIP() << "the environment tunes this heap";
  }
  KeepFreedMemory(64 << 20);
  EXPECT_LT(FaultsOf(24), 4 * 24 * 256 / 10);
}

}  // namespace
}  // namespace penstock
