#include "tests/support/cluster/control_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/wait_until.h"

namespace penstock::support {
namespace {

bool WriteTo(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

}  // namespace

bool ControlGroup::TryCreate(const std::string& parent, bool version_2, Limit limit) {
  const std::string controller = limit == Limit::kMemory ? "memory" : "pids";
  if (version_2) WriteTo(absl::StrCat(parent, "/cgroup.subtree_control"), absl::StrCat("+", controller));
  outer_ = absl::StrCat(parent, "/penstock-test-", getpid());
  inner_ = absl::StrCat(outer_, "/inner");
  file_ = absl::StrCat(outer_, "/",
                       limit == Limit::kTasks ? "pids.max"
                       : version_2            ? "memory.max"
                                              : "memory.limit_in_bytes");
  if (mkdir(outer_.c_str(), 0755) == 0 && access(file_.c_str(), W_OK) == 0 && mkdir(inner_.c_str(), 0755) == 0) {
    return true;
  }
  rmdir(inner_.c_str());
  rmdir(outer_.c_str());
  inner_.clear();
  return false;
}

absl::StatusOr<std::unique_ptr<ControlGroup>> ControlGroup::Create(Limit limit, uint64_t value) {
  std::unique_ptr<ControlGroup> group(new ControlGroup());
  const std::string controller = limit == Limit::kMemory ? "memory" : "pids";
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::pair<std::string, std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    const std::vector<std::string> mount = absl::StrSplit(halves.first, ' ');
    const std::vector<std::string> system = absl::StrSplit(halves.second, ' ');
    if (mount.size() < 5 || system.size() < 3) continue;
    const bool version_2 = system[0] == "cgroup2";
    const bool version_1 =
        system[0] == "cgroup" && absl::StrContains(absl::StrCat(system[2], ","), absl::StrCat(",", controller, ","));
    if (!version_1 && !version_2) continue;
    if (!group->TryCreate(mount[4], version_2, limit)) continue;
    group->SetLimit(value);
    return group;
  }
  return absl::UnavailableError(absl::StrCat("this process cannot make a control group with a limit of ", controller,
                                             ": no mounted hierarchy that it may write has the controller"));
}

void ControlGroup::SetLimit(uint64_t value) { WriteTo(file_, absl::StrCat(value)); }

ControlGroup::~ControlGroup() {
  if (inner_.empty()) return;
  // A reaped process may stay in its group for a moment.
  WaitUntil([this] { return rmdir(inner_.c_str()) == 0 || errno != EBUSY; });
  WaitUntil([this] { return rmdir(outer_.c_str()) == 0 || errno != EBUSY; });
}

std::vector<std::string> ControlGroup::Prefix() const {
  return AfterShell(absl::StrCat("echo $$ > '", inner_, "/cgroup.procs'"));
}

std::vector<std::string> AfterShell(const std::string& commands) {
  return {"/bin/sh", "-c", absl::StrCat(commands, " && exec \"$@\""), "sh"};
}

}  // namespace penstock::support
