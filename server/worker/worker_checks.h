// The checks that a worker makes of itself, for `penstock doctor`.
#ifndef PENSTOCK_SERVER_WORKER_WORKER_CHECKS_H_
#define PENSTOCK_SERVER_WORKER_WORKER_CHECKS_H_

#include <string>
#include <vector>

#include "penstock/v1/control.pb.h"
#include "server/self_checks/self_checks.h"
#include "server/worker/worker.h"

namespace penstock::worker {

// Finds a socket for shared memory that could not be made, or whose file is gone. `local` is the address of the socket
// (transport/shared_memory/local_address.h). If that is "", `why_none` is the reason; "": it is turned off.
v1::Finding CheckSocket(const std::string& local, const std::string& why_none);

// Returns the checks of the options, and those of limits, folders, data roots and the socket.
std::vector<server::SelfCheck> ChecksOf(const WorkerOptions& options, const std::string& local,
                                        const std::string& why_none);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_WORKER_CHECKS_H_
