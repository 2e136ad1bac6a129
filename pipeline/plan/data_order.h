// The order of a job's records in all epochs. A job of one data set without a name has plan version 1: each epoch
// shuffles its records (epoch_plan.h). The data sets of other jobs have names, and their plan has version 2:
//   1. Each data set is shuffled by a seed of its own, made of the job's seed and its name. Its pass p has the order of
//      epoch p in epoch_plan.h.
//   2. A blend (blend.h) of all rows, through all epochs, decides which data set gives a row. A data set gives its
//      passes one after another, so the end of an epoch interrupts no pass.
// So the rows of a data set, and their random numbers, are those of a job of this data set alone.
//
// A data set whose records are in groups has the same plan, with its groups in the place of the data sets. If the
// groups are sorted by a value, SortedOrder is in the place of the blend.
#ifndef PENSTOCK_PIPELINE_PLAN_DATA_ORDER_H_
#define PENSTOCK_PIPELINE_PLAN_DATA_ORDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/plan/blend_schedule.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/plan/group_map.h"
#include "pipeline/plan/record_groups.h"
#include "pipeline/plan/shard_offsets.h"
#include "pipeline/plan/sorted_order.h"
#include "pipeline/plan/steps.h"

namespace penstock::plan {

constexpr uint32_t kBlendPlanVersion = 2;

// A data set with a name. Its shards follow those of the data set before it.
struct NamedSet {
  std::string name;
  uint64_t shards = 0;
  double weight = 1;
  double repeats = 0;  // not 0: passes in an epoch, which decide the weight
};

// The end of an epoch if BlendOptions::epoch_rows is 0 and no data set has `repeats`: the row at which the share of a
// data set makes a pass.
enum class EpochEnd : uint8_t {
  kLongest = 0,   // the data set that takes the most rows for a pass
  kShortest = 1,  // the data set that takes the fewest
};

// The place from which a blend continues another one.
struct BlendStart {
  uint64_t order = 0;  // fingerprint of the other order
  Cursor at;
  uint64_t epoch_rows = 0;          // both have it
  std::vector<uint64_t> rows = {};  // by data set: its rows before the place
  uint64_t place() const { return at.epoch * epoch_rows + at.position; }
};

struct BlendOptions {
  std::vector<NamedSet> sets;
  uint64_t epoch_rows = 0;  // rows of an epoch
  EpochEnd end = EpochEnd::kLongest;
  std::vector<WeightChange> changes = {};
  uint64_t batch = 0;   // not 0: rows of a batch; all batches have the same numbers of rows of each data set
  bool single = false;  // with `batch`: each batch has the rows of one data set instead
  std::optional<BlendStart> start = {};
};

// A record, by the data set (0 if there are no names), the shard in the set, and the number in the shard.
struct SetLocation {
  uint32_t set = 0;
  uint64_t shard = 0;
  uint64_t record = 0;
  bool operator==(const SetLocation&) const = default;
};

// The groups of a data set's records, and how they take turns: by shares, or sorted.
struct Grouping {
  RecordGroups groups;
  double power = 0;                        // a share is the number of the group's records to this power,
  std::vector<double> weights = {};        // times the group's weight; empty: 1 for each group
  std::optional<SortOptions> sorted = {};  // set: the groups follow each other in the place of shares
};

// The rows of a data set from the start of epoch 0 to a cursor.
struct SetProgress {
  uint64_t rows = 0;
  double passes = 0;        // rows / records of the data set
  double wanted_share = 0;  // its share of a block of the blend at the cursor; 1 for version 1
  double actual_share = 0;  // its share of the rows up to the cursor; 0 if there are none
};

// A row of the plan: its record, and the key of its random numbers.
struct PlannedRow {
  uint64_t record = 0;  // number in the snapshot
  uint64_t seed = 0;
  uint64_t epoch = 0;   // version 2: pass of the data set, or of the group
  uint16_t repeat = 0;  // version 2: 0
  uint64_t number = 0;  // number of the record in its data set, or in its group
};

class EpochOrder;

// Immutable, thread-safe.
class DataOrder : public std::enable_shared_from_this<DataOrder> {
 public:
  // Creates the order of a snapshot whose shards have `counts` records. Without `blend` it has plan version 1. With
  // `blend`, the epoch is as long as epoch_rows, the sum of all repeats, or `end` demand, and with `batch` a multiple
  // of it. Returns the errors of EpochPlan::Create() and Blend::Create(), and InvalidArgument if a data set has no
  // records, or if the blend continues one whose epochs had other lengths.
  static absl::StatusOr<std::shared_ptr<const DataOrder>> Create(const std::vector<uint64_t>& counts,
                                                                 const PlanOptions& options,
                                                                 const std::optional<BlendOptions>& blend);
  // Creates the order of a data set without a name, whose records are in groups. An epoch has options.repeats rows for
  // each record. Returns the errors of EpochPlan::Create(), Blend::Create() and GroupMap::Create(), and InvalidArgument
  // without groups or if all weights are 0.
  static absl::StatusOr<std::shared_ptr<const DataOrder>> CreateGrouped(const std::vector<uint64_t>& counts,
                                                                        const PlanOptions& options,
                                                                        const Grouping& grouping);

