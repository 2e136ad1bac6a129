// The worker's options for the carriers of its streams.
#ifndef PENSTOCK_SERVER_WORKER_CARRIER_OPTIONS_H_
#define PENSTOCK_SERVER_WORKER_CARRIER_OPTIONS_H_

#include <memory>

#include "server/peers/rejections.h"
#include "server/worker/worker.h"
#include "transport/lanes/laned_server.h"
#include "transport/shared_memory/listener.h"

namespace penstock::worker {

// Returns the options of streams over gRPC. Rejected peers go to `rejections`.
transport::LaneOptions LanesOf(const WorkerOptions& options, std::shared_ptr<server::Rejections> rejections);

// Returns the options of the socket: its folder, its users and their limits. The caller sets the worker, `admit` and
// the memory.
transport::SharedMemoryListenerOptions ListenerOptionsOf(const WorkerOptions& options,
                                                         std::shared_ptr<server::Rejections> rejections);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_CARRIER_OPTIONS_H_
