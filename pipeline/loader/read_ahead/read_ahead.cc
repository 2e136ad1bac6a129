#include "pipeline/loader/read_ahead/read_ahead.h"

#include <algorithm>

namespace penstock::loader {
namespace {

// Records of rows that start soon are fetched alone; a range would be too late for them.
constexpr uint64_t kLead = 64;
// Rows to examine beyond the requested ones: kLeastAhead, and kAheadTimes for each row that the session has requested
// so far. So a session that reads ten steps does not read an epoch ahead.
constexpr uint64_t kLeastAhead = 1024, kAheadTimes = 4;
constexpr int kPositionsAtOnce = 256;  // positions per look for ranges
// Largest numbers of looks to skip: for reads, when all records were here; for ranges, when there is no memory or a
// shard is not open.
constexpr int kMostReadsSkipped = 255, kMostRangesSkipped = 15;
// Longest wait for a shard to open. After such a wait, looks do not wait for kNoWaits.
constexpr Nanos kLongestWait = kSecond, kNoWaits = 10 * kSecond;

}  // namespace

ReadAhead::ReadAhead(std::shared_ptr<const LoadJob> job, const RangeLimits& limits)
    : job_(std::move(job)), limits_(limits), reads_pace_(kMostReadsSkipped), ranges_pace_(kMostRangesSkipped) {}

ReadAhead::Way ReadAhead::WayOf(RecordPlace place, bool low_latency) {
  switch (place) {
    case RecordPlace::kMemory:
      return Way::kNone;
    case RecordPlace::kDiskCache:
      return Way::kHintDiskCache;
    case RecordPlace::kStorage:
      return low_latency ? Way::kHintStorage : Way::kRead;
  }
  return Way::kNone;
}

uint64_t ReadAhead::BytesForRead(uint64_t row_bytes, int makers, uint64_t estimate) {
  return row_bytes + static_cast<uint64_t>(makers) * estimate;
}

void ReadAhead::EndReads(int examined, int begun) {
  if (begun > 0) {
    reads_pace_.Began();
  } else if (examined >= kRowsAtOnce) {
    reads_pace_.BeganNothing();  // all records were here, and probably the next ones are too
  }
}

bool ReadAhead::HavePassed(const Place& end, const Place& at) {
  return end.epoch < at.epoch ? at.position > kLeastAhead
                              : end.epoch == at.epoch && end.position + kLeastAhead < at.position;
}

ReadAhead::RangeLook::RangeLook(ReadAhead* ahead, const Known& known, Records* records)
    : ahead_(*ahead), known_(known), records_(*records), job_(*ahead->job_), next_(ahead->next_) {
  if (ahead_.ranges_pace_.Skips()) return;
  left_ = kPositionsAtOnce;
  // A session that reads a part of the rows advances by more than one position per row.
  const RequestedSpan& requested = known_.requested;
  const uint64_t passed = (requested.furthest.epoch - requested.first.epoch) * job_.positions() +
                          requested.furthest.position - requested.first.position;
  const uint64_t rows = std::max<uint64_t>(1, requested.rows);
  const uint64_t stride = std::max<uint64_t>(1, (passed + rows / 2) / rows);
  Place first{known_.at.epoch, known_.at.position + kLead * stride};
  if (requested.alone.has_value())
    first = std::max(first, Place{requested.alone->epoch, requested.alone->position + 1});
  // The look starts again if the session expects other rows.
  const bool changed = std::exchange(ahead_.expected_, known_.expected) != known_.expected;
  if (changed || next_ < first) {
    next_ = first;
    ahead_.returned_ = false;
    ahead_.shuffled_upto_ = {};
  }
  horizon_ = HorizonFrom(first, stride);
}

ReadAhead::RangeLook::Horizon ReadAhead::RangeLook::HorizonFrom(const Place& first, uint64_t stride) const {
  const uint64_t positions = std::max<uint64_t>(1, job_.positions());
  const auto behind = [&](const Place& from, uint64_t rows) {
    const uint64_t end = from.position + stride * rows;
    return Place{from.epoch + end / positions, end % positions};
  };
  // A record beyond the memory would only displace records that are needed sooner. A record occupies whole pages, which
  // is a little more than its size.
  const sources::Snapshot& snapshot = job_.reader().snapshot();
  const uint64_t record_bytes = snapshot.data_bytes() / std::max<uint64_t>(1, snapshot.total_records()) + 1;
  const uint64_t records = known_.bytes / (record_bytes + record_bytes / 8);
  // A range begins a little before the end, so that it can include further records. With little memory, the session
  // starts one range at a time.
  Horizon horizon;
  horizon.begin = std::max(behind(known_.at, records - records / 4), first);
  horizon.along = std::max(behind(known_.at, records), behind(first, kLead));
  const plan::PlanOptions& order = job_.plan_options();
  const uint64_t window = std::min(uint64_t{order.chunk_records} * order.window_chunks, snapshot.total_records());
  horizon.whole_chunks = order.shuffle == plan::Shuffle::kChunked && window <= 2 * stride * records;
  const RequestedSpan& requested = known_.requested;
  horizon.end = {requested.furthest.epoch,
                 requested.furthest.position + stride * (kLeastAhead + kAheadTimes * requested.rows)};
  return horizon;
}

bool ReadAhead::RangeLook::Wants(const Place& place, uint64_t record) const {
  return known_.expected->Covers(place.epoch, place.position, record) && !records_.Has(record);
}

std::optional<RangeRead> ReadAhead::RangeLook::Next() {
  if (std::exchange(ahead_.returned_, false)) {
    ahead_.ranges_pace_.Began();
    ++next_.position;
  }
  for (; left_ > 0; --left_, ++next_.position) {
    if (next_.position >= job_.positions()) {
      if (next_.epoch >= known_.requested.furthest.epoch) break;
      next_ = {next_.epoch + 1, 0};
    }
    std::optional<plan::EpochOrder>& plan = ahead_.plan_;
    if (!plan.has_value() || plan->epoch() != next_.epoch) plan = job_.PlanOf(next_.epoch);
    if (next_ >= ahead_.shuffled_upto_) {
      if (next_ > horizon_.begin) break;
      ahead_.shuffled_upto_ = {next_.epoch, plan->ShuffledUpTo(next_.position)};
    }
    // Chunks, whose records are spread over one window, are fetched whole: a window that was started continues to its
    // end.
    const Place window_end = horizon_.whole_chunks ? ahead_.shuffled_upto_ : Place{};
    if (next_ > std::min(horizon_.end, std::max(horizon_.begin, window_end))) break;
    const uint64_t record = plan->RecordAt(next_.position);
    if (!Wants(next_, record)) continue;
    if (WaitsForShard(record)) {
      ahead_.ranges_pace_.BeganNothing();
      break;
    }
    const Place along = std::min(horizon_.end, std::max(horizon_.along, window_end));
    std::optional<RangeRead> range = RangeAround(record, along);
    if (!range.has_value()) continue;
    --left_;
    ahead_.returned_ = true;
    return range;
  }
  left_ = 0;
  return std::nullopt;
}

void ReadAhead::RangeLook::NotBegun() {
  ahead_.returned_ = false;
  ahead_.ranges_pace_.BeganNothing();
}

void ReadAhead::RangeLook::OpenShards() {
  Place place = next_;
  for (int looked = 0; looked < kPositionsAtOnce && place.position < job_.positions(); ++looked, ++place.position) {
    const uint64_t record = ahead_.plan_->RecordAt(place.position);
    if (Wants(place, record) && !records_.IsOpen(record)) records_.Open(record);
  }
}

bool ReadAhead::RangeLook::WaitsForShard(uint64_t record) {
  Nanos& since = ahead_.waits_since_;
  if (records_.IsOpen(record)) {
    since = 0;
    return false;
  }
  records_.Open(record);
  if (known_.now < ahead_.no_waits_until_) return false;
  if (since == 0) {
    OpenShards();
    since = known_.now;
  }
  if (known_.now - since < kLongestWait) return true;
  // The rows of other shards must not wait for this one.
  since = 0;
  ahead_.no_waits_until_ = known_.now + kNoWaits;
  return false;
}

std::optional<RangeRead> ReadAhead::RangeLook::RangeAround(uint64_t record, const Place& along) const {
  const sources::RecordRef ref = job_.reader().snapshot().ToShard(record);
  const std::shared_ptr<const sources::ShardIndex> index = records_.IndexOf(ref.shard);
  if (index == nullptr) return std::nullopt;
  const plan::EpochOrder& plan = *ahead_.plan_;
  const uint64_t pass = plan.PassAt(next_.position);
  RangeRead range;
  range.shard = ref.shard;
  range.shard_first = record - ref.record;
  range.end = next_;
  range.wanted.push_back(ref.record);
  std::vector<std::pair<uint64_t, uint64_t>> also;  // record, position
  const auto wanted = [&](uint64_t number) {
    const uint64_t other = range.shard_first + number;
    const std::optional<uint64_t> position = plan.PositionOf(other, pass);
    if (!position.has_value()) return false;
    const Place place{next_.epoch, *position};
    if (place <= next_ || place > along || !Wants(place, other)) return false;
    also.emplace_back(number, place.position);
    return true;
  };
  range.records = PlanRange(*index, ref.record, wanted, ahead_.limits_);
  if (range.records.wanted < 2 || range.records.bytes > ahead_.limits_.most_bytes) return std::nullopt;
  for (const auto& [number, position] : also) {
    if (number < range.records.first || number >= range.records.first + range.records.count) continue;
    range.wanted.push_back(number);
    range.end.position = std::max(range.end.position, position);
  }
  return range;
}

}  // namespace penstock::loader
