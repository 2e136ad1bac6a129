// The order in which the epochs of a data set have batches of different sizes.
#ifndef PENSTOCK_PIPELINE_PLAN_BATCH_SEQUENCE_H_
#define PENSTOCK_PIPELINE_PLAN_BATCH_SEQUENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/plan/batch_cut.h"

namespace penstock::plan {

// Each epoch has all batches of a cut in an order of its own, and then the rest. Thread-safe: the same arguments give
// the same results. A call takes O(log batches), except for the first ones of an epoch, which take O(batches) and keep
// 8 bytes for each batch of the last kKept epochs. Readers of one job may be at that many epochs.
class BatchSequence {
 public:
  // A batch, or the rest.
  struct Batch {
    uint64_t number = 0;    // in the epoch
    uint64_t position = 0;  // the position of its first row
    uint64_t rows = 0;
    uint64_t begin = 0;  // its first row in the order of values
    bool operator==(const Batch&) const = default;
  };

  // Without a seed, all epochs have the order of values.
  BatchSequence(BatchCut cut, std::optional<uint64_t> seed) : cut_(std::move(cut)), seed_(seed) {}

  const BatchCut& cut() const { return cut_; }
  uint64_t positions() const { return cut_.rows(); }
  // Returns the number of batches of an epoch, with the rest.
  uint64_t batches() const { return cut_.batches() + (cut_.rest() > 0 ? 1 : 0); }

  // Returns the batch with this number. number < batches().
  Batch At(uint64_t epoch, uint64_t number) const;
  // Returns the batch that has a position. position < positions().
  Batch WithPosition(uint64_t epoch, uint64_t position) const;
  // Returns the batch that has a row of the order of values. row < positions().
  Batch WithRow(uint64_t epoch, uint64_t row) const;

 private:
  static constexpr size_t kKept = 8;
  using Begins = std::vector<uint64_t>;  // position of each batch of an epoch, and of the rest

  std::shared_ptr<const Begins> BeginsOf(uint64_t epoch) const;
  uint64_t KeyOf(uint64_t epoch) const;
  // Return the number in the cut of a batch of an epoch, and the inverse.
  uint64_t InCut(uint64_t epoch, uint64_t number) const;
  uint64_t InEpoch(uint64_t epoch, uint64_t batch) const;
  Batch Rest() const;

  const BatchCut cut_;
  const std::optional<uint64_t> seed_;
  mutable Mutex mutex_;
  mutable std::array<std::pair<uint64_t, std::shared_ptr<const Begins>>, kKept> recent_
      ABSL_GUARDED_BY(mutex_);  // the last first
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_BATCH_SEQUENCE_H_
