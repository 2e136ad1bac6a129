// One step of the window: which of this rank's rows have arrived, and which worker owes each of the others.
#ifndef PENSTOCK_CLIENT_DELIVERY_BOOKED_STEP_H_
#define PENSTOCK_CLIENT_DELIVERY_BOOKED_STEP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "pipeline/plan/steps.h"
#include "pipeline/plan/view.h"

namespace penstock::client {

// The worker that owes a missing row. The tracker creates the asks of a step when a row of it is late, fails or loses
// its worker. Before that, the grant's view names the owners.
struct RowAsk {
  uint32_t worker = UINT32_MAX;  // kNoWorker: no worker is available
  uint32_t owner = UINT32_MAX;   // owner of the row in the grant's view
  uint32_t tries = 0;            // fetches sent for the row, and rounds that ended in a pause
  Nanos asked_at = 0;
  Nanos hold_until = 0;   // earliest time of the next fetch of the row
  bool fetching = false;  // the row counts among its worker's fetches
};

// Workers that cannot provide a row: their data are not the snapshot's, or the row does not fit into their memory.
// Other workers may provide it.
struct RowRefusals {
  std::vector<uint32_t> workers;
  Nanos since = 0;
  absl::Status first;  // the first worker's error
};

// A record that the row needs and that has damaged copies or is decided to be bad.
struct DamagedRecord {
  uint64_t record = 0;
  bool told = false;  // a fetch of the row named the decision
};

// Rows are numbered within the rank's slice here: 0 is slot slice.begin. Pure.
struct BookedStep {
  enum class Row : uint8_t { kMissing, kClaimed, kFilled, kFailed };

  BookedStep(uint64_t number, const plan::StepSpan& step, const plan::SlotRange& slots,
             std::shared_ptr<const plan::View> under, Nanos now)
      : ordinal(number),
        span(step),
        slice(slots),
        view(std::move(under)),
        granted_at(now),
        rows(slots.size(), Row::kMissing),
        unfinished(slots.size()) {}

  uint64_t ordinal;
  plan::StepSpan span;
  plan::SlotRange slice;
  std::shared_ptr<const plan::View> view;  // the view of the grant
  Nanos granted_at;
  std::vector<Row> rows;
  uint64_t unfinished;                                     // rows that are neither filled nor failed
  std::vector<RowAsk> asks;                                // empty, or one for each row
  std::map<uint64_t, RowRefusals> refusals;                // by row; unfinished rows only
  std::map<uint64_t, std::vector<DamagedRecord>> damaged;  // by row; unfinished rows only
  // Error of the failed row with the lowest number.
  absl::Status failure;
  uint64_t failed_row = UINT64_MAX;

  bool complete() const { return unfinished == 0; }
  // Returns the number in the epoch of a row of the slice.
  uint64_t RowNumber(uint64_t row) const { return span.begin + slice.begin + row; }
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_BOOKED_STEP_H_
