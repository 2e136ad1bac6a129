#include "pipeline/plan/epoch_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/plan/permutation.h"

namespace penstock::plan {
namespace {

// The use of a key. It is part of the hash, so that no two uses share a key. Fixed by the plan's version.
enum Use : uint64_t { kPass = 1, kRotation = 2, kAll = 3, kStratum = 4, kWindow = 5 };

uint64_t Key(Use use, uint64_t key, uint64_t number) { return HashWords({use, key, number}); }

// Returns a * b / n without overflow.
uint64_t MulDiv(uint64_t a, uint64_t b, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b / n);
}

}  // namespace

absl::Status CheckPlanOptions(const PlanOptions& options) {
  if (options.repeats < 1 || options.repeats > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("order.repeats is ", options.repeats, "; it must be 1 to 65535"));
  }
  if (options.shuffle > Shuffle::kFull) {
    return absl::InvalidArgumentError(
        absl::StrCat("order.shuffle is ", static_cast<int>(options.shuffle), ", which is no known shuffle"));
  }
  if (options.shuffle == Shuffle::kChunked && options.chunk_records == 0) {
    return absl::InvalidArgumentError("order.chunk_records is 0; it must be at least 1");
  }
  if (options.shuffle == Shuffle::kChunked && options.window_chunks == 0) {
    return absl::InvalidArgumentError("order.window_chunks is 0; it must be at least 1");
  }
  return absl::OkStatus();
}

absl::StatusOr<EpochPlan> EpochPlan::Create(std::shared_ptr<const ShardOffsets> offsets, const PlanOptions& options,
                                            uint64_t epoch) {
  PS_CHECK(offsets != nullptr);
  PS_RETURN_IF_ERROR(CheckPlanOptions(options));
  if (offsets->num_records() > Permutation::kMaxSize / options.repeats) {
    return absl::InvalidArgumentError(absl::StrCat(offsets->num_records(), " records times ", options.repeats,
                                                   " repeats are more than 2^62 positions"));
  }
  return EpochPlan(std::move(offsets), options, epoch);
}

EpochPlan::EpochPlan(std::shared_ptr<const ShardOffsets> offsets, const PlanOptions& options, uint64_t epoch)
    : offsets_(std::move(offsets)), options_(options), epoch_(epoch), num_records_(offsets_->num_records()) {
  if (num_records_ == 0) return;
  if (options_.shuffle == Shuffle::kChunked) {
    num_chunks_ = (num_records_ - 1) / options_.chunk_records + 1;
    deficit_ = num_chunks_ * options_.chunk_records - num_records_;
    strata_ = std::min<uint64_t>(options_.window_chunks, num_chunks_);
    stratum_size_ = num_chunks_ / strata_;
    larger_ = num_chunks_ % strata_;
    // The remaining chunks of the larger strata are a window of their own, or part of the previous one.
    windows_ = stratum_size_ + (2 * larger_ >= strata_ ? 1 : 0);
  }
  first_ = MakePass(0);
}

EpochPlan::Pass EpochPlan::MakePass(uint64_t repeat) const {
  Pass pass;
  pass.key = HashWords({kPass, options_.seed, epoch_, repeat});
  if (options_.shuffle == Shuffle::kChunked) {
    pass.rotation = Key(kRotation, pass.key, 0) % num_records_;
    pass.short_chunk = PlaceOf(pass.key, num_chunks_ - 1);
  }
  return pass;
}

uint64_t EpochPlan::RecordAt(uint64_t position) const {
  PS_CHECK(position < num_positions());
  const uint64_t repeat = position / num_records_;
  const uint64_t index = position - repeat * num_records_;
  if (options_.shuffle == Shuffle::kNone) return index;
  const Pass pass = repeat == 0 ? first_ : MakePass(repeat);
  if (options_.shuffle == Shuffle::kFull) {
    return Permutation(num_records_, Key(kAll, pass.key, 0)).Permute(index);
  }
  return ChunkedAt(pass, index);
}

uint64_t EpochPlan::PositionOf(uint64_t record, uint16_t repeat) const {
  PS_CHECK(record < num_records_ && repeat < options_.repeats);
  const uint64_t begin = repeat * num_records_;
  if (options_.shuffle == Shuffle::kNone) return begin + record;
  const Pass pass = repeat == 0 ? first_ : MakePass(repeat);
  if (options_.shuffle == Shuffle::kFull) {
    return begin + Permutation(num_records_, Key(kAll, pass.key, 0)).Invert(record);
  }
  return begin + ChunkedIndexOf(pass, record);
}

uint64_t EpochPlan::ShuffledUpTo(uint64_t position) const {
  if (options_.shuffle == Shuffle::kNone) return position + 1;
  const uint64_t repeat = position / num_records_, begin = repeat * num_records_;
  if (options_.shuffle == Shuffle::kFull) return begin + num_records_;
  const Window window = WindowOf(repeat == 0 ? first_ : MakePass(repeat), position - begin);
  return begin + window.begin + window.records;
}

