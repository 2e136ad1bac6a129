#include "pipeline/loader/ranges/record_ranges.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

using Place = AskedRows::Place;

// Rows that are about to begin have their records brought alone: a range for them would come too late.
constexpr uint64_t kLead = 64;
// How far beyond what was asked for records are looked at: what a session has had so far, times this, and a little. Who
// reads ten steps is not to pay for an epoch.
constexpr uint64_t kLeastAhead = 1024, kAheadTimes = 4;
constexpr int kLookedAtOnce = 256;  // positions, of one call
constexpr int kCallsToPass = 16;    // where there is no memory, or a shard is not open, before it is tried again
// For a shard to open; and where that took too long, how long others are not waited for.
constexpr Nanos kLongestWait = kSecond, kNoWaits = 10 * kSecond;
// Small records share a block of about so many bytes, and their pages.
constexpr uint64_t kBlockBytes = 32 << 10;
// Fewer bytes that nobody wants, between records that share one, are taken into it.
constexpr uint64_t kSkippedFrom = 4 << 10;

}  // namespace

void AskedRows::Add(const std::vector<RowRequest>& more) {
  for (const RowRequest& row : more) {
    const Place place{row.epoch, row.position};
    if (rows++ == 0) first = furthest = place;
    furthest = std::max(furthest, place);
  }
}

struct RecordRanges::Session {
  explicit Session(std::shared_ptr<std::atomic<uint64_t>> kept)
      : memory(std::make_shared<RangeMemory>(std::move(kept))) {}

  std::shared_ptr<const LoadJob> job;
  std::stop_token stop;
  const std::shared_ptr<RangeMemory> memory;
  // Of the call of LookAhead that is at it.
  std::atomic<bool> looking{false};
  std::optional<EpochPlan> plan;
  Place next;             // to be looked at
  int pass = 0;           // calls that are not to try
  Place shuffled_upto;    // of it: EpochPlan::ShuffledUpTo
  Nanos waits_since = 0;  // for a shard to open; 0: it does not
  Nanos no_waits_until = 0;
  // Of the table's mutex: its ranges, by where the last of their records is wanted.
  std::multimap<Place, std::shared_ptr<Range>> by_end;
  bool far = false;  // its rows have been looked ahead for
  bool closed = false;
};

// Memory of records that lie one behind the other.
struct RecordRanges::Block {
  Block(std::shared_ptr<RecordRanges> ranges, std::shared_ptr<RangeMemory> from, RangeMemory::Block block,
        uint64_t begins, uint64_t length)
      : of(std::move(ranges)), memory(std::move(from)), in(std::move(block)), begin(begins), bytes(length) {}
  ~Block() {
    // Whom `wanted` asks lives as long as any of its grabs, and this one's may go.
    const std::shared_ptr<BudgetGrab::Owner> stays = in.grab->owner();
    memory->Give(std::move(in));
    // In this order: who begins to wait for memory looks at what is kept.
    if (of->options_.wanted()) of->GiveKeptBack(UINT64_MAX);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<RecordRanges> of;
  const std::shared_ptr<RangeMemory> memory;
  RangeMemory::Block in;
  const uint64_t begin, bytes;  // in its range
  // Of the table's mutex: records that nobody has taken; whether one was.
  size_t left = 0;
  bool taken = false;
};

struct RecordRanges::Range {
  std::weak_ptr<Session> session;
  std::shared_ptr<const LoadJob> job;
  std::shared_ptr<const ShardReader> reader;
  uint64_t shard_first = 0;  // the number in the snapshot of the shard's first record
  RecordRange records;
  std::vector<uint64_t> wanted;  // numbers in the shard; rising once it has begun
  Place end;                     // where the last of them is wanted
  Nanos begun = 0, took = 0;
  // While it is under way; from then on those who have a record have its block.
  std::vector<std::shared_ptr<Block>> blocks;
  std::stop_source stop;  // of the read; its session's, too
  struct Stop {
    std::stop_source source;
    void operator()() const { std::stop_source(source).request_stop(); }  // which may end the range, and this
  };
  std::optional<std::stop_callback<Stop>> with_session;
  // Of the table's mutex:
  bool here = false;
  size_t left = 0;     // records in the table
  uint64_t freed = 0;  // bytes of blocks that go with it, once it was dropped
  std::vector<Task> waiting;

