// A request for one row.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_

#include <cstdint>

namespace penstock::loader {

// Largest size of a row in bytes, with its columns in their encoding: that of a message without its header. The limit
// also applies to readers that receive no messages, so that all readers of a job read the same rows.
constexpr uint64_t kMaxRowBytes = (uint64_t{64} << 20) - (64 << 10);

// Requests the row (epoch, position) of the job's plan. The caller ensures that position < EpochOrder::num_positions().
// A row that is requested twice is delivered twice. Each result carries its own request. The loader changes only
// `urgent`.
struct RowRequest {
  uint64_t epoch = 0;
  uint64_t position = 0;  // in the epoch
  uint64_t step = 0;      // order within the session: rows of smaller steps are made first
  bool urgent = false;    // the trainer waits for the row or its step: made before rows that are not urgent
  uint64_t tag = 0;       // for the caller; returned unchanged
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_REQUEST_H_
