#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A process's folder in /proc, and the hierarchies of groups that it names.
class FakeSystem {
 public:
  // The process is in `group` of a hierarchy of version 2 whose group `root` is mounted.
  void AddVersion2(const std::string& group, const std::string& root = "/") {
    cgroup_ += "0::" + group + "\n";
    mountinfo_ +=
        "41 31 0:38 " + root + " " + dir_.File("v2") + " rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    Save();
  }
  void AddVersion1(const std::string& controllers, const std::string& group, const std::string& root = "/") {
    cgroup_ += "4:" + controllers + ":" + group + "\n";
    mountinfo_ += "35 31 0:32 " + root + " " + dir_.File(controllers) + " rw - cgroup cgroup rw," + controllers + "\n";
    Save();
  }
  void Write(const std::string& file, const std::string& content) { dir_.Write(file, content); }
  std::string File(const std::string& name) const { return dir_.File(name); }
  std::string proc() const { return dir_.File("proc"); }

 private:
  void Save() {
    dir_.Write("proc/cgroup", cgroup_);
    dir_.Write("proc/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" + mountinfo_);
  }

  TempDir dir_;
  std::string cgroup_ = "9:name=systemd:/elsewhere\n", mountinfo_;
};

int AllCpus() { return AvailableCpus("/nowhere"); }
MemoryLimit AllMemory() { return AvailableMemory("/nowhere"); }

TEST(Cgroup, WithoutGroupsTheMachineIsTheLimit) {
  EXPECT_GE(AllCpus(), 1);
  EXPECT_GT(AllMemory().bytes, 64 * kMiB);
  EXPECT_EQ(AllMemory().source, "the machine's memory");
  EXPECT_FALSE(LeastTaskLimit("/nowhere").has_value());
}

// As with systemd and SLURM, a group between the root and the process's own group sets the limit.
TEST(Cgroup, TheSmallestLimitOfAllParentGroupsCounts) {
  const std::vector<std::string> names = {"memory.max", "memory.high"};
  for (const std::string& name : names) {
    FakeSystem system;
    system.AddVersion2("/system.slice/job.scope/step");
    system.Write("v2/system.slice/memory.max", "4294967296\n");
    system.Write("v2/system.slice/job.scope/" + name, "33554432\n");
    system.Write("v2/system.slice/job.scope/step/memory.max", "max\n");
    system.Write("v2/system.slice/job.scope/step/memory.high", "50331648\n");
    system.Write("v2/system.slice/other.scope/memory.max", "1048576\n");
    const MemoryLimit limit = AvailableMemory(system.proc());
    EXPECT_EQ(limit.bytes, 32 * kMiB) << name;
    EXPECT_EQ(limit.source, system.File("v2/system.slice/job.scope/" + name));
  }
}

