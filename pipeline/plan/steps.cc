#include "pipeline/plan/steps.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace penstock::plan {

std::string_view LastBatchName(LastBatch last) {
  switch (last) {
    case LastBatch::kDrop:
      return "DROP";
    case LastBatch::kPad:
      return "PAD";
    case LastBatch::kPartial:
      return "PARTIAL";
  }
  return "";
}

namespace {

absl::Status CheckSize(uint64_t size, const std::string& field, uint64_t positions, LastBatch last,
                       uint64_t world_size) {
  if (size == 0) return absl::InvalidArgumentError(absl::StrCat(field, " is 0; it must be at least 1"));
  if (size % world_size != 0) {
    const uint64_t below = size / world_size * world_size;
    return absl::InvalidArgumentError(absl::StrCat("a global batch of ", size, " rows cannot be divided among ",
                                                   world_size, " ranks; choose a ", field,
                                                   " that is a multiple of the world size, such as ",
                                                   below > 0 ? absl::StrCat(below, " or ") : "", below + world_size));
  }
  if (last == LastBatch::kDrop && positions < size) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch has ", positions, " rows, fewer than one global batch of ", size,
                     ", and batch.last is DROP: the epoch would have no steps; use PAD, or "
                     "a smaller ",
                     field));
  }
  return absl::OkStatus();
}

absl::Status CheckBatches(const BatchSequence& batches, LastBatch last, uint64_t world_size) {
  const uint64_t multiple = batches.cut().multiple();
  if (multiple % world_size != 0) {
    const uint64_t below = multiple / world_size * world_size;
    return absl::InvalidArgumentError(absl::StrCat(
        "batches of multiples of ", multiple, multiple == 1 ? " row" : " rows", " cannot be divided among ", world_size,
        " ranks; choose a bucket.multiple that is a multiple of the world size, such as ",
        below > 0 ? absl::StrCat(below, " or ") : "", below + world_size));
  }
  if (last == LastBatch::kDrop && batches.cut().batches() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("an epoch has ", batches.positions(), " rows, fewer than bucket.multiple, ", multiple,
                     ", and batch.last is DROP: the epoch would have no steps; use PAD, or a smaller multiple"));
  }
  return absl::OkStatus();
}

// The rows of a run before the cursor.
unsigned __int128 RowsAt(Cursor cursor, uint64_t positions) {
  return static_cast<unsigned __int128>(cursor.epoch) * positions + cursor.position;
}

}  // namespace

uint64_t StepSizes::At(unsigned __int128 rows) const {
  uint64_t size = first;
  for (const SizeChange& change : changes) {
    if (change.at_rows > rows) break;
    size = change.size;
  }
  return size;
}

uint64_t StepSizes::Largest() const {
  if (batches != nullptr) return std::max(batches->cut().largest(), batches->cut().multiple());
  uint64_t largest = first;
  for (const SizeChange& change : changes) largest = std::max(largest, change.size);
  return largest;
}

absl::StatusOr<Steps> Steps::Create(uint64_t positions, StepSizes sizes, LastBatch last, uint64_t world_size) {
  if (positions == 0) return absl::InvalidArgumentError("the job's files hold no records");
  if (world_size == 0) {
    return absl::InvalidArgumentError("the world size is 0; it must be at least 1");
  }
  if (sizes.batches != nullptr && sizes.batches->positions() != positions) {
    return absl::InternalError(absl::StrCat("batches of ", sizes.batches->positions(), " rows, of ", positions));
  }
  if (last > LastBatch::kPartial) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch.last is ", static_cast<int>(last), ", which is no known policy"));
  }
  PS_RETURN_IF_ERROR(sizes.batches != nullptr ? CheckBatches(*sizes.batches, last, world_size)
                                              : CheckSize(sizes.first, "batch.size", positions, last, world_size));
  if (last == LastBatch::kPartial && world_size > 1) {
    return absl::InvalidArgumentError(absl::StrCat("batch.last is PARTIAL, which is for one rank only, and there are ",
                                                   world_size,
                                                   "; use PAD (rows past the end are flagged invalid) or DROP"));
  }
  if (sizes.changes.size() > StepSizes::kMostChanges) {
    return absl::InvalidArgumentError(absl::StrCat("batch.change: at most ", StepSizes::kMostChanges));
  }
  uint64_t before = 0;
  for (size_t i = 0; i < sizes.changes.size(); ++i) {
    const SizeChange& change = sizes.changes[i];
    const std::string field = absl::StrCat("batch.change[", i, "]");
    if (change.at_rows <= before) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ".at_rows is ", change.at_rows, "; it must be greater than ", before));
    }
    before = change.at_rows;
    PS_RETURN_IF_ERROR(CheckSize(change.size, absl::StrCat(field, ".size"), positions, last, world_size));
  }
  return Steps(positions, std::move(sizes), last, world_size);
}

