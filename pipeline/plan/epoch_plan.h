// The order of an epoch as a pure function: which record is at position p. It does not depend on workers, ranks,
// threads or time, so every process that knows the snapshot and the options knows the whole epoch.
//
// kChunked is a two-level shuffle that keeps reads in runs of `chunk_records`:
//   1. The record space is rotated by a hash, so that chunk borders differ between passes. It is then cut into chunks
//      of `chunk_records` contiguous records. The last chunk may be short.
//   2. The chunk space is cut into `window_chunks` strata of equal size (+-1, the larger ones spread evenly). Each
//      stratum has its own permutation. Window w consists of the w-th chunk of each permutation. So a window samples
//      the whole data set evenly: classes mix, and owners of contiguous ranges have equal work. The remaining chunks of
//      the larger strata form the last window. If they are fewer than half a window, they join the previous window. So
//      the last window never consists of a few chunks.
//   3. The records of a window are permuted.
// Step 2 may place the short chunk anywhere in the order. The chunks after it begin earlier by the number of records
// that it lacks.
#ifndef PENSTOCK_PIPELINE_PLAN_EPOCH_PLAN_H_
#define PENSTOCK_PIPELINE_PLAN_EPOCH_PLAN_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/shard_offsets.h"

namespace penstock::plan {

// The same inputs give the same plan in every release with this version (tests/golden/plan.txt).
constexpr uint32_t kPlanVersion = 1;

enum class Shuffle : uint8_t {
  kNone = 0,     // snapshot order
  kChunked = 1,  // the two-level shuffle above
  kFull = 2,     // one permutation of all records
};

struct PlanOptions {
  uint64_t seed = 0;
  Shuffle shuffle = Shuffle::kChunked;
  uint32_t repeats = 1;           // passes over the data per epoch, each with its own shuffle; 1 to 65535
  uint32_t chunk_records = 64;    // kChunked; at least 1
  uint32_t window_chunks = 1024;  // kChunked; at least 1
  bool operator==(const PlanOptions&) const = default;
};

// Returns InvalidArgument, with the name of the field, if an option is out of its limits or the shuffle is unknown.
absl::Status CheckPlanOptions(const PlanOptions& options);

// Immutable, thread-safe, cheap to copy. Uses O(1) memory besides the shared offsets.
class EpochPlan {
 public:
  // Creates the plan of `epoch`. Returns InvalidArgument if options are out of their limits or there are more than 2^62
  // positions. A snapshot without records gives a plan without positions.
  static absl::StatusOr<EpochPlan> Create(std::shared_ptr<const ShardOffsets> offsets, const PlanOptions& options,
                                          uint64_t epoch);

  uint64_t num_records() const { return num_records_; }                       // N
  uint64_t num_positions() const { return num_records_ * options_.repeats; }  // N * repeats
  uint64_t epoch() const { return epoch_; }
  const PlanOptions& options() const { return options_; }
  const ShardOffsets& offsets() const { return *offsets_; }

  // Returns the number, in the snapshot, of the record at `position`. position < num_positions(). O(1).
  uint64_t RecordAt(uint64_t position) const;
  // Returns the same record as (shard, record). O(log shards).
  Location LocationAt(uint64_t position) const { return offsets_->Locate(RecordAt(position)); }
  // Returns the pass over the data that a position belongs to. It is part of the sample's random key.
  uint16_t RepeatAt(uint64_t position) const { return static_cast<uint16_t>(position / num_records_); }

  // Returns the position of the record in pass `repeat`: the inverse of RecordAt. record < num_records(), repeat <
  // options().repeats. O(1).
  uint64_t PositionOf(uint64_t record, uint16_t repeat = 0) const;

  // Returns the end of the range of positions in which the plan shuffled the record at `position`: the end of its
  // window for kChunked, the end of its pass for kFull, and position + 1 for kNone. position < num_positions(). O(1).
  uint64_t ShuffledUpTo(uint64_t position) const;

 private:
  // The place of a chunk: its window, and its index among the window's chunks.
  struct ChunkPlace {
    uint64_t window = 0;
    uint64_t place = 0;
  };
  // The parameters of one pass over the data.
  struct Pass {
    uint64_t key = 0;
    uint64_t rotation = 0;
    ChunkPlace short_chunk;  // place of the last chunk, which may be short
  };
  struct Window {
    uint64_t number = 0;
    uint64_t chunks = 0;
    uint64_t begin = 0;  // its first index within the pass
    uint64_t records = 0;
  };

  EpochPlan(std::shared_ptr<const ShardOffsets> offsets, const PlanOptions& options, uint64_t epoch);

  Pass MakePass(uint64_t repeat) const;
  uint64_t ChunkedAt(const Pass& pass, uint64_t index) const;
  uint64_t ChunkedIndexOf(const Pass& pass, uint64_t record) const;
  uint64_t StratumBegin(uint64_t stratum) const;
  uint64_t StratumSize(uint64_t stratum) const;
  Window WindowAt(const Pass& pass, uint64_t number) const;
  // Returns the window that holds the pass's index.
  Window WindowOf(const Pass& pass, uint64_t index) const;
  uint64_t ChunkAt(const Pass& pass, const ChunkPlace& at) const;
  ChunkPlace PlaceOf(uint64_t pass_key, uint64_t chunk) const;

  std::shared_ptr<const ShardOffsets> offsets_;
  PlanOptions options_;
  uint64_t epoch_;
  uint64_t num_records_;
  // Set for kChunked only.
  uint64_t num_chunks_ = 0;
  uint64_t deficit_ = 0;       // records that the last chunk lacks
  uint64_t strata_ = 0;        // min(window_chunks, chunks)
  uint64_t stratum_size_ = 0;  // chunks of the smaller strata
  uint64_t larger_ = 0;        // strata with one more chunk
  uint64_t windows_ = 0;
  Pass first_;  // pass 0, computed once; later passes are computed on demand
};

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_EPOCH_PLAN_H_
