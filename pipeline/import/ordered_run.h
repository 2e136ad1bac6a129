// Many threads make records, one after the other takes them in order.
#ifndef PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_
#define PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_

#include <cstdint>
#include <functional>
#include <stop_token>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/import/record_source.h"

namespace penstock {

struct OrderedRunOptions {
  int threads = 1;
  // Made records that may wait for an earlier one, in bytes; the records in the making come on top.
  uint64_t window_bytes = uint64_t{256} << 20;
  std::stop_token stop = {};  // ends the run with Cancelled; what is in the making or being taken is waited for
};

// Makes the records of items item_at(first), item_at(first + 1) ... item_at(end - 1) on several threads and hands each
// to `take` with its position: in order, one call at a time, from those threads. An item that cannot be made is handed
// over as its error. Ends with the first error that `take` returns; nothing is taken after it.
absl::Status MakeInOrder(const RecordSource& source, uint64_t first, uint64_t end,
                         const std::function<uint64_t(uint64_t position)>& item_at, const OrderedRunOptions& options,
                         const std::function<absl::Status(uint64_t position, absl::StatusOr<MadeRecord> record)>& take);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_ORDERED_RUN_H_
