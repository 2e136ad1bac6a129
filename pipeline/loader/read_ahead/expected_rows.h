// The rows that a session will request, described in constant memory however many epochs they are.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_EXPECTED_ROWS_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_EXPECTED_ROWS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "pipeline/plan/owned_keys.h"
#include "pipeline/plan/steps.h"

namespace penstock::loader {

// A value. A session passes it to the loader when it opens, and again when it changes. The loader may fetch records of
// these rows before they are requested. For any other row, it waits for the request.
class ExpectedRows {
 public:
  // Describes no rows.
  ExpectedRows() = default;
  // Describes the slice of `rank` in each step from `start` on. `end_epoch` is the first epoch without rows. `owned`
  // limits the rows to those with its keys; null: no limit. With keys by record, the rank and the position do not
  // matter: all rows of these records are expected, from the epoch of `start` on. Sessions of other ranks request these
  // records too, perhaps from the same loader.
  ExpectedRows(const plan::Steps& steps, uint64_t rank, plan::Cursor start, uint64_t end_epoch,
               std::shared_ptr<const plan::OwnedKeys> owned = nullptr)
      : steps_(steps), rank_(rank), start_(start), end_epoch_(end_epoch), owned_(std::move(owned)) {}

  // Returns whether the row at the position is expected. `record` is its record. Fast.
  bool Covers(uint64_t epoch, uint64_t position, uint64_t record) const;

 private:
  std::optional<plan::Steps> steps_;  // nullopt: no rows
  uint64_t rank_ = 0;
  plan::Cursor start_;
  uint64_t end_epoch_ = 0;
  std::shared_ptr<const plan::OwnedKeys> owned_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_EXPECTED_ROWS_H_