  uint32_t version() const { return takes_turns() ? kBlendPlanVersion : kPlanVersion; }
  const PlanOptions& options() const { return options_; }
  // Returns the sums of all shards' counts.
  const ShardOffsets& offsets() const { return *offsets_; }
  uint64_t num_records() const { return offsets_->num_records(); }
  // Returns the number of positions of each epoch.
  uint64_t num_positions() const { return num_positions_; }
  // Returns InvalidArgument unless readers may have global batches of `rows` rows: multiples of the blend's batch or,
  // if the rows of a batch belong together, divisors of it. With batches(), only the job's batch.size.
  absl::Status CheckBatchRows(uint64_t rows) const;
  // Returns the rows of a batch whose rows belong together, of one data set or of similar values; 0 if there are none.
  uint64_t single_batch() const { return single_ ? batch_ : 0; }
  // Returns the batches of each epoch if their sizes depend on their values, or null.
  std::shared_ptr<const BatchSequence> batches() const { return sorted_.has_value() ? sorted_->batches() : nullptr; }
  // Returns the order of an epoch. O(parts), except for the epochs of the last calls.
  EpochOrder Epoch(uint64_t epoch) const;

  // Returns the number of data sets, at least 1, and the name of one, which is empty if they have no names.
  uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }
  const std::string& set_name(uint32_t set) const { return sets_[set].name; }
  bool has_names() const { return !sets_[0].name.empty(); }
  // Returns the number of the data set's first record, and of its records. set < sets().
  uint64_t first_record(uint32_t set) const { return sets_[set].first_record; }
  uint64_t records(uint32_t set) const { return groups_ != nullptr ? num_records() : records_of_part(set); }
  // Returns the groups of a data set's records, or null.
  const GroupMap* groups() const { return groups_.get(); }
  // Returns the order of groups that are sorted, or null.
  const SortedOrder* sorted() const { return sorted_.has_value() ? &*sorted_ : nullptr; }

  // The parts of the order: its data sets, or the groups of one.
  uint32_t parts() const { return static_cast<uint32_t>(parts_.size()); }
  uint64_t records_of_part(uint32_t part) const { return parts_[part].offsets->num_records(); }
  // Returns the rows of a part in `rows_per()` rows, before the first change of weights: batches if they are of one
  // data set. part < parts().
  uint64_t share(uint32_t part) const {
    return blend_.has_value() ? blend_->part(0).count(part) : sorted_.has_value() ? records_of_part(part) : 1;
  }
  uint64_t rows_per() const {
    return blend_.has_value() ? blend_->part(0).block_rows() : sorted_.has_value() ? num_records() : 1;
  }
  // Returns how often an epoch reads a record of the part, on average, before the first change of weights.
  double PassesPerEpoch(uint32_t part) const;
  // Returns the same for a record of a shard. If weights change, counts the largest share of its data set.
  double PassesOfShard(uint64_t shard) const;
  // Returns the progress of each data set at a cursor. Any cursor is valid. O(sets), independent of the cursor.
  std::vector<SetProgress> ProgressAt(const Cursor& cursor) const;
  // Returns the blend of the parts through all epochs, or null for version 1 and for sorted groups.
  const BlendSchedule* blend() const { return blend_.has_value() ? &*blend_ : nullptr; }
  // Returns the place from which the blend continues another one, or null. Rows before it are those of no run.
  const BlendStart* start() const { return start_.has_value() ? &*start_ : nullptr; }
  // Return the data set of a shard or a record. shard < offsets().num_shards(), record < num_records().
  uint32_t SetOf(uint64_t shard) const;
  uint32_t SetOfRecord(uint64_t record) const;

  // Returns the location of a record. record < num_records(). O(log shards).
  SetLocation Locate(uint64_t record) const;
  // Returns the row that the record is in pass `pass` of its part: of version 1, in epoch `pass`.
  PlannedRow RowOf(uint64_t record, uint64_t pass) const;
  // Returns where the record of `row` is `passes` passes later: of version 1, `passes` epochs later. Returns nullopt if
  // its data set gives no rows from some row on.
  std::optional<Cursor> PlaceOf(const PlannedRow& row, uint64_t passes) const;
  // Returns a fingerprint of the order. Two jobs with the same fingerprint have the same row at every position of every
  // epoch.
  uint64_t Fingerprint(uint64_t snapshot_fingerprint) const;
  // Returns the same for the passes of one data set, of which `content` identifies the records. set < sets().
  uint64_t SetFingerprint(uint32_t set, uint64_t content) const;

 private:
  friend class EpochOrder;

  // The pass of a part at an epoch's begin, and its order.
  struct FirstPass {
    uint64_t pass = 0;
    EpochPlan plan;
  };
  using FirstPasses = std::vector<FirstPass>;  // by part

