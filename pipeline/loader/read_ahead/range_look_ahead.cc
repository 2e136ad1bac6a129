// Decides how far ahead records are examined, in which order, and which of them are fetched together.
#include <algorithm>
#include <utility>

#include "pipeline/loader/read_ahead/record_ranges.h"
#include "pipeline/loader/read_ahead/record_ranges_parts.h"

namespace penstock {
namespace {

using Place = RequestedSpan::Place;

// Records of rows that start soon are fetched alone; a range would be too late for them.
constexpr uint64_t kLead = 64;
// Positions to examine beyond the requested rows: the number of rows that the session has requested so far, times
// kAheadTimes, and kLeastAhead. A session that reads ten steps should not pay for an epoch.
constexpr uint64_t kLeastAhead = 1024, kAheadTimes = 4;
constexpr int kLookedAtOnce = 256;  // positions per call
constexpr int kCallsToPass = 16;    // calls to skip if there is no memory or a shard is not open
// Longest wait for a shard to open, and the time without further waits after a wait that long.
constexpr Nanos kLongestWait = kSecond, kNoWaits = 10 * kSecond;

}  // namespace

void RequestedSpan::Add(const std::vector<RowRequest>& more) {
  for (const RowRequest& row : more) {
    const Place place{row.epoch, row.position};
    if (rows++ == 0) first = furthest = place;
    furthest = std::max(furthest, place);
  }
}

RecordRanges::Horizon RecordRanges::HorizonOf(const Session& session, const Place& at, const Place& first,
                                              const RequestedSpan& requested, uint64_t stride, uint64_t room) {
  const uint64_t positions = std::max<uint64_t>(1, session.job->positions());
  const auto behind = [&](const Place& from, uint64_t rows) {
    const uint64_t end = from.position + stride * rows;
    return Place{from.epoch + end / positions, end % positions};
  };
  // A record beyond the memory would only displace records that are needed sooner. A record occupies whole pages, which
  // is a little more than its size.
  const Snapshot& snapshot = session.job->reader().snapshot();
  const uint64_t record_bytes = snapshot.data_bytes() / std::max<uint64_t>(1, snapshot.total_records()) + 1;
  const uint64_t records = room / (record_bytes + record_bytes / 8);
  // A range begins a little before the end, so that it can include further records. With little memory, the session
  // starts one range at a time.
  Horizon horizon;
  horizon.begin = std::max(behind(at, records - records / 4), first);
  horizon.along = std::max(behind(at, records), behind(first, kLead));
  const PlanOptions& order = session.job->plan_options();
  const uint64_t window = std::min(uint64_t{order.chunk_records} * order.window_chunks, snapshot.total_records());
  horizon.whole_chunks = order.shuffle == Shuffle::kChunked && window <= 2 * stride * records;
  horizon.end = {requested.furthest.epoch,
                 requested.furthest.position + stride * (kLeastAhead + kAheadTimes * requested.rows)};
  return horizon;
}

void RecordRanges::OpenShards(const Session& session, const LoadJob& job, const ExpectedRows& expected) const {
  Place place = session.next;
  for (int looked = 0; looked < kLookedAtOnce && place.position < job.positions(); ++looked, ++place.position) {
    const uint64_t record = session.plan->RecordAt(place.position);
    if (!expected.Covers(place.epoch, place.position, record) || options_.cached(job, record)) continue;
    if (!job.reader().IsReady(record)) job.reader().WillRead(record);
  }
}

bool RecordRanges::WaitsForShard(Session* session, const LoadJob& job, uint64_t record,
                                 const ExpectedRows& expected) const {
  if (job.reader().IsReady(record)) {
    session->waits_since = 0;
    return false;
  }
  job.reader().WillRead(record);
  const Nanos now = options_.clock->Now();
  if (now < session->no_waits_until) return false;
  if (session->waits_since == 0) {
    OpenShards(*session, job, expected);
    session->waits_since = now;
  }
  if (now - session->waits_since < kLongestWait) return true;
  // The rows of other shards must not wait for this one.
  session->waits_since = 0;
  session->no_waits_until = now + kNoWaits;
  return false;
}

void RecordRanges::LookAhead(uint64_t id, const RowRequest& now, const RequestedSpan& requested,
                             const ExpectedRows& expected, uint64_t room) {
  if (under_way_.load(std::memory_order_relaxed) >= options_.most_under_way) return;
  const Place at{now.epoch, now.position};
  std::shared_ptr<Session> session;
  {
    Dropped dropped;
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = found->second;
    session->looks_ahead = true;
    room /= static_cast<uint64_t>(
        std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) { return entry.second->looks_ahead; }));
    // Drop ranges whose rows have passed without taking their records. Those rows were made without them, for example
    // from a cache.
    while (!session->by_end.empty()) {
      const auto [end, range] = *session->by_end.begin();
      const bool gone_by = end.epoch < at.epoch ? at.position > kLeastAhead
                                                : end.epoch == at.epoch && end.position + kLeastAhead < at.position;
      if (!gone_by) break;
      Drop(range);
      dropped.Add(range);
    }
  }
  if (session->looking.exchange(true)) return;
  const auto leave = [&] { session->looking.store(false); };
  if (session->pass > 0) {
    --session->pass;
    return leave();
  }
  const LoadJob& job = *session->job;
  // A session that reads a part of the rows advances by more than one position per row.
  const uint64_t positions = job.positions();
  const uint64_t passed = (requested.furthest.epoch - requested.first.epoch) * positions + requested.furthest.position -
                          requested.first.position;
  const uint64_t rows = std::max<uint64_t>(1, requested.rows);
  const uint64_t stride = std::max<uint64_t>(1, (passed + rows / 2) / rows);
  Place first{at.epoch, at.position + kLead * stride};
  if (requested.alone.has_value())
    first = std::max(first, Place{requested.alone->epoch, requested.alone->position + 1});
  Place& next = session->next;
  next = std::max(next, first);
  const Horizon horizon = HorizonOf(*session, at, first, requested, stride, room);
  for (int looked = 0; looked < kLookedAtOnce; ++looked) {
    if (next.position >= positions) {
      if (next.epoch >= requested.furthest.epoch) break;
      next = {next.epoch + 1, 0};
    }
    if (!session->plan.has_value() || session->plan->epoch() != next.epoch) session->plan = job.PlanOf(next.epoch);
    if (next >= session->shuffled_upto) {
      if (next > horizon.begin) break;
      session->shuffled_upto = {next.epoch, session->plan->ShuffledUpTo(next.position)};
    }
    // Chunks, whose records are spread over one window, are fetched whole: a window that was started continues to its
    // end.
    const Place window_end = horizon.whole_chunks ? session->shuffled_upto : Place{};
    if (next > std::min(horizon.end, std::max(horizon.begin, window_end))) break;
    const Place along = std::min(horizon.end, std::max(horizon.along, window_end));
    const uint64_t record = session->plan->RecordAt(next.position);
    if (expected.Covers(next.epoch, next.position, record) && !options_.cached(job, record) &&
        !Has({job.record_space(), record})) {
      if (WaitsForShard(session.get(), job, record, expected)) {
        session->pass = kCallsToPass;
        break;
      }
      if (!Reserve()) break;
      const std::shared_ptr<Range> range = Plan(session.get(), record, along, expected);
      if (range != nullptr) range->session = session;
      if (range == nullptr || !Begin(session.get(), id, range)) {
        under_way_.fetch_sub(1);
        if (range == nullptr) {
          ++next.position;
          continue;
        }
        session->pass = kCallsToPass;
        break;
      }
    }
    ++next.position;
    if (under_way_.load(std::memory_order_relaxed) >= options_.most_under_way) break;
  }
  leave();
}

