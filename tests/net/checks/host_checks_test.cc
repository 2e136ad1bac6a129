#include "net/checks/host_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "tests/support/temp_folder.h"

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(HostChecks, FewOpenFilesAreAFault) {
  EXPECT_FALSE(CheckOpenFiles(65536, 100).fault());
  EXPECT_EQ(CheckOpenFiles(65536, 100).message(), "100 of at most 65536 are open");
  EXPECT_TRUE(CheckOpenFiles(1024, 100).fault());
  EXPECT_THAT(CheckOpenFiles(1024, 100).message(), HasSubstr("LimitNOFILE=65536"));
  EXPECT_TRUE(CheckOpenFiles(65536, 65000).fault());
}

TEST(HostChecks, TheOpenFilesOfThisProcessAreCounted) {
  EXPECT_FALSE(CheckOpenFiles().message().empty());
  EXPECT_NE(CheckOpenFiles().message().rfind("0 of", 0), 0u);
}

TEST(HostChecks, AMemoryLimitBelowTheNeedIsAFault) {
  const GroupLimits limits{4, {2 * kGiB, "/sys/fs/cgroup/memory.max"}, std::nullopt};
  EXPECT_FALSE(CheckGroupLimits(limits, 2 * kGiB, kGiB).fault());
  EXPECT_EQ(CheckGroupLimits(limits, 0, 0).message(), "4 CPUs, 2.0 GiB of memory (/sys/fs/cgroup/memory.max)");
  const v1::Finding budget = CheckGroupLimits(limits, 3 * kGiB, 2 * kGiB);
  EXPECT_TRUE(budget.fault());
  EXPECT_EQ(budget.message(),
            "the memory budget of 2.0 GiB and 1.0 GiB for the rest exceed 2.0 GiB (/sys/fs/cgroup/memory.max), so the "
            "kernel may kill the process. Lower --memory-budget, or raise the limit");
  EXPECT_TRUE(CheckGroupLimits(limits, 3 * kGiB, 0).fault());
}

TEST(HostChecks, AThreadLimitThatIsNearlyReachedIsAFault) {
  GroupLimits limits{1, {kGiB, "the machine's memory"}, TaskLimit{1000, 500, "/sys/fs/cgroup/pids.max"}};
  EXPECT_EQ(CheckGroupLimits(limits, 0, 0).message(),
            "1 CPU, 1.0 GiB of memory (the machine's memory), 500 of at most 1000 threads");
  limits.threads->used = 990;
  EXPECT_TRUE(CheckGroupLimits(limits, 0, 0).fault());
  EXPECT_THAT(CheckGroupLimits(limits, 0, 0).message(), HasSubstr("990 of at most 1000 threads run"));
  limits.threads->used = 1100;
  EXPECT_TRUE(CheckGroupLimits(limits, 0, 0).fault());
}

TEST(HostChecks, SmallSocketBuffersAreAFaultWithTheSettings) {
  const support::TempFolder sys;
  std::filesystem::create_directories(sys.File("net/ipv4"));
  EXPECT_FALSE(CheckSocketBuffers(sys.path()).fault());
  EXPECT_EQ(CheckSocketBuffers(sys.path()).message(), "the system does not report its limits");
  ASSERT_TRUE(WriteFileAtomically(sys.File("net/ipv4/tcp_rmem"), "4096\t131072\t6291456\n").ok());
  ASSERT_TRUE(WriteFileAtomically(sys.File("net/ipv4/tcp_wmem"), "4096\t16384\t4194304\n").ok());
  EXPECT_FALSE(CheckSocketBuffers(sys.path()).fault());
  EXPECT_EQ(CheckSocketBuffers(sys.path()).message(),
            "a connection receives with up to 6.0 MiB, and sends with up to 4.0 MiB");
  ASSERT_TRUE(WriteFileAtomically(sys.File("net/ipv4/tcp_wmem"), "4096\t16384\t65536\n").ok());
  const v1::Finding finding = CheckSocketBuffers(sys.path());
  EXPECT_TRUE(finding.fault());
  EXPECT_EQ(finding.message(),
            "a connection that sends rows may buffer only 64 KiB: sysctl -w net.ipv4.tcp_wmem='4096 16384 4194304'");
}

}  // namespace
}  // namespace penstock::net
