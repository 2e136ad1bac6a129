// A blend whose weights change at some places: a sequence of blends, each from its first place on. The rows of a data
// set continue from one to the next.
#ifndef PENSTOCK_PIPELINE_PLAN_BLEND_SCHEDULE_H_
#define PENSTOCK_PIPELINE_PLAN_BLEND_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/plan/blend.h"

namespace penstock::plan {

// New weights from a place on.
struct WeightChange {
  uint64_t at_rows = 0;         // rows of the blend before it
  uint64_t over_rows = 0;       // rows in which the weights move to the new ones, in equal steps; 0: at once
  std::vector<double> weights;  // afterwards, by data set

  bool operator==(const WeightChange&) const = default;
};

// Immutable, thread-safe. Takes the memory of a Blend for each part. The same inputs give the same rows in every
// release with plan version 2.
class BlendSchedule {
 public:
  static constexpr uint64_t kMaxChanges = 16;
  static constexpr uint64_t kRampSteps = 16;  // parts of a change over some rows, at most

  // Creates the blend of the data sets with `weights`, which `changes` replace one after the other. `unit` consecutive
  // rows from a multiple of it on are of one data set: the blend then chooses sets for units, not for rows. A part
  // begins at a multiple of Blend::kRun units or, if a block is a batch, of a batch: places between are rounded down.
  // `seed` and `block` are those of Blend::Create(). Returns its errors, and InvalidArgument with the number of the
  // change if there are more than kMaxChanges, or if a change begins before the end of its predecessor.
  static absl::StatusOr<BlendSchedule> Create(const std::vector<double>& weights,
                                              const std::vector<WeightChange>& changes, std::optional<uint64_t> seed,
                                              Blend::Block block = {}, uint64_t unit = 1);

  // Lets each data set continue at `place` with its row number rows[set]: the rows from there on have the numbers from
  // rows[set] on. Nothing changes before the place. Call it at most once, with a number for each data set.
  void ContinueAt(uint64_t place, std::vector<uint64_t> rows);

  uint64_t unit() const { return unit_; }
  size_t parts() const { return parts_.size(); }
  // Returns the first place of each part. The first one is 0.
  std::vector<uint64_t> begins() const;
  // Returns a part. Its rows are units.
  const Blend& part(size_t number) const { return parts_[number]; }
  // Returns the blend of a place.
  const Blend& BlendAt(uint64_t place) const { return parts_[PartOf(place / unit_)]; }

  // As in Blend, in rows. Any place is valid. O(log parts) more.
  Blend::Row At(uint64_t place) const;
  // A row that was before the place of ContinueAt() has no place.
  uint64_t PlaceOf(const Blend::Row& row) const;
  uint64_t RowsBefore(size_t set, uint64_t place) const;
  std::vector<uint64_t> RowsBefore(uint64_t place) const;

 private:
  BlendSchedule() = default;
  absl::Status Add(uint64_t begin, const std::vector<double>& weights, std::optional<uint64_t> seed,
                   Blend::Block block);
  // These have units in the place of rows.
  size_t PartOf(uint64_t place) const;
  bool Continues(uint64_t place) const { return !first_.empty() && place >= start_; }
  Blend::Row UnitAt(uint64_t place) const;
  uint64_t PlaceOfUnit(const Blend::Row& row) const;
  uint64_t UnitsBefore(size_t set, uint64_t place) const;

  uint64_t unit_ = 1;
  std::vector<uint64_t> begins_;
  std::vector<Blend> parts_;
  std::vector<std::vector<uint64_t>> units_before_;  // by part, by data set: its units in the parts before
  // Of ContinueAt(), by data set: the number of its first row from start_ on, and its rows of this schedule before.
  uint64_t start_ = 0;
  std::vector<uint64_t> first_, skipped_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_BLEND_SCHEDULE_H_
