#include "pipeline/loader/read_ahead/small_records.h"

#include <algorithm>
#include <utility>

#include "pipeline/sources/shard_reader.h"

namespace penstock::loader {
namespace {

// Returns how many neighbors the order of a job needs within one window, or 0 if it scatters them or they are large.
uint64_t NeighborsOf(const LoadJob& job) {
  const sources::Snapshot& snapshot = job.reader().snapshot();
  if (snapshot.data_bytes() > snapshot.total_records() * SmallRecords::kMostBytes) return 0;
  const plan::PlanOptions& options = job.plan_options();
  if (job.order().groups() != nullptr || options.shuffle == plan::Shuffle::kFull) return 0;
  if (options.shuffle == plan::Shuffle::kNone) return SmallRecords::kMostRecords;
  return std::min<uint64_t>(options.chunk_records, SmallRecords::kMostRecords);
}

}  // namespace

// Neighboring records of a shard, from one read.
struct SmallRecords::Neighbors {
  cache::CacheKey key;
  uint64_t session = 0;
  std::shared_ptr<const sources::ShardReader> reader;
  uint64_t first = 0;  // number in the shard of the first record
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<BudgetLease> lease;
  uint64_t left = 0;  // records that no row has taken. Guarded by Part::mutex

  const char* At(uint64_t number) const {
    return bytes.get() + (reader->index().RecordOffset(number) - reader->index().RecordOffset(first));
  }
};

void SmallRecords::OpenSession(uint64_t session) {
  for (Part& part : parts_) {
    MutexLock lock(&part.mutex);
    part.tallies[session] = {};
  }
}

void SmallRecords::CloseSession(uint64_t session) {
  for (Part& part : parts_) {
    List dropped;  // destroyed after the lock is released
    MutexLock lock(&part.mutex);
    part.tallies.erase(session);
    for (auto at = part.by_age.begin(); at != part.by_age.end();) {
      const auto next = std::next(at);
      if ((*at)->session == session) {
        dropped.push_back(*at);
        Remove(&part, at);
      }
      at = next;
    }
  }
}

void SmallRecords::Remove(Part* part, List::iterator at) {
  part->by_key.erase((*at)->key);
  part->bytes -= (*at)->lease->bytes();
  part->by_age.erase(at);
}

void SmallRecords::CountTaken(Part* part, List::iterator at) {
  if (--(*at)->left == 0) Remove(part, at);
}

std::optional<SmallRecords::Place> SmallRecords::PlaceOf(const LoadJob& job, uint64_t record) {
  const uint64_t most = NeighborsOf(job);
  if (most < 2) return std::nullopt;
  const sources::RecordRef ref = job.reader().snapshot().ToShard(record);
  const uint64_t before = std::min(record % most, ref.record);
  const uint64_t first = record - before;
  return Place{.key = {job.record_space(), first},
               .shard = ref.shard,
               .first = ref.record - before,
               .number = ref.record,
               .most = most - first % most};
}

bool SmallRecords::Pays(const Part& part, uint64_t session) {
  const auto tally = part.tallies.find(session);
  return tally != part.tallies.end() && tally->second.pays();
}

std::shared_ptr<SmallRecords::Neighbors> SmallRecords::ReadAt(const Place& place, uint64_t session,
                                                              const LoadJob& job) const {
  std::shared_ptr<const sources::ShardReader> reader = job.reader().ReaderOfNeighbors(place.shard);
  if (reader == nullptr) return nullptr;
  const sources::ShardIndex& index = reader->index();
  const uint64_t count = std::min(place.most, index.record_count() - place.first);
  const uint64_t bytes = index.RangeBytes(place.first, count);
  if (count < 2 || bytes > count * kMostBytes) return nullptr;
  auto neighbors = std::make_shared<Neighbors>();
  neighbors->lease = reserve_(session, bytes + sizeof(Neighbors));
  if (neighbors->lease == nullptr) return nullptr;
  neighbors->key = place.key;
  neighbors->session = session;
  neighbors->first = place.first;
  neighbors->left = count;
  neighbors->bytes = std::make_unique_for_overwrite<char[]>(bytes);
  // The read of the record alone reports an error.
  if (!reader->ReadBytes(place.first, count, neighbors->bytes.get()).ok()) return nullptr;
  neighbors->reader = std::move(reader);
  return neighbors;
}

std::optional<std::string_view> SmallRecords::Copy(const Neighbors& from, const Place& place, const LoadJob& job,
                                                   uint64_t record, sources::RecordBuffer* buffer) {
  const absl::StatusOr<std::string_view> copy =
      job.reader().RecordOfNeighbors(record, *from.reader, from.At(place.number), buffer);
  return copy.ok() ? std::optional(*copy) : std::nullopt;
}

std::optional<std::string_view> SmallRecords::Take(uint64_t session, const LoadJob& job, uint64_t record,
                                                   sources::RecordBuffer* buffer) {
  const std::optional<Place> place = PlaceOf(job, record);
  if (!place.has_value()) return std::nullopt;
  std::shared_ptr<Neighbors> neighbors;
  {
    Part& part = PartOf(*place);
    MutexLock lock(&part.mutex);
    const auto found = part.by_key.find(place->key);
    if (found == part.by_key.end()) return std::nullopt;
    neighbors = *found->second;
    if (const auto tally = part.tallies.find(session); tally != part.tallies.end()) ++tally->second.taken;
    CountTaken(&part, found->second);
  }
  return Copy(*neighbors, *place, job, record, buffer);
}

std::optional<std::string_view> SmallRecords::Read(uint64_t session, const LoadJob& job, uint64_t record,
                                                   sources::RecordBuffer* buffer) {
  const std::optional<Place> place = PlaceOf(job, record);
  if (!place.has_value()) return std::nullopt;
  Part& part = PartOf(*place);
  {
    MutexLock lock(&part.mutex);
    if (!Pays(part, session)) return std::nullopt;
  }
  const std::shared_ptr<Neighbors> neighbors = ReadAt(*place, session, job);
  if (neighbors == nullptr) return std::nullopt;
  {
    List dropped;  // destroyed after the lock is released
    MutexLock lock(&part.mutex);
    const auto tally = part.tallies.find(session);
    // Another maker may have read them meanwhile. A session that was closed leaves nothing here.
    if (tally != part.tallies.end() && !part.by_key.contains(place->key)) {
      ++tally->second.reads;
      const auto at = part.by_age.insert(part.by_age.end(), neighbors);
      part.by_key.emplace(place->key, at);
      part.bytes += neighbors->lease->bytes();
      CountTaken(&part, at);
      while (part.bytes > most_bytes_) {
        dropped.push_back(part.by_age.front());
        Remove(&part, part.by_age.begin());
      }
    }
  }
  return Copy(*neighbors, *place, job, record, buffer);
}

uint64_t SmallRecords::Release(uint64_t bytes) {
  uint64_t freed = 0;
  for (Part& part : parts_) {
    List dropped;  // destroyed after the lock is released
    MutexLock lock(&part.mutex);
    while (freed < bytes && !part.by_age.empty()) {
      freed += part.by_age.front()->lease->bytes();
      dropped.push_back(part.by_age.front());
      Remove(&part, part.by_age.begin());
    }
  }
  return freed;
}

}  // namespace penstock::loader
