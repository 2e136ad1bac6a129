// What a client's `open` message asks for, checked against the job that this worker has.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/loader/load_job.h"
#include "server/worker/stream/session_core.h"

namespace penstock {

// FailedPrecondition when the client has another order or pipeline than `job`: its rows would be others.
absl::Status CheckFingerprints(const v1::Open& open, const LoadJob& job);

// What the session of a worker named `worker_id` is made of.
SessionParameters SessionParametersOf(const v1::Open& open, std::shared_ptr<const LoadJob> job,
                                      const std::string& worker_id);

// For people: "session 5 of job 'train', rank 0".
std::string SessionName(const v1::Open& open);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_
