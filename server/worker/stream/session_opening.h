// What a client's `open` message asks for, checked against the job that this worker has.
#ifndef PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_
#define PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/block_memory.h"
#include "penstock/v1/data.pb.h"
#include "pipeline/loader/load_job.h"
#include "server/worker/stream/session_core.h"

namespace penstock {

// FailedPrecondition when the client has another order or pipeline than `job`: its rows would be others.
absl::Status CheckFingerprints(const v1::Open& open, const LoadJob& job);

// What the session of a worker named `worker_id` is made of.
SessionParameters SessionParametersOf(const v1::Open& open, std::shared_ptr<const LoadJob> job,
                                      const std::string& worker_id);

// How far rows of grants are made ahead of the stream. The client's window is where rows wait for the trainer: what
// waits here, beyond what evens out the steps of threads and of the carrier, leaves the caches, and the carrier's
// memory, to be copied into it later.
struct AheadLimits {
  size_t rows = 16384;
  uint64_t bytes = uint64_t{12} << 20;  // of FIXED columns
  size_t busy_rows = 16;                // that keep the loader's threads and reads busy: so many, whatever they weigh
  size_t aside_rows = 16;               // the same, of a job whose rows wait aside for their reads
};

// How many rows of `fixed_bytes`. `memory`, which may be null: where they are made; no more than it has room for.
size_t RowsAhead(const AheadLimits& limits, uint64_t fixed_bytes, const BlockMemory* memory);

// Of a message (OutboxLimits::flush_bytes), where others are `flush_bytes` long. Within a host it takes no time on the
// way, so that what it costs to wake the threads of both ends is all there is to weigh: twice as long, as far as
// `memory`, which may be null, has room for that and the next ones. Elsewhere a client waits for all of a message.
uint64_t MessageBytes(uint64_t flush_bytes, const BlockMemory* memory);

// For people: "session 5 of job 'train', rank 0".
std::string SessionName(const v1::Open& open);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_
