// Checks a client's `open` message against the job of this worker, and derives the settings of its session.
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

namespace penstock::worker {

// Returns the highest protocol that the client and this worker have, or FailedPrecondition if there is none.
absl::StatusOr<uint32_t> ProtocolFor(const v1::Open& open, const std::string& worker_id);

// Returns FailedPrecondition if the job `selects` records, names its data sets or changes its batch size, and the
// client's release does not know this.
absl::Status CheckKnowsData(const v1::Open& open, const v1::JobSpec& job, bool selects);

// Returns FailedPrecondition if the client's order or pipeline differs from that of `job`, because its rows would
// differ.
absl::Status CheckFingerprints(const v1::Open& open, const loader::LoadJob& job);

// Returns the parameters of the session on the worker named `worker_id`.
SessionParameters SessionParametersOf(const v1::Open& open, std::shared_ptr<const loader::LoadJob> job,
                                      const std::string& worker_id);

// Limits for rows of grants that are made before the stream needs them. Such rows even out differences between threads
// and carrier. Rows need not wait here for the trainer, because they wait in the client's window. Too many rows here
// leave the CPU's caches and the carrier's memory, and must then be copied into it.
struct AheadLimits {
  size_t rows = 16384;
  uint64_t bytes = uint64_t{12} << 20;  // bytes of FIXED columns
  // Minimum that keeps the loader's threads and reads busy, whatever the size of the rows.
  size_t busy_rows = 16;
  // The same minimum for a job whose rows wait for their reads without occupying a thread.
  size_t parked_rows = 16;
};

// Returns the number of rows ahead for rows of `fixed_bytes`. `memory`, which may be null, is the memory in which the
// rows are made. The rows take at most the room that it has, but there are at least limits.busy_rows.
size_t RowsAhead(const AheadLimits& limits, uint64_t fixed_bytes, const BlockMemory* memory);

// Returns the number of rows ahead that keep `reads` in flight. A session requests new rows when half of them are done.
// Returns 0 if there are no reads to keep in flight.
size_t RowsForReads(int reads, int threads);

// Returns the size of a message (OutboxLimits::flush_bytes), based on `flush_bytes`. Within a host a message takes no
// time in transit, and its cost is to wake the threads of both ends. Its size is therefore doubled if `memory`, which
// may be null, has room for several messages. Over a network a client waits for the whole message.
uint64_t MessageBytes(uint64_t flush_bytes, const BlockMemory* memory);

// Returns text for people: "session 5 of job 'train', rank 0".
std::string SessionName(const v1::Open& open);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_STREAM_SESSION_OPENING_H_
