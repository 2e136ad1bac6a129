#include "base/cgroup.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

// Returns nullopt for "max", a negative number, or a missing file.
std::optional<uint64_t> Number(const std::string& path) {
  const std::optional<std::string> line = FirstLine(path);
  uint64_t value = 0;
  if (!line || !absl::SimpleAtoi(*line, &value)) return std::nullopt;
  return value;
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The kernel writes a space in a path of mountinfo as "\040".
std::string Unescaped(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] != '\\' || !digit(i + 1) || !digit(i + 2) || !digit(i + 3)) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

// A mounted hierarchy of groups.
struct Mount {
  std::string group;   // the mounted group
  std::string folder;  // the mount point
  bool version_2 = false;
  std::string controllers;  // for version 1, separated by commas, with other options of the mount
};

// Parses lines like "35 31 0:32 /group /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory".
std::vector<Mount> Mounts(const std::string& proc) {
  std::vector<Mount> mounts;
  for (const std::string& line : Lines(absl::StrCat(proc, "/mountinfo"))) {
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<absl::string_view> mount = absl::StrSplit(halves.first, ' ');
    const std::vector<absl::string_view> system = absl::StrSplit(halves.second, ' ');
    if (mount.size() < 5 || system.size() < 3 || (system[0] != "cgroup" && system[0] != "cgroup2")) continue;
    mounts.push_back({Unescaped(mount[3]), Unescaped(mount[4]), system[0] == "cgroup2", std::string(system[2])});
  }
  return mounts;
}

bool HasController(absl::string_view controllers, absl::string_view controller) {
  const std::vector<absl::string_view> all = absl::StrSplit(controllers, ',');
  return std::find(all.begin(), all.end(), controller) != all.end();
}

// Returns the folders of the process's group and of the groups above it that `mount` contains.
std::vector<std::string> GroupFolders(const Mount& mount, const std::string& group) {
  absl::string_view below = group;
  // A container may see its group's name on the host, but its own group as the root of the mount.
  if (!absl::ConsumePrefix(&below, mount.group == "/" ? "" : mount.group) ||
      absl::StrContains(absl::StrCat(below, "/"), "/../") || !(below.empty() || below[0] == '/')) {
    below = "";
  }
  std::vector<std::string> folders = {mount.folder};
  for (const absl::string_view name : absl::StrSplit(below, '/', absl::SkipEmpty())) {
    folders.push_back(absl::StrCat(folders.back(), "/", name));
  }
  return folders;
}

struct Group {
  std::string folder;
  bool version_2 = false;
};

// Returns all groups whose limit for `controller` applies to the process.
std::vector<Group> GroupsOf(const std::string& proc, absl::string_view controller) {
  std::vector<Group> groups;
  const std::vector<Mount> mounts = Mounts(proc);
  for (const std::string& line : Lines(absl::StrCat(proc, "/cgroup"))) {  // "4:memory:/group", "0::/group"
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const bool version_2 = parts[1].empty();
    if (!version_2 && !HasController(parts[1], controller)) continue;
    for (const Mount& mount : mounts) {
      if (mount.version_2 != version_2 || (!version_2 && !HasController(mount.controllers, controller))) continue;
      for (std::string& folder : GroupFolders(mount, parts[2])) groups.push_back({std::move(folder), version_2});
    }
  }
  return groups;
}

// Returns the CPUs of a group's quota, or nullopt.
std::optional<double> CpuQuota(const Group& group) {
  double quota = 0, period = 0;
  if (group.version_2) {  // "max 100000" or "150000 100000"
    const std::vector<std::string> words = absl::StrSplit(FirstLine(group.folder + "/cpu.max").value_or(""), ' ');
    if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) || !absl::SimpleAtod(words[1], &period)) {
      return std::nullopt;
    }
  } else {
    quota = static_cast<double>(Number(group.folder + "/cpu.cfs_quota_us").value_or(0));
    period = static_cast<double>(Number(group.folder + "/cpu.cfs_period_us").value_or(0));
  }
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

}  // namespace

int AvailableCpus(const std::string& proc) {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  for (const Group& group : GroupsOf(proc, "cpu")) {
    const std::optional<double> quota = CpuQuota(group);
    if (quota && *quota < cpus) cpus = static_cast<int>(std::ceil(*quota));
  }
  return std::max(1, cpus);
}

MemoryLimit AvailableMemory(const std::string& proc) {
  MemoryLimit least{static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE)),
                    "the machine's memory"};
  for (const Group& group : GroupsOf(proc, "memory")) {
    const std::vector<const char*> files =
        group.version_2 ? std::vector{"memory.max", "memory.high"} : std::vector{"memory.limit_in_bytes"};
    for (const char* const file : files) {
      std::string path = absl::StrCat(group.folder, "/", file);
      const std::optional<uint64_t> limit = Number(path);
      if (limit && *limit < least.bytes) least = {*limit, std::move(path)};
    }
  }
  return least;
}

std::optional<TaskLimit> LeastTaskLimit(const std::string& proc) {
  std::optional<TaskLimit> least;
  const auto left = [](const TaskLimit& limit) { return limit.most - std::min(limit.most, limit.used); };
  for (const Group& group : GroupsOf(proc, "pids")) {
    std::string path = absl::StrCat(group.folder, "/pids.max");
    const std::optional<uint64_t> most = Number(path);
    if (!most) continue;
    TaskLimit limit{*most, Number(absl::StrCat(group.folder, "/pids.current")).value_or(0), std::move(path)};
    if (!least || left(limit) < left(*least)) least = std::move(limit);
  }
  return least;
}

std::optional<CpuThrottling> ThrottlingByQuota(const std::string& proc) {
  std::optional<CpuThrottling> longest;
  for (const Group& group : GroupsOf(proc, "cpu")) {
    if (!CpuQuota(group)) continue;
    CpuThrottling throttling;
    for (const std::string& line : Lines(group.folder + "/cpu.stat")) {  // "nr_throttled 12"
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      uint64_t value = 0;
      if (words.size() != 2 || !absl::SimpleAtoi(words[1], &value)) continue;
      if (words[0] == "nr_periods") throttling.periods = value;
      if (words[0] == "nr_throttled") throttling.throttled_periods = value;
      // The microseconds of version 2, and the nanoseconds of version 1.
      if (words[0] == "throttled_usec") throttling.throttled_seconds = static_cast<double>(value) / 1e6;
      if (words[0] == "throttled_time") throttling.throttled_seconds = static_cast<double>(value) / 1e9;
    }
    if (!longest || throttling.throttled_seconds > longest->throttled_seconds) longest = throttling;
  }
  return longest;
}

}  // namespace penstock
