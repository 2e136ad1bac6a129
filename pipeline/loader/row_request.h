// One row to make, as a session asks for it.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_

#include <cstdint>

namespace penstock {

// The most bytes that a row may have, its columns in their encoding: what a message takes beside its header. The same
// for every reader of a job, those that no message serves too, so that all see the same rows.
constexpr uint64_t kMaxRowBytes = (uint64_t{64} << 20) - (64 << 10);

// A row is (epoch, position) of the job's plan; the caller sees to it that position < EpochPlan::num_positions(). Asked
// for twice it is made twice, each time with its own answer, which carries the request as it was given.
struct RowRequest {
  uint64_t epoch = 0;
  uint64_t position = 0;  // in the epoch
  uint64_t step = 0;      // order of work inside the session: rows of smaller steps first
  bool urgent = false;    // fetched, or of the step that the trainer waits for: before everything else
  uint64_t tag = 0;       // the caller's, handed back
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_
