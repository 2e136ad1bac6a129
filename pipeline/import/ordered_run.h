// Makes records on many threads, and delivers them in order.
#ifndef PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_
#define PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_

#include <cstdint>
#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/record_source.h"

namespace penstock::imports {

struct OrderedRunOptions {
  int threads = 1;
  // Bytes of records that wait for an earlier one. Records in the making are additional.
  uint64_t window_bytes = uint64_t{256} << 20;
  std::stop_token stop = {};  // ends the run with Cancelled, after the threads have finished their current records
};

// Makes the records of items item_at(first), item_at(first + 1) ... item_at(end - 1) on several threads, and passes
// each to `take` with its position: in order, one call at a time, on those threads. If the system grants no thread, the
// caller's thread makes all records. Several threads may call `item_at` at once. For an item that cannot be made,
// `take` receives the error. Ends with the first error that `take` returns, without further calls.
absl::Status MakeInOrder(const RecordSource& source, uint64_t first, uint64_t end,
                         const std::function<uint64_t(uint64_t position)>& item_at, const OrderedRunOptions& options,
                         const std::function<absl::Status(uint64_t position, absl::StatusOr<MadeRecord> record)>& take);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_
