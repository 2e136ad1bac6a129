#include "net/checks/host_checks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/human_bytes.h"
#include "base/open_files.h"

namespace penstock::net {
namespace {

// A trainer of a fleet has up to four connections to each worker. A worker keeps its shards open.
constexpr size_t kLeastOpenFiles = 4096;
constexpr uint64_t kLeastThreadsLeft = 64;
// The kernel's own default for a host of little memory is larger.
constexpr uint64_t kLeastSocketBuffer = uint64_t{1} << 20;

// Returns the last of the three numbers of a file of the system, or nullopt.
std::optional<uint64_t> LargestBuffer(const std::string& path) {
  std::ifstream in(path);
  uint64_t least = 0, initial = 0, most = 0;
  if (in >> least >> initial >> most) return most;
  return std::nullopt;
}

}  // namespace

v1::Finding Fine(std::string message) {
  v1::Finding finding;
  finding.set_message(std::move(message));
  return finding;
}

v1::Finding Fault(std::string message) {
  v1::Finding finding = Fine(std::move(message));
  finding.set_fault(true);
  return finding;
}

v1::Finding CheckOpenFiles(size_t limit, size_t open) {
  if (limit < kLeastOpenFiles) {
    return Fault(absl::StrCat("at most ", limit, " files may be open, and connections and shards need ",
                              kLeastOpenFiles,
                              ". Raise the hard limit: LimitNOFILE=65536 in systemd, --ulimit "
                              "nofile=65536 in Docker, or ulimit -n 65536"));
  }
  if (open > limit / 10 * 9) {
    return Fault(absl::StrCat(open, " of at most ", limit,
                              " files are open. Raise the hard limit: LimitNOFILE= in "
                              "systemd, --ulimit nofile= in Docker, or ulimit -n"));
  }
  return Fine(absl::StrCat(open, " of at most ", limit, " are open"));
}

v1::Finding CheckOpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  return CheckOpenFiles(OpenFileLimit(), static_cast<size_t>(std::distance(begin(open), end(open))));
}

GroupLimits GroupLimits::OfThisProcess() { return {AvailableCpus(), AvailableMemory(), LeastTaskLimit()}; }

v1::Finding CheckGroupLimits(const GroupLimits& limits, uint64_t needed, uint64_t budget) {
  if (limits.memory.bytes < needed) {
    const std::string allowed = absl::StrCat(HumanBytes(limits.memory.bytes), " (", limits.memory.source, ")");
    return Fault(budget == 0
                     ? absl::StrCat("the process may use ", allowed, " of memory and needs ", HumanBytes(needed),
                                    ". Raise the limit")
                     : absl::StrCat("the memory budget of ", HumanBytes(budget), " and ", HumanBytes(needed - budget),
                                    " for the rest exceed ", allowed,
                                    ", so the kernel may kill the process. Lower --memory-budget, or raise the limit"));
  }
  std::string text = absl::StrCat(limits.cpus, limits.cpus == 1 ? " CPU, " : " CPUs, ", HumanBytes(limits.memory.bytes),
                                  " of memory (", limits.memory.source, ")");
  if (limits.threads.has_value()) {
    const TaskLimit& threads = *limits.threads;
    if (threads.most - std::min(threads.used, threads.most) < kLeastThreadsLeft) {
      return Fault(absl::StrCat(threads.used, " of at most ", threads.most, " threads run (", threads.source,
                                "). Raise the limit: TasksMax= in systemd, or --pids-limit in Docker"));
    }
    absl::StrAppend(&text, ", ", threads.used, " of at most ", threads.most, " threads");
  }
  return Fine(std::move(text));
}

v1::Finding CheckSocketBuffers(const std::string& sys) {
  const struct {
    const char* name;
    const char* values;  // that Linux chooses on most hosts
    const char* what;
  } buffers[] = {{"tcp_rmem", "4096 131072 6291456", "receives"}, {"tcp_wmem", "4096 16384 4194304", "sends"}};
  std::string fine, faults;
  for (const auto& buffer : buffers) {
    const std::optional<uint64_t> most = LargestBuffer(absl::StrCat(sys, "/net/ipv4/", buffer.name));
    if (!most.has_value()) continue;
    if (*most < kLeastSocketBuffer) {
      absl::StrAppend(&faults, faults.empty() ? "" : ". ", "a connection that ", buffer.what, " rows may buffer only ",
                      HumanBytes(*most), ": sysctl -w net.ipv4.", buffer.name, "='", buffer.values, "'");
    }
    absl::StrAppend(&fine, fine.empty() ? "a connection " : ", and ", buffer.what, " with up to ", HumanBytes(*most));
  }
  if (!faults.empty()) return Fault(std::move(faults));
  return Fine(fine.empty() ? "the system does not report its limits" : std::move(fine));
}

}  // namespace penstock::net
