#include "pipeline/loader/read_ahead/record_ranges.h"

#include <algorithm>
#include <utility>

#include "pipeline/loader/read_ahead/record_ranges_parts.h"

namespace penstock::loader {
namespace {

// Small records share a block of about this size, and its pages.
constexpr uint64_t kBlockBytes = 32 << 10;
// A block may contain unwanted bytes between its records if they are fewer than this.
constexpr uint64_t kSkippedFrom = 4 << 10;

}  // namespace

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

bool RecordRanges::Reserve() {
  int now = under_way_.load(std::memory_order_relaxed);
  while (now < options_.most_under_way) {
    if (under_way_.compare_exchange_weak(now, now + 1)) return true;
  }
  return false;
}

bool RecordRanges::Has(const cache::CacheKey& key) {
  MutexLock lock(&mutex_);
  return records_.contains(key);
}

// The records of a session's job, for ReadAhead.
class RecordRanges::JobRecords final : public ReadAhead::Records {
 public:
  JobRecords(RecordRanges* ranges, const LoadJob& job) : ranges_(*ranges), job_(job) {}
  bool Has(uint64_t record) const override {
    return ranges_.options_.cached(job_, record) || ranges_.Has({job_.record_space(), record});
  }
  bool IsOpen(uint64_t record) const override { return job_.reader().IsReady(record); }
  void Open(uint64_t record) override { job_.reader().WillRead(record); }
  std::shared_ptr<const sources::ShardIndex> IndexOf(uint32_t shard) const override {
    const std::shared_ptr<const sources::ShardReader> reader = job_.reader().ReaderOfRanges(shard);
    if (reader == nullptr) return nullptr;
    return {reader, &reader->index()};
  }

 private:
  RecordRanges& ranges_;
  const LoadJob& job_;
};

void RecordRanges::LookAhead(uint64_t id, ReadAhead* ahead, ReadAhead::Known known) {
  const auto has_slot = [&] { return under_way_.load(std::memory_order_relaxed) < options_.most_under_way; };
  if (!has_slot()) return;
  std::shared_ptr<Session> session;
  {
    Dropped dropped;
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = found->second;
    session->looks_ahead = true;
    known.bytes /= static_cast<uint64_t>(
        std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) { return entry.second->looks_ahead; }));
    while (!session->by_end.empty()) {
      const auto [end, range] = *session->by_end.begin();
      if (!ReadAhead::HavePassed(end, known.at)) break;
      Drop(range);
      dropped.Add(range);
    }
  }
  const ReadAhead::Turn turn(ahead);
  if (!turn.granted()) return;
  JobRecords records(this, *session->job);
  ReadAhead::RangeLook look(ahead, known, &records);
  while (has_slot()) {
    std::optional<RangeRead> range = look.Next();
    if (!range.has_value()) break;
    if (!Begin(session, id, *std::move(range))) {
      look.NotBegun();
      break;
    }
  }
}

bool RecordRanges::Allocate(Session* session, uint64_t id, Range* range, std::vector<ReadPart>* parts) {
  const sources::ShardIndex& index = range->reader->index();
  struct Piece {
    uint64_t begin = 0, end = 0;
    RangeMemory::Block block = {};
  };
  std::vector<Piece> pieces;
  std::sort(range->wanted.begin(), range->wanted.end());
  for (const uint64_t number : range->wanted) {
    const uint64_t begin = range->OffsetOf(number), end = begin + index.StoredBytes(number);
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
    piece.block = memory.AcquireKept(piece.end - piece.begin);
    if (piece.block.data == nullptr) lacks += RangeMemory::Takes(piece.end - piece.begin);
  }
  std::unique_ptr<BudgetLease> lease;
  if (lacks > 0) {
    lease = options_.reserve(id, lacks);
    // No cached block fits this range. If they are at least as large as the missing memory, release them.
    if (lease == nullptr && memory.kept() >= lacks && memory.ReleaseKept(lacks) > 0)
      lease = options_.reserve(id, lacks);
    // Release cached blocks of other sessions as well.
    if (lease == nullptr && kept() >= lacks && ReleaseKept(lacks) > 0) lease = options_.reserve(id, lacks);
  }
  bool all = lacks == 0 || lease != nullptr;
  uint64_t at = 0;
  for (Piece& piece : pieces) {
    const uint64_t length = piece.end - piece.begin;
    if (all && piece.block.data == nullptr)
      piece.block = memory.Acquire(length, lease->Split(RangeMemory::Takes(length)));
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

bool RecordRanges::Begin(const std::shared_ptr<Session>& session, uint64_t id, RangeRead read) {
  if (!Reserve()) return false;
  const auto range = std::make_shared<Range>(std::move(read));
  range->session = session;
  range->job = session->job;
  range->reader = session->job->reader().ReaderOfRanges(range->shard);
  std::vector<ReadPart> parts;
  const auto fails = [this] {
    under_way_.fetch_sub(1);
    return false;
  };
  if (range->reader == nullptr || !Allocate(session.get(), id, range.get(), &parts)) return fails();
  range->begun = options_.clock->Now();
  {
    MutexLock lock(&mutex_);
    if (session->closed) return fails();
    size_t in = 0;  // index of the block with the record
    for (const uint64_t number : range->wanted) {
      const uint64_t offset = range->OffsetOf(number);
      while (offset >= range->blocks[in]->begin + range->blocks[in]->bytes) ++in;
      const cache::CacheKey key{range->job->record_space(), range->shard_first + number};
      // Another session has started a range with this record meanwhile. Use that one.
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
      {.priority = storage::CallPriority::kAhead, .stop = range->stop.get_token()},
      [self = shared_from_this(), range](const absl::Status& status) { self->Over(range, status.ok()); });
  return true;
}

void RecordRanges::Over(const std::shared_ptr<Range>& range, bool ok) {
  std::vector<Task> waiting;
  std::vector<std::shared_ptr<Block>> blocks;  // destroyed after the lock is released
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
  taken->bytes_ = job.reader().RecordOfRange(
      record, *range->reader, block.in.data + (range->OffsetOf(number) - block.begin), &taken->with_head_);
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

uint64_t RecordRanges::ReleaseKept(uint64_t bytes) {
  std::vector<std::shared_ptr<Session>> sessions;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, session] : sessions_) sessions.push_back(session);
  }
  uint64_t freed = 0;
  for (const auto& session : sessions) {
    if (freed < bytes) freed += session->memory->ReleaseKept(bytes - freed);
  }
  return freed;
}

uint64_t RecordRanges::Release(uint64_t bytes) {
  uint64_t freed = ReleaseKept(bytes);
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

}  // namespace penstock::loader