  uint64_t OffsetOf(uint64_t number) const { return reader->index().RangeBytes(records.first, number - records.first); }
};

// Ranges that were dropped. They go outside the lock; what is under way of them is broken off, which a storage may do
// inside the call.
class RecordRanges::Dropped {
 public:
  ~Dropped() {
    for (const auto& range : ranges_) range->stop.request_stop();
  }
  void Add(std::shared_ptr<Range> range) { ranges_.push_back(std::move(range)); }

 private:
  std::vector<std::shared_ptr<Range>> ranges_;
};

void RecordRanges::OpenSession(uint64_t id, std::shared_ptr<const LoadJob> job, std::stop_token stop) {
  auto session = std::make_shared<Session>(kept_);
  session->job = std::move(job);
  session->stop = std::move(stop);
  MutexLock lock(&mutex_);
  sessions_.emplace(id, std::move(session));
}

void RecordRanges::CloseSession(uint64_t id) {
  std::shared_ptr<Session> session;
  {
    Dropped dropped;
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = std::move(found->second);
    sessions_.erase(found);
    session->closed = true;
    while (!session->by_end.empty()) {
      const std::shared_ptr<Range> range = session->by_end.begin()->second;
      Drop(range);
      dropped.Add(range);
    }
  }
  session->memory->Close();
}

void RecordRanges::Drop(const std::shared_ptr<Range>& range) {
  for (const uint64_t number : range->wanted) {
    const auto entry = records_.find({range->job->record_space(), range->shard_first + number});
    if (entry == records_.end() || entry->second.range != range) continue;
    Block& block = *entry->second.block;
    if (--block.left == 0 && !block.taken) range->freed += block.in.bytes;
    range->blocks.push_back(std::move(entry->second.block));
    records_.erase(entry);
  }
  range->left = 0;
  const std::shared_ptr<Session> session = range->session.lock();
  if (session == nullptr) return;
  const auto [begin, end] = session->by_end.equal_range(range->end);
  const auto own = std::find_if(begin, end, [&](const auto& entry) { return entry.second == range; });
  if (own != end) session->by_end.erase(own);
}

bool RecordRanges::Has(const CacheKey& key) {
  MutexLock lock(&mutex_);
  return records_.contains(key);
}

RecordRanges::Horizon RecordRanges::HorizonOf(const Session& session, const Place& at, const Place& first,
                                              const AskedRows& asked, uint64_t stride, uint64_t room) {
  const uint64_t positions = std::max<uint64_t>(1, session.job->positions());
  const auto behind = [&](const Place& from, uint64_t rows) {
    const uint64_t end = from.position + stride * rows;
    return Place{from.epoch + end / positions, end % positions};
  };
  // What is wanted later than memory lasts would only keep out what is wanted sooner. A record takes a little more than
  // it has, in whole pages.
  const Snapshot& snapshot = session.job->reader().snapshot();
  const uint64_t record_bytes = snapshot.data_bytes() / std::max<uint64_t>(1, snapshot.total_records()) + 1;
  const uint64_t records = room / (record_bytes + record_bytes / 8);
  // A range begins a little before the end, so that there is something for it to take along; with little memory one at
  // a time.
  Horizon horizon;
  horizon.begin = std::max(behind(at, records - records / 4), first);
  horizon.along = std::max(behind(at, records), behind(first, kLead));
  const PlanOptions& order = session.job->plan_options();
  const uint64_t window = std::min(uint64_t{order.chunk_records} * order.window_chunks, snapshot.total_records());
  horizon.whole_chunks = order.shuffle == Shuffle::kChunked && window <= 2 * stride * records;
  horizon.end = {asked.furthest.epoch, asked.furthest.position + stride * (kLeastAhead + kAheadTimes * asked.rows)};
  return horizon;
}

void RecordRanges::OpenShards(const Session& session, const LoadJob& job, WillAsk will_ask) const {
  Place place = session.next;
  for (int looked = 0; looked < kLookedAtOnce && place.position < job.positions(); ++looked, ++place.position) {
    const uint64_t record = session.plan->RecordAt(place.position);
    if (!will_ask(place.epoch, place.position, record) || options_.cached(job, record)) continue;
    if (!job.reader().IsReady(record)) job.reader().WillRead(record);
  }
}

bool RecordRanges::WaitsForShard(Session* session, const LoadJob& job, uint64_t record, WillAsk will_ask) const {
  if (job.reader().IsReady(record)) {
    session->waits_since = 0;
    return false;
  }
  job.reader().WillRead(record);
  const Nanos now = options_.clock->Now();
  if (now < session->no_waits_until) return false;
  if (session->waits_since == 0) {
    OpenShards(*session, job, will_ask);
    session->waits_since = now;
  }
  if (now - session->waits_since < kLongestWait) return true;
  // The rows of others are not to wait for it.
  session->waits_since = 0;
  session->no_waits_until = now + kNoWaits;
  return false;
}

void RecordRanges::LookAhead(uint64_t id, const RowRequest& now, const AskedRows& asked, uint64_t room,
                             WillAsk will_ask) {
  if (under_way_.load(std::memory_order_relaxed) >= options_.most_under_way) return;
  const Place at{now.epoch, now.position};
  std::shared_ptr<Session> session;
  {
    Dropped dropped;
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = found->second;
    session->far = true;
    room /= static_cast<uint64_t>(
        std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) { return entry.second->far; }));
    // What rows have gone by without having taken it: others made them.
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
  // A session that has a part of the rows alone goes through positions in longer steps.
  const uint64_t positions = job.positions();
  const uint64_t passed =
      (asked.furthest.epoch - asked.first.epoch) * positions + asked.furthest.position - asked.first.position;
  const uint64_t rows = std::max<uint64_t>(1, asked.rows);
  const uint64_t stride = std::max<uint64_t>(1, (passed + rows / 2) / rows);
  Place first{at.epoch, at.position + kLead * stride};
  if (asked.alone.has_value()) first = std::max(first, Place{asked.alone->epoch, asked.alone->position + 1});
  Place& next = session->next;
  next = std::max(next, first);
  const Horizon horizon = HorizonOf(*session, at, first, asked, stride, room);
  for (int looked = 0; looked < kLookedAtOnce; ++looked) {
    if (next.position >= positions) {
      if (next.epoch >= asked.furthest.epoch) break;
      next = {next.epoch + 1, 0};
    }
    if (!session->plan.has_value() || session->plan->epoch() != next.epoch) session->plan = job.PlanOf(next.epoch);
    if (next >= session->shuffled_upto) {
      if (next > horizon.begin) break;
      session->shuffled_upto = {next.epoch, session->plan->ShuffledUpTo(next.position)};
    }
    // Chunks, whose records are anywhere in one window, come whole: a window that was begun goes on to its end.
    const Place window_end = horizon.whole_chunks ? session->shuffled_upto : Place{};
    if (next > std::min(horizon.end, std::max(horizon.begin, window_end))) break;
    const Place along = std::min(horizon.end, std::max(horizon.along, window_end));
    const uint64_t record = session->plan->RecordAt(next.position);
    if (will_ask(next.epoch, next.position, record) && !options_.cached(job, record) &&
        !Has({job.record_space(), record})) {
      if (WaitsForShard(session.get(), job, record, will_ask)) {
        session->pass = kCallsToPass;
        break;
      }
      if (!Reserve()) break;
      const std::shared_ptr<Range> range = Plan(session.get(), record, along, will_ask);
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

bool RecordRanges::Reserve() {
  int now = under_way_.load(std::memory_order_relaxed);
  while (now < options_.most_under_way) {
    if (under_way_.compare_exchange_weak(now, now + 1)) return true;
  }
  return false;
}

std::shared_ptr<RecordRanges::Range> RecordRanges::Plan(Session* session, uint64_t record, const Place& along,
                                                        WillAsk will_ask) {
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
    if (place <= next || place > along || !will_ask(place.epoch, place.position, other)) return false;
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

bool RecordRanges::Allocate(Session* session, uint64_t id, Range* range, std::vector<ReadPart>* parts) {
  const ShardIndex& index = range->reader->index();
  struct Piece {
    uint64_t begin = 0, end = 0;
    RangeMemory::Block block = {};
  };
  std::vector<Piece> pieces;
  std::sort(range->wanted.begin(), range->wanted.end());
  for (const uint64_t number : range->wanted) {
    const uint64_t begin = range->OffsetOf(number), end = begin + index.FramedLength(number);
    const bool joins = !pieces.empty() && pieces.back().end - pieces.back().begin < kBlockBytes &&
                       begin - pieces.back().end < kSkippedFrom && end - pieces.back().begin <= 2 * kBlockBytes;
    if (joins) {
      pieces.back().end = end;
    } else {
      pieces.push_back({begin, end});
    }
  }
  RangeMemory& memory = *session->memory;
  uint64_t lacks = 0;
  for (Piece& piece : pieces) {
    piece.block = memory.TakeKept(piece.end - piece.begin);
    if (piece.block.data == nullptr) lacks += RangeMemory::Takes(piece.end - piece.begin);
  }
  std::unique_ptr<BudgetGrab> grab;
  if (lacks > 0) {
    grab = options_.hold(id, lacks);
    // What is kept fits nothing of this range; less than it lacks may fit the next one.
    if (grab == nullptr && memory.kept() >= lacks && memory.GiveBack(lacks) > 0) grab = options_.hold(id, lacks);
    // Nor is it to lie idle with another session.
    if (grab == nullptr && kept() >= lacks && GiveKeptBack(lacks) > 0) grab = options_.hold(id, lacks);
  }
  bool all = lacks == 0 || grab != nullptr;
  uint64_t at = 0;
  for (Piece& piece : pieces) {
    const uint64_t length = piece.end - piece.begin;
    if (all && piece.block.data == nullptr) piece.block = memory.Take(length, grab->Split(RangeMemory::Takes(length)));
    if (piece.block.data == nullptr) {
      all = false;
      continue;
    }
    if (piece.begin > at) parts->push_back({nullptr, piece.begin - at});
    parts->push_back({piece.block.data, length});
    at = piece.end;
    range->blocks.push_back(
        std::make_shared<Block>(shared_from_this(), session->memory, std::move(piece.block), piece.begin, length));
  }
  return all;
}

bool RecordRanges::Begin(Session* session, uint64_t id, const std::shared_ptr<Range>& range) {
  std::vector<ReadPart> parts;
  if (!Allocate(session, id, range.get(), &parts)) return false;
  range->begun = options_.clock->Now();
  {
    MutexLock lock(&mutex_);
    if (session->closed) return false;
    size_t in = 0;  // the block of the record
    for (const uint64_t number : range->wanted) {
      const uint64_t offset = range->OffsetOf(number);
      while (offset >= range->blocks[in]->begin + range->blocks[in]->bytes) ++in;
      const CacheKey key{range->job->record_space(), range->shard_first + number};
      // Another session has begun a range with it meanwhile: one is enough.
      const auto [entry, added] = records_.try_emplace(key);
      if (!added) continue;
      entry->second = {range, range->blocks[in], number};
      ++range->blocks[in]->left;
      ++range->left;
    }
    session->by_end.emplace(range->end, range);
  }
  ranges_.fetch_add(1, std::memory_order_relaxed);
  range->with_session.emplace(session->stop, Range::Stop{range->stop});
  range->reader->ReadBytesLater(
      range->records.first, range->records.count, std::move(parts),
      {.priority = CallPriority::kAhead, .stop = range->stop.get_token()},
      [self = shared_from_this(), range](const absl::Status& status) { self->Over(range, status.ok()); });
  return true;
}

void RecordRanges::Over(const std::shared_ptr<Range>& range, bool ok) {
  std::vector<Task> waiting;
  std::vector<std::shared_ptr<Block>> blocks;  // go outside the lock
  if (ok) bytes_.fetch_add(range->records.bytes, std::memory_order_relaxed);
  {
    MutexLock lock(&mutex_);
    waiting = std::move(range->waiting);
    range->here = ok;
    range->took = options_.clock->Now() - range->begun;
    if (!ok) Drop(range);
    blocks = std::move(range->blocks);
  }
  under_way_.fetch_sub(1);
  for (Task& task : waiting) std::move(task)();
  if (options_.ended) options_.ended();
}

std::unique_ptr<RecordRanges::Taken> RecordRanges::Take(const LoadJob& job, uint64_t record) {
  std::unique_ptr<Taken> taken(new Taken());
  std::shared_ptr<Range> range;
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    const auto found = records_.find({job.record_space(), record});
    if (found == records_.end() || !found->second.range->here) return nullptr;
    range = std::move(found->second.range);
    taken->block_ = std::move(found->second.block);
    number = found->second.number;
    records_.erase(found);
    --taken->block_->left;
    taken->block_->taken = true;
    if (--range->left == 0) Drop(range);
  }
  taken->took_ = range->took / static_cast<Nanos>(range->wanted.size());
  const Block& block = *taken->block_;
  taken->bytes_ =
      job.reader().RecordOfRange(record, *range->reader, block.in.data + (range->OffsetOf(number) - block.begin));
  return taken;
}

bool RecordRanges::WhenOver(const LoadJob& job, uint64_t record, Task over) {
  {
    MutexLock lock(&mutex_);
    const auto found = records_.find({job.record_space(), record});
    if (found == records_.end()) return false;
    if (!found->second.range->here) {
      found->second.range->waiting.push_back(std::move(over));
      return true;
    }
  }
  std::move(over)();
  return true;
}

std::shared_ptr<RecordRanges::Range> RecordRanges::DropLast(bool here) {
  std::shared_ptr<Range> last;
  for (const auto& [id, session] : sessions_) {
    for (auto it = session->by_end.rbegin(); it != session->by_end.rend(); ++it) {
      if (it->second->here != here) continue;
      if (last == nullptr || last->end < it->first) last = it->second;
      break;
    }
  }
  if (last != nullptr) Drop(last);
  return last;
}

uint64_t RecordRanges::GiveKeptBack(uint64_t bytes) {
  std::vector<std::shared_ptr<Session>> sessions;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  uint64_t freed = 0;
  for (const auto& session : sessions) {
    if (freed < bytes) freed += session->memory->GiveBack(bytes - freed);
  }
  return freed;
}

uint64_t RecordRanges::GiveBack(uint64_t bytes) {
  uint64_t freed = GiveKeptBack(bytes);
  Dropped dropped;
  MutexLock lock(&mutex_);
  while (freed < bytes) {
    std::shared_ptr<Range> last = DropLast(true);
    if (last == nullptr) break;
    freed += last->freed;
    dropped.Add(std::move(last));
  }
  return freed;
}

void RecordRanges::BreakOff(uint64_t bytes) {
  Dropped dropped;
  MutexLock lock(&mutex_);
  for (uint64_t coming = 0; coming < bytes;) {
    std::shared_ptr<Range> last = DropLast(false);
    if (last == nullptr) break;
    coming += last->freed;
    dropped.Add(std::move(last));
  }
}

}  // namespace penstock
