// One step of the window: which of this rank's rows are there, and who was asked for the others.
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

namespace penstock {

// Who owes a missing row. Known for the rows of a step from its first fault on; before that the grant's view says it.
struct RowAsk {
  uint32_t worker = UINT32_MAX;  // kNoWorker: nobody can be asked now
  uint32_t owner = UINT32_MAX;   // whose part it was when the step was granted
  uint32_t tries = 0;            // fetches sent for it
  Nanos asked_at = 0;
  Nanos hold_until = 0;   // every worker failed it for now: not asked again before this time
  bool fetching = false;  // it counts among its worker's fetches
};

// Workers that say that they cannot give a row's content: their copy of the data is not the snapshot's, or the row does
// not fit them. Others may have it.
struct RowRefusals {
  std::vector<uint32_t> workers;
  Nanos since = 0;
  absl::Status first;  // named by its worker
};

// Rows are numbered within the rank's slice here: 0 is slot slice.begin. Pure.
struct BookedStep {
  enum class Row : uint8_t { kMissing, kClaimed, kFilled, kFailed };

  BookedStep(uint64_t number, const StepSpan& step, const SlotRange& slots, std::shared_ptr<const View> under,
             Nanos now)
      : ordinal(number),
        span(step),
        slice(slots),
        view(std::move(under)),
        granted_at(now),
        rows(slots.size(), Row::kMissing),
        unfinished(slots.size()) {}

  uint64_t ordinal;
  StepSpan span;
  SlotRange slice;
  std::shared_ptr<const View> view;  // that it was granted under
  Nanos granted_at;
  std::vector<Row> rows;
  uint64_t unfinished;                       // rows that are neither filled nor failed
  std::vector<RowAsk> asks;                  // empty, or one for each row
  std::map<uint64_t, RowRefusals> refusals;  // by row, of those that are still wanted
  // Of the failed row with the lowest number.
  absl::Status failure;
  uint64_t failed_row = UINT64_MAX;

  bool complete() const { return unfinished == 0; }
  // The epoch's number of a row of the slice.
  uint64_t RowNumber(uint64_t row) const { return span.begin + slice.begin + row; }
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_BOOKED_STEP_H_
