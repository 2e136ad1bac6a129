#include "server/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/heap.h"
#include "base/version.h"

namespace penstock::server {
namespace {

// Returns the number after `field` in a file of lines such as "Threads:	5" or "btime 1700000000".
uint64_t NumberAfter(const std::string& path, std::string_view field) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, field.size(), field) != 0) continue;
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(field.size()), absl::ByAnyChar(" \t:"), absl::SkipEmpty());
    uint64_t value = 0;
    if (!words.empty() && absl::SimpleAtoi(words[0], &value)) return value;
  }
  return 0;
}

// Returns the time at which the process started: field 22 of /proc/self/stat, in ticks since the boot.
double StartTime() {
  std::ifstream in("/proc/self/stat");
  std::string line;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');  // the name of the program may contain spaces
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields = absl::StrSplit(line.substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr size_t kStartTime = 22 - 3;  // the first field after the name is number 3
  uint64_t ticks = 0;
  if (fields.size() <= kStartTime || !absl::SimpleAtoi(fields[kStartTime], &ticks)) return 0;
  const double boot = static_cast<double>(NumberAfter("/proc/stat", "btime "));
  return boot + static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

uint64_t CountOpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint64_t files = 0;
  while (const dirent* const entry = readdir(folder)) files += entry->d_name[0] != '.';
  closedir(folder);
  return files == 0 ? 0 : files - 1;  // without that of the folder itself
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessUse ReadProcessUse() {
  ProcessUse use;
  use.start_time = StartTime();
  rusage used = {};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    use.user_seconds = Seconds(used.ru_utime);
    use.system_seconds = Seconds(used.ru_stime);
  }
  use.resident_bytes = NumberAfter("/proc/self/status", "VmRSS:") << 10;
  use.own_bytes = OwnMemory();
  use.memory_limit_bytes = AvailableMemory().bytes;
  use.threads = NumberAfter("/proc/self/status", "Threads:");
  use.open_files = CountOpenFiles();
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) use.open_files_limit = files.rlim_cur;
  use.cpus = AvailableCpus();
  use.throttling = ThrottlingByQuota();
  return use;
}

void AddProcess(const ProcessUse& use, std::string_view role, MetricSet* out) {
  out->Add(Metric::kBuildInfo, 1.0, {Version(), role});
  out->Add(Metric::kProcessStartTime, use.start_time);
  out->Add(Metric::kProcessCpuSeconds, use.user_seconds, {"user"});
  out->Add(Metric::kProcessCpuSeconds, use.system_seconds, {"system"});
  out->Add(Metric::kProcessCpus, static_cast<double>(use.cpus));
  if (use.throttling.has_value()) {
    out->Add(Metric::kProcessCpuPeriods, use.throttling->periods);
    out->Add(Metric::kProcessThrottledPeriods, use.throttling->throttled_periods);
    out->Add(Metric::kProcessThrottledSeconds, use.throttling->throttled_seconds);
  }
  out->Add(Metric::kProcessResidentMemory, use.resident_bytes);
  out->Add(Metric::kProcessOwnMemory, use.own_bytes);
  out->Add(Metric::kProcessMemoryLimit, use.memory_limit_bytes);
  out->Add(Metric::kProcessThreads, use.threads);
  out->Add(Metric::kProcessOpenFiles, use.open_files);
  out->Add(Metric::kProcessOpenFilesLimit, use.open_files_limit);
}

void AddCertificate(const CertificateState& certificate, MetricSet* out) {
  out->Add(Metric::kTlsCertificateExpires, certificate.expires);
  out->Add(Metric::kTlsFilesFault, certificate.files_fault ? 1.0 : 0.0);
  out->Add(Metric::kTlsFailedHandshakes, certificate.failed_handshakes);
}

void AddTokensFile(bool fault, MetricSet* out) { out->Add(Metric::kTokensFileFault, fault ? 1.0 : 0.0); }

std::string ProcessMetricsText(std::string_view role, const std::optional<CertificateState>& certificate,
                               std::optional<bool> tokens_fault) {
  MetricSet metrics;
  AddProcess(ReadProcessUse(), role, &metrics);
  if (certificate.has_value()) AddCertificate(*certificate, &metrics);
  if (tokens_fault.has_value()) AddTokensFile(*tokens_fault, &metrics);
  return std::move(metrics).TakeText();
}

}  // namespace penstock::server
