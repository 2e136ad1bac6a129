// Metrics that every process has: build, CPU, memory, files.
#ifndef PENSTOCK_SERVER_METRICS_PROCESS_METRICS_H_
#define PENSTOCK_SERVER_METRICS_PROCESS_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/cgroup.h"
#include "server/metrics/metric_set.h"

namespace penstock::server {

// The resources that a process uses. A value that cannot be read is 0.
struct ProcessUse {
  double start_time = 0;  // seconds since 1970
  double user_seconds = 0, system_seconds = 0;
  uint64_t resident_bytes = 0, own_bytes = 0, memory_limit_bytes = 0;
  uint64_t threads = 0, open_files = 0, open_files_limit = 0;
  int cpus = 1;
  std::optional<CpuThrottling> throttling;
};

// The certificate of a process that serves TLS.
struct CertificateState {
  double expires = 0;        // seconds since 1970
  bool files_fault = false;  // the files have changed, or the certificate has expired, and new files are not in use
  uint64_t failed_handshakes = 0;
};

// Reads /proc and the control groups, which takes about a millisecond.
ProcessUse ReadProcessUse();

// `role` is "coordinator", "worker" or "standalone".
void AddProcess(const ProcessUse& use, std::string_view role, MetricSet* out);
void AddCertificate(const CertificateState& certificate, MetricSet* out);
// `fault`: the file of --tokens has changed, and its new lines are not in use.
void AddTokensFile(bool fault, MetricSet* out);

// Returns the metrics of this process in Prometheus' text format. They follow or precede the text of its coordinator
// and of its worker. `certificate` is nullopt without TLS, and `tokens_fault` without --tokens. Thread-safe.
std::string ProcessMetricsText(std::string_view role, const std::optional<CertificateState>& certificate = std::nullopt,
                               std::optional<bool> tokens_fault = std::nullopt);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_METRICS_PROCESS_METRICS_H_
