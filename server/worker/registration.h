// The message by which a worker registers at the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_REGISTRATION_H_
#define PENSTOCK_SERVER_WORKER_REGISTRATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "net/address.h"
#include "penstock/v1/control.pb.h"
#include "server/worker/worker.h"

namespace penstock::worker {

// Returns the registration of a worker with this id that listens at `listening`. `local` is the address of its socket
// for this host, or "".
// FailedPrecondition: the certificate is not for the worker's name (NameInCertificate).
absl::StatusOr<v1::RegisterWorkerRequest> RegistrationOf(const WorkerOptions& options, const std::string& id,
                                                         net::Address listening, const std::string& local);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_REGISTRATION_H_
