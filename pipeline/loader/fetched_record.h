// A record that was read while its row waited aside, from storage that does not answer at once.
#ifndef PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_
#define PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/budget_lease.h"

namespace penstock {

// One row's. Shared with the storage while a read is under way, which alone writes it then; else its row's.
struct FetchedRecord {
  // What the row has grabbed, from the start of the read until it is made; given back behind the bytes.
  std::unique_ptr<BudgetLease> held;
  std::unique_ptr<char[]> buffer;  // the record as it is framed
  uint64_t record = UINT64_MAX;    // its number in the snapshot; none yet
  absl::StatusOr<std::string_view> bytes = absl::CancelledError("was not read");
  // What an earlier read found wrong (DataLoss): the record is read again past all caches, and `bytes` is the verdict
  // of DatasetReader::BringRecord. OK: this is the first read.
  absl::Status damage;
  Nanos took = 0;  // from asking storage to its answer
  // Records of this row that were at fault: where another stands in for one, it is not read a second time.
  std::vector<std::pair<uint64_t, absl::Status>> faults;

  uint64_t held_bytes() const { return held == nullptr ? 0 : held->bytes(); }
  bool Has(uint64_t wanted) const { return record == wanted; }
  void Drop() {
    record = UINT64_MAX;
    damage = absl::OkStatus();
    bytes = absl::CancelledError("was not read");
    buffer.reset();
  }
};

// What became of reading a row's record, from try to try.
struct ReadAttempts {
  int failed = 0;
  absl::Status damage;                     // not OK: read the missing record again, past all caches
  std::shared_ptr<FetchedRecord> brought;  // where storage does not answer at once
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_
