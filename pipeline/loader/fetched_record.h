// A record that is read while no thread waits for it: for a parked row, or ahead of an import.
#ifndef PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_
#define PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/budget_lease.h"

namespace penstock::loader {

// Belongs to one row, or to one item of an import. While a read is in flight, the owner shares it with the storage, and
// only the storage writes to it.
struct FetchedRecord {
  // Lease on the row's bytes, from the start of the read until a maker picks the row. Null in an import. The first
  // member, so that it is destroyed after the bytes.
  std::unique_ptr<BudgetLease> held;
  std::unique_ptr<char[]> buffer;  // the record with its framing
  uint64_t record = UINT64_MAX;    // number in the snapshot; UINT64_MAX: none yet
  absl::StatusOr<std::string_view> bytes = absl::CancelledError("was not read");
  // Error of an earlier read (DataLoss). If set, FetchRecord reads the record again, past all caches. `bytes` then
  // holds the record, or the final error. OK: this is the first read.
  absl::Status damage;
  Nanos took = 0;  // from the request to storage until its answer

  uint64_t held_bytes() const { return held == nullptr ? 0 : held->bytes(); }
  bool Has(uint64_t wanted) const { return record == wanted; }
  // Releases the record. Keeps `held` and `took`.
  void Drop() {
    record = UINT64_MAX;
    damage = absl::OkStatus();
    bytes = absl::CancelledError("was not read");
    buffer.reset();
  }
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_FETCHED_RECORD_H_