std::shared_ptr<RecordRanges::Range> RecordRanges::Plan(Session* session, uint64_t record, const Place& along,
                                                        const ExpectedRows& expected) {
  const LoadJob& job = *session->job;
  const RecordRef ref = job.reader().snapshot().ToShard(record);
  std::shared_ptr<const ShardReader> reader = job.reader().ReaderOfRanges(ref.shard);
  if (reader == nullptr) return nullptr;
  const EpochPlan& plan = *session->plan;
  const Place& next = session->next;
  const uint16_t repeat = plan.RepeatAt(next.position);
  const uint64_t shard_first = record - ref.record;
  auto range = std::make_shared<Range>();
  range->end = next;
  range->wanted.push_back(ref.record);
  std::vector<std::pair<uint64_t, uint64_t>> also;  // record, position
  const auto wanted = [&](uint64_t number) {
    const uint64_t other = shard_first + number;
    const Place place{next.epoch, plan.PositionOf(other, repeat)};
    if (place <= next || place > along || !expected.Covers(place.epoch, place.position, other)) return false;
    if (options_.cached(job, other) || Has({job.record_space(), other})) return false;
    also.emplace_back(number, place.position);
    return true;
  };
  range->records = PlanRange(reader->index(), ref.record, wanted, options_.limits);
  if (range->records.wanted < 2 || range->records.bytes > options_.limits.most_bytes) return nullptr;
  for (const auto& [number, position] : also) {
    if (number < range->records.first || number >= range->records.first + range->records.count) continue;
    range->wanted.push_back(number);
    range->end.position = std::max(range->end.position, position);
  }
  range->job = session->job;
  range->reader = std::move(reader);
  range->shard_first = shard_first;
  return range;
}

}  // namespace penstock