TEST(Cgroup, Version1LimitsOfNestedGroupsCount) {
  FakeSystem system;
  system.AddVersion1("memory", "/slurm/job_7");
  system.AddVersion2("/");  // the hybrid layout: version 2 is mounted without controllers
  system.Write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // version 1's "no limit"
  EXPECT_EQ(AvailableMemory(system.proc()).source, AllMemory().source);
  system.Write("memory/slurm/memory.limit_in_bytes", "67108864\n");
  system.Write("memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(AvailableMemory(system.proc()).bytes, 64 * kMiB);
  EXPECT_EQ(AvailableMemory(system.proc()).source, system.File("memory/slurm/memory.limit_in_bytes"));
}

// In a container without a namespace of groups, /proc names the host's group, and the mount begins at that group.
TEST(Cgroup, AMountMayBeginAtTheContainersGroup) {
  const std::pair<const char*, const char*> cases[] = {{"/docker/1f2e", "/docker/1f2e"},
                                                       {"/docker/1f2e/inner", "/docker/1f2e"},
                                                       {"/docker/1f2e", "/other"},
                                                       {"/../../docker/1f2e", "/"},
                                                       {"/docker/1f2e-more", "/docker/1f2e"}};
  for (const auto& [group, root] : cases) {
    FakeSystem system;
    system.AddVersion2(group, root);
    system.Write("v2/memory.max", "33554432\n");
    EXPECT_EQ(AvailableMemory(system.proc()).bytes, 32 * kMiB) << group << " " << root;
  }
  FakeSystem inner;
  inner.AddVersion2("/docker/1f2e/inner", "/docker/1f2e");
  inner.Write("v2/inner/memory.max", "33554432\n");
  EXPECT_EQ(AvailableMemory(inner.proc()).bytes, 32 * kMiB);
}

TEST(Cgroup, AMountPointWithASpaceIsFound) {
  TempDir dir;
  dir.Write("proc/cgroup", "0::/a\n");
  dir.Write("proc/mountinfo", "41 31 0:38 / " + dir.File("my\\040groups") + " rw - cgroup2 cgroup2 rw\n");
  dir.Write("my groups/a/memory.max", "33554432\n");
  EXPECT_EQ(AvailableMemory(dir.File("proc")).bytes, 32 * kMiB);
}

TEST(Cgroup, Version2QuotaIsRoundedUp) {
  const std::pair<const char*, int> cases[] = {
      {"50000 100000\n", 1}, {"100000 100000\n", 1},       {"100001 100000\n", 2},   {"150000 100000\n", 2},
      {"1 100000\n", 1},     {"100000000 100000\n", 1000}, {"max 100000\n", 1 << 20}};
  for (const auto& [text, cpus] : cases) {
    FakeSystem system;
    system.AddVersion2("/a/b");
    system.Write("v2/a/cpu.max", text);
    system.Write("v2/a/b/cpu.max", "max 100000\n");
    EXPECT_EQ(AvailableCpus(system.proc()), std::min(cpus, AllCpus())) << text;
  }
}

TEST(Cgroup, Version1QuotaIsRoundedUp) {
  FakeSystem system;
  system.AddVersion1("cpu,cpuacct", "/job");
  system.Write("cpu,cpuacct/job/cpu.cfs_quota_us", "20000\n");
  system.Write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(AvailableCpus(system.proc()), 1);
  system.Write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(AvailableCpus(system.proc()), AllCpus());
}

TEST(Cgroup, InvalidQuotasSetNoLimit) {
  for (const char* text : {"", "\n", "max", "a b", "-5 100000", "100000 0", "1 2 3"}) {
    FakeSystem system;
    system.AddVersion2("/");
    system.Write("v2/cpu.max", text);
    EXPECT_EQ(AvailableCpus(system.proc()), AllCpus()) << text;
  }
}

TEST(Cgroup, TheTaskLimitIsTheOneWithTheFewestThreadsLeft) {
  FakeSystem system;
  system.AddVersion1("pids", "/user/job");
  system.Write("pids/user/pids.max", "1000\n");
  system.Write("pids/user/pids.current", "990\n");
  system.Write("pids/user/job/pids.max", "40\n");
  system.Write("pids/user/job/pids.current", "5\n");
  const std::optional<TaskLimit> limit = LeastTaskLimit(system.proc());
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->most, 1000u);
  EXPECT_EQ(limit->used, 990u);
  EXPECT_EQ(limit->source, system.File("pids/user/pids.max"));
}

TEST(Cgroup, ThrottlingIsThatOfTheGroupThatWaitedLongest) {
  FakeSystem system;
  system.AddVersion2("/a/b");
  system.Write("v2/a/cpu.stat", "usage_usec 900\nnr_periods 10\nnr_throttled 9\nthrottled_usec 5000000\n");
  EXPECT_FALSE(ThrottlingByQuota(system.proc()).has_value()) << "no group has a quota";
  system.Write("v2/a/cpu.max", "200000 100000\n");
  system.Write("v2/a/b/cpu.max", "100000 100000\n");
  system.Write("v2/a/b/cpu.stat", "usage_usec 800\nnr_periods 40\nnr_throttled 3\nthrottled_usec 250000\n");
  const auto throttling = ThrottlingByQuota(system.proc());
  ASSERT_TRUE(throttling.has_value());
  EXPECT_EQ(throttling->periods, 10u);
  EXPECT_EQ(throttling->throttled_periods, 9u);
  EXPECT_DOUBLE_EQ(throttling->throttled_seconds, 5);
}

TEST(Cgroup, ThrottlingOfVersion1IsInNanoseconds) {
  FakeSystem system;
  system.AddVersion1("cpu", "/group");
  system.Write("cpu/group/cpu.cfs_quota_us", "100000\n");
  system.Write("cpu/group/cpu.cfs_period_us", "100000\n");
  system.Write("cpu/group/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 1500000000\n");
  const auto throttling = ThrottlingByQuota(system.proc());
  ASSERT_TRUE(throttling.has_value());
  EXPECT_EQ(throttling->throttled_periods, 2u);
  EXPECT_DOUBLE_EQ(throttling->throttled_seconds, 1.5);
}

}  // namespace
}  // namespace penstock
