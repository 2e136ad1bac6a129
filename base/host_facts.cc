#include "base/host_facts.h"

#include <sys/utsname.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/open_files.h"
#include "base/version.h"

namespace penstock {
namespace {

constexpr uint64_t kMostBytesOfFile = uint64_t{1} << 20;

std::string ContentOf(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadWholeFile(path, kMostBytesOfFile);
  return absl::StrCat("\n", path, "\n", content.ok() ? *content : absl::StrCat(content.status().message(), "\n"));
}

}  // namespace

std::string HostFacts() {
  utsname system = {};
  uname(&system);
  const MemoryLimit memory = AvailableMemory();
  std::string out = absl::StrCat("release: penstock ", std::string(Version()), "\nhost: ", HostName(),
                                 "\ntime: ", absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()),
                                 "\nsystem: ", system.sysname, " ", system.release, " ", system.machine,
                                 "\nCPUs: ", AvailableCpus(), "\nmemory: ", memory.bytes, " bytes (", memory.source,
                                 ")\nlimit of open files: ", OpenFileLimit(), "\n");
  if (const auto tasks = LeastTaskLimit()) {
    absl::StrAppend(&out, "threads: ", tasks->used, " of ", tasks->most, " (", tasks->source, ")\n");
  }
  if (const auto throttling = ThrottlingByQuota()) {
    absl::StrAppend(&out, "throttled: ", throttling->throttled_periods, " of ", throttling->periods, " periods, ",
                    throttling->throttled_seconds, " s\n");
  }
  for (const char* path :
       {"/etc/os-release", "/proc/loadavg", "/proc/meminfo", "/proc/pressure/cpu", "/proc/pressure/io",
        "/proc/pressure/memory", "/proc/self/status", "/proc/self/limits", "/proc/self/cgroup", "/proc/self/io"}) {
    out += ContentOf(path);
  }
  return out;
}

}  // namespace penstock
