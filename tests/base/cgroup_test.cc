#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

// What there is without a limit: CPUs of the affinity mask, memory of the machine.
int AllCpus() {
  TempDir empty;
  return AvailableCpus(empty.path());
}
uint64_t AllMemory() {
  TempDir empty;
  return AvailableMemory(empty.path());
}

TEST(Cgroup, WithoutFilesTheMachineIsTheLimit) {
  EXPECT_GE(AllCpus(), 1);
  EXPECT_GT(AllMemory(), uint64_t{64} << 20);
}

TEST(Cgroup, Version2QuotaIsRoundedUp) {
  const std::pair<const char*, int> cases[] = {
      {"50000 100000\n", 1}, {"100000 100000\n", 1},       {"100001 100000\n", 2},   {"150000 100000\n", 2},
      {"1 100000\n", 1},     {"100000000 100000\n", 1000}, {"max 100000\n", 1 << 20}};
  for (const auto& [text, cpus] : cases) {
    TempDir dir;
    dir.Write("cpu.max", text);
    EXPECT_EQ(AvailableCpus(dir.path()), std::min(cpus, AllCpus())) << text;
  }
}

TEST(Cgroup, Version1QuotaIsRoundedUp) {
  TempDir dir;
  dir.Write("cpu/cpu.cfs_quota_us", "20000\n");
  dir.Write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(AvailableCpus(dir.path()), 1);
  dir.Write("cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(AvailableCpus(dir.path()), AllCpus());
}

TEST(Cgroup, UnreadableQuotasAreNone) {
  for (const char* text : {"", "\n", "max", "a b", "-5 100000", "100000 0", "1 2 3"}) {
    TempDir dir;
    dir.Write("cpu.max", text);
    EXPECT_EQ(AvailableCpus(dir.path()), AllCpus()) << text;
  }
}

TEST(Cgroup, MemoryLimitsOfBothVersionsCount) {
  TempDir v2;
  v2.Write("memory.max", "33554432\n");
  EXPECT_EQ(AvailableMemory(v2.path()), 33554432u);
  v2.Write("memory.max", "max\n");
  EXPECT_EQ(AvailableMemory(v2.path()), AllMemory());
  TempDir v1;
  v1.Write("memory/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(AvailableMemory(v1.path()), 1048576u);
  v1.Write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // version 1's "no limit"
  EXPECT_EQ(AvailableMemory(v1.path()), AllMemory());
}

}  // namespace
}  // namespace penstock