  struct Set {
    std::string name;
    uint64_t first_shard = 0;
    uint64_t first_record = 0;
  };
  // Records that are shuffled by themselves.
  struct Part {
    std::shared_ptr<const ShardOffsets> offsets;  // counts of its records in its shards
    PlanOptions options;
  };

  DataOrder() = default;

  static absl::StatusOr<std::shared_ptr<DataOrder>> Begin(const std::vector<uint64_t>& counts,
                                                          const PlanOptions& options);
  absl::Status MakeBlend(const std::vector<uint64_t>& counts, const BlendOptions& blend);
  absl::Status Continue(const BlendStart& start);
  absl::Status MakeGroups(const Grouping& grouping);
  absl::Status MakeShares(const Grouping& grouping);
  FirstPasses FirstPassesOf(uint64_t epoch) const;
  void AddPart(std::string_view name, std::shared_ptr<const ShardOffsets> offsets);
  // Returns the seed of the blend's runs, or none if nothing is shuffled.
  std::optional<uint64_t> BlendSeed() const;
  bool takes_turns() const { return blend_.has_value() || sorted_.has_value(); }
  // Return the part that gives the row at a place among the rows of all epochs, and the inverse. Requires
  // takes_turns().
  Blend::Row TurnAt(uint64_t place) const { return sorted_.has_value() ? sorted_->At(place) : blend_->At(place); }
  uint64_t PlaceOfTurn(const Blend::Row& turn) const {
    return sorted_.has_value() ? sorted_->PlaceOf(turn) : blend_->PlaceOf(turn);
  }
  // Returns the order of a pass of a part.
  EpochPlan PassOf(uint32_t part, uint64_t pass) const;
  // Returns the record of a part with this number in it, and the inverse.
  uint64_t RecordOf(const GroupMap::Place& place) const {
    return groups_ != nullptr ? groups_->RecordOf(place) : sets_[place.group].first_record + place.number;
  }
  GroupMap::Place PartPlaceOf(uint64_t record) const;

  PlanOptions options_;
  std::shared_ptr<const ShardOffsets> offsets_;
  std::vector<Set> sets_;
  std::vector<Part> parts_;
  std::shared_ptr<const GroupMap> groups_;  // null: the parts are the data sets
  std::optional<BlendSchedule> blend_;      // nullopt: version 1, or
  std::optional<SortedOrder> sorted_;       // groups that follow each other
  std::optional<BlendStart> start_;         // set: the blend continues another one
  uint64_t batch_ = 0;                      // not 0: rows of a batch of the order
  bool single_ = false;                     // with batch_: the rows of a batch belong together
  uint64_t num_positions_ = 0;

  // First passes of the last epochs. They only save time.
  mutable Mutex mutex_;
  mutable std::array<std::pair<uint64_t, std::shared_ptr<const FirstPasses>>, 2> recent_ ABSL_GUARDED_BY(mutex_);
};

// The order of one epoch. Immutable, thread-safe, cheap to copy. Uses O(parts) memory besides the DataOrder.
class EpochOrder {
 public:
  uint64_t epoch() const { return epoch_; }
  uint64_t num_positions() const { return order_->num_positions(); }

  // Return the record or the row at a position. position < num_positions(). O(1).
  uint64_t RecordAt(uint64_t position) const;
  PlannedRow RowAt(uint64_t position) const;
  // Returns the location of the record at a position.
  SetLocation LocationAt(uint64_t position) const { return order_->Locate(RecordAt(position)); }

  // Returns the pass of the part that a position belongs to: of version 1, its repeat.
  uint64_t PassAt(uint64_t position) const;
  // Returns the position of a record in a pass of its part, or nullopt if it is in another epoch. O(1).
  std::optional<uint64_t> PositionOf(uint64_t record, uint64_t pass) const;
  // Returns the end of the positions among which the plan shuffled the record at `position`: see EpochPlan.
  uint64_t ShuffledUpTo(uint64_t position) const;

 private:
  friend class DataOrder;

  // A row of version 2: a position in a pass of a part.
  struct PartRow {
    uint32_t part = 0;
    uint64_t pass = 0;
    uint64_t position = 0;
  };
  EpochOrder(std::shared_ptr<const DataOrder> order, uint64_t epoch,
             std::shared_ptr<const DataOrder::FirstPasses> passes);

  PartRow PartRowAt(uint64_t position) const;
  // Calls fn(plan) with the order of the pass.
  template <typename Fn>
  auto WithPass(uint32_t part, uint64_t pass, const Fn& fn) const {
    const DataOrder::FirstPass& first = (*passes_)[part];
    return pass == first.pass ? fn(first.plan) : fn(order_->PassOf(part, pass));
  }

  std::shared_ptr<const DataOrder> order_;
  uint64_t epoch_;
  uint64_t first_place_ = 0;  // place of position 0 among the rows of all epochs
  // Of version 1, the one order; otherwise that of each part.
  std::shared_ptr<const DataOrder::FirstPasses> passes_;
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_DATA_ORDER_H_
