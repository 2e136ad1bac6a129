// Batches of sorted records whose number of rows depends on their values, as a pure function.
//
// The rows of a data set are in the order of values: group after group, each with its limit of rows of a batch. They
// are cut into batches once, for all epochs, from the least values to the greatest. A batch takes as many rows as the
// limits of all its groups permit. So it ends where a group with a lower limit begins, except for fewer rows than
// `multiple`, which join the next group.
#ifndef PENSTOCK_PIPELINE_PLAN_BATCH_CUT_H_
#define PENSTOCK_PIPELINE_PLAN_BATCH_CUT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::plan {

// Immutable, thread-safe. Takes up to 48 bytes for each group.
class BatchCut {
 public:
  struct Batch {
    uint64_t begin = 0;  // its first row in the order of values
    uint64_t rows = 0;
    bool operator==(const Batch&) const = default;
  };

  // Cuts rows: group g has rows[g] of them, and its batches have at most limits[g] rows, a multiple of `multiple`.
  BatchCut(std::span<const uint64_t> rows, std::span<const uint64_t> limits, uint64_t multiple);

  uint64_t rows() const { return rows_; }
  uint64_t multiple() const { return multiple_; }
  // Returns the number of batches. All have a multiple of `multiple` rows.
  uint64_t batches() const { return batches_; }
  // Returns the rows after the last batch: fewer than `multiple`, all of the last groups.
  uint64_t rest() const { return rest_; }
  // Returns the rows of the largest batch, or 0 without batches.
  uint64_t largest() const { return largest_; }

  // Returns a batch. batch < batches(). O(log groups).
  Batch At(uint64_t batch) const;
  // Returns the number of the batch that has a row. row < rows() - rest(). O(log groups).
  uint64_t BatchOf(uint64_t row) const;

 private:
  // Batches of one size that follow each other.
  struct Run {
    uint64_t first = 0;  // number of its first batch
    uint64_t begin = 0;  // first row of this batch
    uint64_t rows = 0;   // rows of each batch
  };

  void Add(uint64_t rows, uint64_t count);

  uint64_t rows_ = 0, multiple_, batches_ = 0, rest_ = 0, largest_ = 0;
  std::vector<Run> runs_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_BATCH_CUT_H_