// Stratum s begins at floor(s * chunks / strata), so that the larger strata are spread evenly.
uint64_t EpochPlan::StratumBegin(uint64_t stratum) const {
  return stratum * stratum_size_ + stratum * larger_ / strata_;
}

uint64_t EpochPlan::StratumSize(uint64_t stratum) const { return StratumBegin(stratum + 1) - StratumBegin(stratum); }

EpochPlan::Window EpochPlan::WindowAt(const Pass& pass, uint64_t number) const {
  const uint64_t first_chunk = number * strata_;
  Window result;
  result.number = number;
  result.chunks = number + 1 < windows_ ? strata_ : num_chunks_ - first_chunk;
  result.begin = first_chunk * options_.chunk_records;
  result.records = result.chunks * options_.chunk_records;
  if (number == pass.short_chunk.window) {
    result.records -= deficit_;
  } else if (number > pass.short_chunk.window) {
    result.begin -= deficit_;
  }
  return result;
}

EpochPlan::Window EpochPlan::WindowOf(const Pass& pass, uint64_t index) const {
  const uint64_t window_records = strata_ * options_.chunk_records;
  const uint64_t number = std::min(index / window_records, windows_ - 1);
  const Window window = WindowAt(pass, std::min(number, pass.short_chunk.window));
  // After the short chunk's window, indices are smaller by the records that it lacks.
  if (number < pass.short_chunk.window || index < window.begin + window.records) return window;
  return WindowAt(pass, std::min((index + deficit_) / window_records, windows_ - 1));
}

// Places below `strata_` of window w are the strata in order, each with its w-th chunk. The exception is a last window
// that holds only remaining chunks. Remaining chunk j is the last chunk of the j-th larger stratum.
uint64_t EpochPlan::ChunkAt(const Pass& pass, const ChunkPlace& at) const {
  uint64_t stratum = at.place;
  uint64_t number = at.window;
  if (at.window == stratum_size_ || at.place >= strata_) {
    const uint64_t j = at.window == stratum_size_ ? at.place : at.place - strata_;
    // The first s that satisfies floor((s + 1) * larger / strata) == j + 1.
    stratum = ((j + 1) * strata_ - 1) / larger_;
    number = stratum_size_;
  }
  const Permutation order(StratumSize(stratum), Key(kStratum, pass.key, stratum));
  return StratumBegin(stratum) + order.Permute(number);
}

EpochPlan::ChunkPlace EpochPlan::PlaceOf(uint64_t pass_key, uint64_t chunk) const {
  // The last s with floor(s * chunks / strata) <= chunk, which means s * chunks < (chunk + 1) * strata.
  uint64_t stratum = MulDiv(chunk + 1, strata_, num_chunks_);
  if (StratumBegin(stratum) > chunk) --stratum;
  const Permutation order(StratumSize(stratum), Key(kStratum, pass_key, stratum));
  const uint64_t number = order.Invert(chunk - StratumBegin(stratum));
  if (number < stratum_size_) return {number, stratum};
  const uint64_t j = stratum * larger_ / strata_;
  if (windows_ > stratum_size_) return {stratum_size_, j};
  return {stratum_size_ - 1, strata_ + j};
}

uint64_t EpochPlan::ChunkedAt(const Pass& pass, uint64_t index) const {
  const Window window = WindowOf(pass, index);
  const uint64_t number = window.number;
  const Permutation inside(window.records, Key(kWindow, pass.key, number));
  uint64_t row = inside.Permute(index - window.begin);
  if (number == pass.short_chunk.window && row >= (pass.short_chunk.place + 1) * options_.chunk_records - deficit_) {
    row += deficit_;
  }
  const uint64_t place = row / options_.chunk_records;
  const uint64_t chunk = ChunkAt(pass, {number, place});
  const uint64_t rotated = chunk * options_.chunk_records + (row - place * options_.chunk_records);
  const uint64_t record = rotated + pass.rotation;
  return record < num_records_ ? record : record - num_records_;
}

uint64_t EpochPlan::ChunkedIndexOf(const Pass& pass, uint64_t record) const {
  const uint64_t rotated = record >= pass.rotation ? record - pass.rotation : record + num_records_ - pass.rotation;
  const uint64_t chunk = rotated / options_.chunk_records;
  const ChunkPlace at = PlaceOf(pass.key, chunk);
  uint64_t row = at.place * options_.chunk_records + rotated % options_.chunk_records;
  if (at.window == pass.short_chunk.window && at.place > pass.short_chunk.place) row -= deficit_;
  const Window window = WindowAt(pass, at.window);
  const Permutation inside(window.records, Key(kWindow, pass.key, at.window));
  return window.begin + inside.Invert(row);
}

}  // namespace penstock::plan
