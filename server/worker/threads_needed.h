// The threads of a worker.
#ifndef PENSTOCK_SERVER_WORKER_THREADS_NEEDED_H_
#define PENSTOCK_SERVER_WORKER_THREADS_NEEDED_H_

#include "server/worker/worker.h"

namespace penstock::worker {

// Threads for the strands of sessions and of the coordinator link, which never block.
constexpr int kExecutorThreads = 4;
// Threads for the coordinator's tasks, which read and scan shards.
constexpr int kTaskThreads = 2;

// Returns the threads of a worker that serves a job. `options.host.loader.threads` must be positive.
int ThreadsNeeded(const WorkerOptions& options);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_THREADS_NEEDED_H_