Steps::Steps(uint64_t positions, StepSizes sizes, LastBatch last, uint64_t world_size)
    : positions_(positions),
      sizes_(std::move(sizes)),
      largest_(sizes_.Largest()),
      last_(last),
      world_size_(world_size) {}

const SizeChange* Steps::ChangeAfter(Cursor cursor) const {
  const unsigned __int128 rows = RowsAt(cursor, positions_);
  const auto after = std::find_if(sizes_.changes.begin(), sizes_.changes.end(),
                                  [&](const SizeChange& change) { return change.at_rows > rows; });
  return after == sizes_.changes.end() ? nullptr : &*after;
}

BatchSequence::Batch Steps::BatchAt(Cursor cursor) const {
  return sizes_.batches->WithPosition(cursor.epoch, cursor.position);
}

uint64_t Steps::BatchesOfEpoch() const {
  return last_ == LastBatch::kDrop ? sizes_.batches->cut().batches() : sizes_.batches->batches();
}

uint64_t Steps::SizeAt(Cursor cursor) const {
  if (sizes_.batches == nullptr) return sizes_.At(RowsAt(cursor, positions_));
  if (cursor.position >= positions_) return largest_;
  const BatchSequence::Batch batch = BatchAt(cursor);
  const uint64_t multiple = sizes_.batches->cut().multiple();
  return (batch.position + batch.rows - cursor.position + multiple - 1) / multiple * multiple;
}

Steps::Run Steps::RunAt(Cursor cursor) const {
  Run run{SizeAt(cursor), 0};
  if (cursor.position >= positions_) return run;
  const uint64_t left = positions_ - cursor.position;
  run.steps = left / run.size + (last_ != LastBatch::kDrop && left % run.size != 0 ? 1 : 0);
  const SizeChange* const change = ChangeAfter(cursor);
  if (change == nullptr) return run;
  const unsigned __int128 rows = change->at_rows - RowsAt(cursor, positions_);
  if (rows < left) {  // steps that begin before the change
    const auto until = static_cast<uint64_t>(rows);
    run.steps = std::min(run.steps, until / run.size + (until % run.size != 0 ? 1 : 0));
  }
  return run;
}

uint64_t Steps::EpochsWithoutChange(uint64_t epoch) const {
  const SizeChange* const change = ChangeAfter({epoch, 0});
  return change == nullptr ? UINT64_MAX - epoch : change->at_rows / positions_ - epoch;
}

uint64_t Steps::StepsFrom(Cursor cursor) const {
  if (sizes_.batches != nullptr) {
    if (cursor.position >= positions_) return 0;
    const uint64_t number = BatchAt(cursor).number, all = BatchesOfEpoch();
    return all - std::min(number, all);
  }
  uint64_t steps = 0;
  for (Run run = RunAt(cursor); run.steps > 0; run = RunAt(cursor)) {
    steps += run.steps;
    cursor.position += run.rows();
  }
  return steps;
}

uint64_t Steps::DroppedOf(uint64_t epoch) const {
  if (last_ != LastBatch::kDrop) return 0;
  if (sizes_.batches != nullptr) return sizes_.batches->cut().rest();
  uint64_t rows = 0;
  for (Run run = RunAt({epoch, 0}); run.steps > 0; run = RunAt({epoch, rows})) rows += run.rows();
  return positions_ - rows;
}

uint64_t Steps::NumberAt(Cursor cursor) const {
  if (sizes_.batches != nullptr) {
    if (cursor.position >= positions_) return BatchesOfEpoch();
    const BatchSequence::Batch batch = BatchAt(cursor);
    return std::min(BatchesOfEpoch(), batch.number + (cursor.position > batch.position ? 1 : 0));
  }
  Cursor at = {cursor.epoch, 0};
  uint64_t steps = 0;
  while (at.position < cursor.position) {
    const Run run = RunAt(at);
    const uint64_t left = cursor.position - at.position;
    // Past the last step, count on in its size.
    const uint64_t before = left / run.size + (left % run.size != 0 ? 1 : 0);
    const uint64_t count = run.steps == 0 ? before : std::min(run.steps, before);
    steps += count;
    at.position += count * run.size;
  }
  return steps;
}

