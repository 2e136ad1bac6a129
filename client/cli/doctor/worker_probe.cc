#include "client/cli/doctor/worker_probe.h"

#include <algorithm>
#include <latch>
#include <string>

#include "base/runtime/thread_pool.h"
#include "transport/grpc/grpc_transport.h"
#include "transport/message_stream.h"
#include "transport/shared_memory/local_address.h"

namespace penstock::cli {
namespace {

constexpr int kMostAtATime = 32;
constexpr Nanos kWelcomeWithin = kSecond / 2;  // as a stream (SharedMemoryTransportOptions)

WorkerProbe Probe(const v1::WorkerStatus& worker, const net::ClientSecurity& security, absl::Duration timeout) {
  WorkerProbe probe;
  probe.network = transport::ProbeOverNetwork(
      transport::WorkerAddress(worker.address(), worker.local(), worker.tls_name()), security, timeout);
  const std::optional<transport::LocalAddress> local = transport::LocalAddress::Parse(worker.local());
  if (local.has_value() && local->boot == transport::BootId()) {
    probe.local = transport::ProbeLocally(*local, kWelcomeWithin);
  }
  return probe;
}

}  // namespace

std::vector<WorkerProbe> ProbeWorkers(const v1::StatusReply& status, const net::ClientSecurity& security,
                                      absl::Duration timeout) {
  std::vector<WorkerProbe> probes(static_cast<size_t>(status.workers_size()));
  std::latch done(status.workers_size());
  if (probes.empty()) return probes;
  ThreadPool threads(std::min(kMostAtATime, status.workers_size()), "probe");
  for (int i = 0; i < status.workers_size(); ++i) {
    threads.Post([&, i] {
      const v1::WorkerStatus& worker = status.workers(i);
      if (worker.state() != v1::WorkerStatus::LEFT) probes[static_cast<size_t>(i)] = Probe(worker, security, timeout);
      done.count_down();
    });
  }
  done.wait();
  return probes;
}

}  // namespace penstock::cli
