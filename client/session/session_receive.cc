// The part of a session that takes what workers send.
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/session/session.h"

namespace penstock {
namespace {

constexpr size_t kMaxBadRecords = 65536;  // of one report

// A Rows header that its payload fits, of a data set of `records`. What each row's bytes hold is checked where they are
// written.
absl::Status CheckRows(const v1::Rows& rows, size_t payload, uint64_t records) {
  const int n = rows.positions_size();
  if (rows.payload_bytes_size() != n || (rows.flags_size() != 0 && rows.flags_size() != n)) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", n, " rows with ", rows.payload_bytes_size(),
                                                   " lengths and ", rows.flags_size(), " flags"));
  }
  uint64_t total = 0;
  for (const uint32_t bytes : rows.payload_bytes()) total += bytes;
  if (total != payload) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", n, " rows of ", total, " bytes in all, with a payload of ", payload));
  }
  for (const v1::Rows::Failure& failure : rows.failures()) {
    if (failure.row() >= static_cast<uint32_t>(n) || failure.code() < 1 || failure.code() > 16) {
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", n, " rows with a failure of row ", failure.row(), ", code ", failure.code()));
    }
  }
  for (const v1::Rows::Substitution& other : rows.substitutions()) {
    if (other.row() >= static_cast<uint32_t>(n) || other.source_record() >= records) {
      return absl::InvalidArgumentError(absl::StrCat("a message of ", n, " rows with record ", other.source_record(),
                                                     " of ", records, " in the place of row ", other.row()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Session::OnMessage(uint64_t stream, grpc::ByteBuffer message) {
  // std::function copies; the buffer's slices are shared, so the message is held by pointer.
  auto held = std::make_shared<grpc::ByteBuffer>(std::move(message));
  pool_.Add([this, stream, held] { Receive(stream, *held); });
}

void Session::OnClosed(uint64_t stream, const absl::Status& status) {
  // Behind the rows that came before.
  pool_.Add([this, stream, status] {
    MutexLock lock(&mutex_);
    if (streams_.erase(stream) == 0) closed_early_.insert(stream);
    tracker_.StreamBroken(stream, status, clock_->Now());
    WakeControl();
    ready_.NotifyAll();  // a refusal may be due
  });
  MutexLock lock(&mutex_);
  if (--open_streams_ == 0) streams_gone_.NotifyAll();
}

void Session::Receive(uint64_t stream, const grpc::ByteBuffer& message) {
  v1::ServerHeader header;
  SliceCursor payload;
  const size_t bytes = message.Length();
  absl::Status status = ParseFrame(message, &header, &payload);
  if (status.ok()) {
    if (header.has_rows()) {
      status = ReceiveRows(stream, header.rows(), std::move(payload));
    } else {
      MutexLock lock(&mutex_);
      if (header.has_draining()) {
        tracker_.WorkerDrains(stream, clock_->Now());
      } else {
        tracker_.Heard(stream, clock_->Now());
      }
      if (tracker_.has_commands()) WakeControl();
    }
  }
  if (!status.ok()) {
    BreakStream(stream, status);
    return;
  }
  std::shared_ptr<WorkerStream> open;
  {
    MutexLock lock(&mutex_);
    const auto it = streams_.find(stream);
    if (it != streams_.end()) open = it->second;
  }
  if (open != nullptr) open->Consumed(bytes);
}

void Session::BreakStream(uint64_t stream, const absl::Status& why) {
  std::shared_ptr<WorkerStream> open;
  {
    MutexLock lock(&mutex_);
    const auto it = streams_.find(stream);
    if (it != streams_.end()) open = it->second;
    tracker_.StreamBroken(stream, why, clock_->Now());
    WakeControl();
    ready_.NotifyAll();
  }
  if (open != nullptr) open->Cancel();
}

absl::Status Session::ReceiveRows(uint64_t stream, const v1::Rows& rows, SliceCursor payload) {
  const size_t payload_bytes = payload.remaining();
  absl::Status bad = CheckRows(rows, payload_bytes, job_.offsets->num_records());
  if (!bad.ok()) return bad;
  const int n = rows.positions_size();
  std::vector<const v1::Rows::Failure*> failures(rows.failures_size() > 0 ? n : 0);
  for (const v1::Rows::Failure& failure : rows.failures()) failures[failure.row()] = &failure;
  std::vector<uint64_t> sources(rows.substitutions_size() > 0 ? n : 0, kOwnRecord);
  for (const v1::Rows::Substitution& other : rows.substitutions()) sources[other.row()] = other.source_record();

  std::vector<Claimed> claimed(n);
  {
    MutexLock lock(&mutex_);
    if (stopping_) return absl::OkStatus();
    const Nanos now = clock_->Now();
    stats_.bytes_received += payload_bytes;
    for (int i = 0; i < n; ++i) {
      DeliveryTracker::Slot slot;
      switch (tracker_.RowArrived(stream, rows.epoch(), rows.positions(i), now, &slot)) {
        case DeliveryTracker::Claim::kYours: {
          const auto it = booked_.find(slot.ordinal);
          if (it == booked_.end()) {  // its memory is not there yet, so nobody asked for it
            tracker_.Released(slot, now);
            break;
          }
          claimed[i] = {slot, it->second};
          continue;
        }
        case DeliveryTracker::Claim::kDuplicate:
          continue;
        case DeliveryTracker::Claim::kUnwanted:
          break;
      }
      bad = absl::InvalidArgumentError(
          absl::StrCat("row ", rows.positions(i), " of epoch ", rows.epoch(), " came, which was not asked for"));
      break;
    }
  }

  // Copy, each claimed row into its slot. A row counts as filled only when its group, if it was the last one of it, is
  // mixed: so a complete step is wholly mixed.
  std::vector<bool> written(n);
  for (int i = 0; i < n && bad.ok(); ++i) {
    const uint32_t bytes = rows.payload_bytes(i);
    const uint32_t flags = rows.flags_size() > 0 ? rows.flags(i) : 0;
    if (claimed[i].step == nullptr || (!failures.empty() && failures[i] != nullptr)) {
      payload.Skip(bytes);
      continue;
    }
    Booked& step = *claimed[i].step;
    const uint64_t row = claimed[i].slot.row;
    const bool masked = (flags & v1::ROW_MASKED) != 0;
    if (masked) {
      step.builder->WriteMasked(row);
      payload.Skip(bytes);
    } else {
      bad = step.builder->WriteRow(row, bytes, &payload);
      if (!bad.ok()) {
        bad = absl::Status(bad.code(),
                           absl::StrCat("row ", rows.positions(i), " of epoch ", rows.epoch(), ": ", bad.message()));
        break;
      }
    }
    step.source[row] = sources.empty() || masked ? kOwnRecord : sources[i];
    step.valid[row] = !masked && steps_.IsValid(step.span, step.slice.begin + row);
    step.builder->RowDone(row, step.valid[row] != 0);
    written[i] = true;
  }

  std::vector<std::pair<uint64_t, std::shared_ptr<Booked>>> complete;
  {
    MutexLock lock(&mutex_);
    const Nanos now = clock_->Now();
    if (!bad.ok()) tracker_.StreamBroken(stream, bad, now);
    for (int i = 0; i < n; ++i) {
      if (claimed[i].step == nullptr) continue;
      const DeliveryTracker::Slot& slot = claimed[i].slot;
      if (written[i]) {
        tracker_.Filled(slot, stream);
      } else if (!failures.empty() && failures[i] != nullptr && bad.ok()) {
        tracker_.Failed(slot, stream,
                        absl::Status(static_cast<absl::StatusCode>(failures[i]->code()), failures[i]->message()), now);
      } else {
        tracker_.Released(slot, now);
      }
      if (tracker_.IsComplete(slot.ordinal)) complete.emplace_back(slot.ordinal, claimed[i].step);
    }
    if (tracker_.has_commands()) WakeControl();
  }
  for (const auto& [ordinal, step] : complete) Seal(ordinal, step);
  if (bad.ok()) CountBadRows(rows);
  return bad;
}

void Session::CountBadRows(const v1::Rows& rows) {
  std::vector<uint64_t> bad;
  uint64_t masked = 0, substituted = 0;
  for (int i = 0; i < rows.flags_size(); ++i) {
    if ((rows.flags(i) & (v1::ROW_MASKED | v1::ROW_SUBSTITUTED)) == 0) continue;
    if (rows.positions(i) / 2 > steps_.positions()) continue;  // no row of this epoch
    ((rows.flags(i) & v1::ROW_MASKED) != 0 ? masked : substituted) += 1;
    bad.push_back(rows.positions(i));
  }
  if (bad.empty()) return;
  const auto plan = EpochPlan::Create(job_.offsets, job_.plan, rows.epoch());
  for (uint64_t& row : bad) row = plan->RecordAt(steps_.PositionOfRow(row));
  MutexLock lock(&mutex_);
  stats_.masked_rows += masked;
  stats_.substituted_rows += substituted;
  for (const uint64_t record : bad) {
    if (bad_records_.size() + unconfirmed_bad_.size() < kMaxBadRecords) bad_records_.push_back(record);
  }
}

void Session::Seal(uint64_t ordinal, const std::shared_ptr<Booked>& step) {
  const auto plan = EpochPlan::Create(job_.offsets, job_.plan, step->span.epoch);
  std::vector<RowId> ids(step->slice.size());
  for (uint64_t row = 0; row < ids.size(); ++row) {
    const Location at = plan->LocationAt(steps_.PositionOfSlot(step->span, step->slice.begin + row));
    ids[row] = {static_cast<int64_t>(at.shard), static_cast<int64_t>(at.record)};
  }
  std::vector<RowId> sources;  // none where each row is its own
  for (uint64_t row = 0; row < ids.size(); ++row) {
    if (step->source[row] == kOwnRecord) continue;
    if (sources.empty()) sources = ids;
    const Location at = job_.offsets->Locate(step->source[row]);
    sources[row] = {static_cast<int64_t>(at.shard), static_cast<int64_t>(at.record)};
  }
  absl::Status status = step->builder->Seal(ids, step->valid, sources);
  MutexLock lock(&mutex_);
  step->status = std::move(status);
  step->sealed = true;
  if (ordinal == tracker_.head_ordinal()) ready_.NotifyAll();
}

}  // namespace penstock