Cursor Steps::Normalized(Cursor cursor) const {
  const bool has_step = sizes_.batches != nullptr ? StepsFrom(cursor) > 0 : RunAt(cursor).steps > 0;
  return has_step ? cursor : Cursor{cursor.epoch + 1, 0};
}

StepSpan Steps::StepAt(Cursor cursor) const {
  cursor = Normalized(cursor);
  StepSpan step;
  step.epoch = cursor.epoch;
  step.begin = cursor.position;
  step.size = SizeAt(cursor);
  step.valid = std::min(step.size, positions_ - cursor.position);
  if (sizes_.batches != nullptr) {
    const BatchSequence::Batch batch = BatchAt(cursor);
    step.valid = batch.position + batch.rows - cursor.position;
  }
  step.rows = last_ == LastBatch::kPartial ? step.valid : step.size;
  return step;
}

Cursor Steps::After(const StepSpan& step) const { return Normalized({step.epoch, step.begin + step.valid}); }

Cursor Steps::Advance(Cursor cursor, uint64_t steps) const {
  cursor = Normalized(cursor);
  if (sizes_.batches != nullptr) {
    if (steps == 0) return cursor;
    const unsigned __int128 number = static_cast<unsigned __int128>(BatchAt(cursor).number) + steps;
    const uint64_t all = BatchesOfEpoch(), epoch = cursor.epoch + static_cast<uint64_t>(number / all);
    return {epoch, sizes_.batches->At(epoch, static_cast<uint64_t>(number % all)).position};
  }
  for (;;) {
    if (cursor.position == 0) {
      const uint64_t per_epoch = StepsOf(cursor.epoch);
      const uint64_t whole = std::min(steps / per_epoch, EpochsWithoutChange(cursor.epoch));
      cursor.epoch += whole;
      steps -= whole * per_epoch;
    }
    const Run run = RunAt(cursor);
    if (steps < run.steps) return {cursor.epoch, cursor.position + steps * run.size};
    steps -= run.steps;
    cursor = Normalized({cursor.epoch, std::min(cursor.position + run.rows(), positions_)});
  }
}

uint64_t Steps::StepsBetween(Cursor from, Cursor to) const {
  from = Normalized(from);
  to = Normalized(to);
  PS_CHECK(from.epoch < to.epoch || (from.epoch == to.epoch && from.position <= to.position));
  if (sizes_.batches != nullptr) {
    return (to.epoch - from.epoch) * BatchesOfEpoch() + BatchAt(to).number - BatchAt(from).number;
  }
  uint64_t steps = 0;
  while (from.epoch < to.epoch) {
    const uint64_t same = from.position == 0 ? EpochsWithoutChange(from.epoch) : 0;
    const uint64_t epochs = std::clamp<uint64_t>(same, 1, to.epoch - from.epoch);
    steps += epochs * StepsFrom(from);
    from = {from.epoch + epochs, 0};
  }
  while (from.position < to.position) {
    const Run run = RunAt(from);
    const uint64_t count = std::min(run.steps, (to.position - from.position) / run.size);
    if (count == 0) break;
    steps += count;
    from.position += count * run.size;
  }
  return steps;
}

std::optional<StepSpan> Steps::StepWith(Cursor from, uint64_t position) const {
  if (sizes_.batches != nullptr) {
    if (position >= positions_) return std::nullopt;
    const BatchSequence::Batch batch = BatchAt({from.epoch, position});
    if (batch.number >= BatchesOfEpoch()) return std::nullopt;
    return StepAt({from.epoch, std::max(batch.position, from.position)});
  }
  for (Run run = RunAt(from); run.steps > 0; run = RunAt(from)) {
    const uint64_t inside = position - from.position;
    if (inside < run.rows()) return StepAt({from.epoch, from.position + inside / run.size * run.size});
    from.position += run.rows();
  }
  return std::nullopt;
}

SlotRange Steps::Slice(const StepSpan& step, uint64_t rank) const {
  PS_CHECK(rank < world_size_);
  // Under kPartial the single rank has all rows.
  const uint64_t each = step.rows / world_size_;
  return {rank * each, (rank + 1) * each};
}

uint64_t Steps::RankOf(const StepSpan& step, uint64_t slot) const {
  PS_CHECK(slot < step.rows);
  return slot / (step.rows / world_size_);
}

}  // namespace penstock::plan
