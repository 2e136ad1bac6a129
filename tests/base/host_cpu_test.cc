#include "base/host_cpu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

TEST(HostCpu, TimeOfOthersIsTheHostsTimeWithoutThisProcess) {
  TempDir dir;
  const std::string stat = dir.path() + "/stat";
  const auto with = [&stat](const std::string& line) {
    std::ofstream(stat) << line << "\ncpu0 1 2 3\n";
    return UsedCpu(stat);
  };
  // Idle time and time that waits for I/O do not count as used. Time that a hypervisor gave to other guests counts.
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const HostCpu before = with("cpu  1000000 10 500 7000 80 1 2 3 0 0");
  const HostCpu after = with("cpu  1000400 20 600 9000 99 2 3 14 0 0");
  EXPECT_NEAR(after.others_seconds - before.others_seconds, (400 + 10 + 100 + 1 + 1 + 11) / ticks, 0.1);
  EXPECT_GE(after.cpus, 1);
  EXPECT_EQ(UsedCpu(dir.path() + "/none").others_seconds, 0);
  EXPECT_EQ(with("").others_seconds, 0);
}

}  // namespace
}  // namespace penstock
