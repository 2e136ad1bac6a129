// Connections to workers as a trainer of this host would open them.
#ifndef PENSTOCK_CLIENT_CLI_DOCTOR_WORKER_PROBE_H_
#define PENSTOCK_CLIENT_CLI_DOCTOR_WORKER_PROBE_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/tls/client_security.h"
#include "penstock/v1/control.pb.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::cli {

struct WorkerProbe {
  absl::Status network;  // as ProbeOverNetwork
  // As ProbeLocally. nullopt: the worker names no socket of this host.
  std::optional<absl::StatusOr<transport::LocalAnswer>> local;
};

// Probes the workers, up to 32 of them at a time, each within `timeout` plus half a second for its socket. Returns the
// results in their order. Does not probe workers that have left: their results stay empty.
std::vector<WorkerProbe> ProbeWorkers(const v1::StatusReply& status, const net::ClientSecurity& security,
                                      absl::Duration timeout);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_DOCTOR_WORKER_PROBE_H_
