// Benefit and sizes of the loader's caches, and the memory that they leave to rows.
//
// Rows and caches share one part of the budget. A cache frees its memory before rows may reserve it, and a cache grows
// only by memory that rows have left. So both together never exceed that part.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/heap.h"
#include "pipeline/loader/loader_core.h"

namespace penstock {
namespace {

// Share of the memory of rows and caches that is worth returning to the system. That takes some milliseconds per 100
// MB.
constexpr uint64_t kFreedPart = 32;
// The index of the disk cache may take this part of the memory of rows and caches.
constexpr uint64_t kMostIndexPart = 4;

}  // namespace

void LoaderCore::CountCost(const MadeRow& made, Nanos took, OpenedSession* session) {
  // Failed and substituted rows do not represent the cost of a row.
  if (!made.status.ok() || !made.fault.ok()) return;
  RowCost cost;
  cost.from = made.from;
  cost.compute = took - made.read_time;
  cost.read = made.storage_time + made.disk_time;
  cost.cached_record = made.cached_record;
  cost.from_decoded = made.from_decoded_time;
  cost.record_bytes = made.record_bytes;
  cost.decoded_bytes = made.decoded_bytes;
  cost.row_bytes = made.row_bytes;
  const RowCosts::Saved saved = session->activity->AddCost(cost);
  saved_.record += saved.record;
  saved_.decoded += saved.decoded;
  saved_.row += saved.row;
}

uint64_t LoaderCore::CachesHeld() const {
  return std::max(records_.limit(), records_.bytes()) + std::max(decoded_.limit(), decoded_.bytes()) +
         std::max(rows_.limit(), rows_.bytes());
}

uint64_t LoaderCore::CachedBytes() const { return records_.bytes() + decoded_.bytes() + rows_.bytes(); }

void LoaderCore::ReleaseFreed(uint64_t before) {
  const uint64_t now = CachedBytes();
  {
    MutexLock lock(&mutex_);
    freed_from_ = std::max(freed_from_, before);
    if (freed_from_ < now + all_bytes_ / kFreedPart) return;
    freed_from_ = now;
  }
  ReleaseFreedMemory();
}

void LoaderCore::ShrinkCaches(const CacheSizes& sizes) {
  const uint64_t before = CachedBytes();
  {
    // Peaks under other sizes are not comparable.
    MutexLock lock(&mutex_);
    peak_before_ = std::max(peak_before_, budget_.peak() + CachedBytes());
    budget_.RestartPeak();
  }
  const CacheSizes now = CacheLimitsNow();
  if (sizes.records < now.records) records_.SetLimit(sizes.records);
  if (sizes.decoded < now.decoded) decoded_.SetLimit(sizes.decoded);
  if (sizes.rows < now.rows) rows_.SetLimit(sizes.rows);
  ReleaseFreed(before);
  const uint64_t held = CachesHeld();
  MutexLock lock(&mutex_);
  budget_.SetTotal(std::max(budget_.total(), all_bytes_ - std::min(all_bytes_, held)));
  may_revoke_ = true;
  if (!scheduler_.empty()) WakeAll();
}

CacheSizes LoaderCore::SetCaches(const CacheSizes& sizes) {
  MutexLock sizing(&sizing_);
  ShrinkCaches(sizes);
  CacheSizes now = CacheLimitsNow();
  const uint64_t held = CachesHeld();
  uint64_t room;
  {
    MutexLock lock(&mutex_);
    const uint64_t wanted = std::min(all_bytes_, std::max(held, sizes.sum()));
    budget_.SetTotal(std::max({all_bytes_ - wanted, budget_.LeastTotal(), rows_need_}));
    room = all_bytes_ - budget_.total();
  }
  // If rows do not leave enough memory, the caches that save most time per byte grow first.
  room -= std::min(room, held);
  const auto grow = [&room](uint64_t from, uint64_t to) {
    const uint64_t more = std::min(room, to - std::min(to, from));
    room -= more;
    return from + more;
  };
  now.rows = grow(now.rows, sizes.rows);
  now.decoded = grow(now.decoded, sizes.decoded);
  now.records = grow(now.records, sizes.records);
  rows_.SetLimit(now.rows);
  decoded_.SetLimit(now.decoded);
  records_.SetLimit(now.records);
  return now;
}

bool LoaderCore::ReleaseCaches(uint64_t bytes, For whom) {
  MutexLock sizing(&sizing_);
  CacheSizes to = CacheLimitsNow();
  uint64_t lacks = bytes;
  const auto release = [&lacks](bool chosen, uint64_t first, uint64_t* size) {
    if (!chosen || *size <= first) return;
    const uint64_t released = std::min(lacks, *size - first);
    *size -= released;
    lacks -= released;
  };
  release(options_.choose_decoded_cache, options_.decoded_cache_bytes, &to.decoded);
  release(options_.choose_record_cache, options_.record_cache_bytes, &to.records);
  release(options_.choose_row_cache, options_.row_cache_bytes, &to.rows);
  if (lacks > 0) return false;
  ShrinkCaches(to);
  if (whom == For::kIndex) return true;
  MutexLock lock(&mutex_);
  rows_need_ = std::max(rows_need_, budget_.total());
  return true;
}

bool LoaderCore::ReserveIndex(uint64_t bytes) {
  const auto reserve = [&] {
    MutexLock lock(&mutex_);
    if (index_bytes_ + bytes > all_bytes_ / kMostIndexPart || !budget_.Pin(bytes)) return false;
    index_bytes_ += bytes;
    return true;
  };
  return reserve() || (ReleaseCaches(bytes, For::kIndex) && reserve());
}

void LoaderCore::ReleaseIndex(uint64_t bytes) {
  MutexLock lock(&mutex_);
  index_bytes_ -= bytes;
  budget_.Unpin(bytes);
  may_revoke_ = true;
  WakeForRows();
}

absl::StatusOr<RowMaker::Answer> LoaderCore::Grow(Work* work, uint64_t bytes) {
  if (bytes <= work->held) return RowMaker::Answer::kYes;
  const uint64_t id = work->session->id;
  while (true) {
    uint64_t most, total;
    {
      MutexLock lock(&mutex_);
      most = budget_.LargestTake(id);
      total = budget_.total();
      if (bytes <= most) {
        work->session->estimate = std::max(work->session->estimate, bytes);
        if (!budget_.Take(id, bytes - work->held)) return RowMaker::Answer::kPutBack;
        work->held = bytes;
        return RowMaker::Answer::kYes;
      }
    }
    if (ReleaseCaches(bytes - most)) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "needs ", bytes, " bytes of memory, but this session can have ", most, " at most: of the budget of ",
        options_.memory_budget_bytes, " bytes, ", all_bytes_ - total, " are for caches, ",
        static_cast<uint64_t>(sizes_.makers) * sizes_.maker_scratch_bytes, " for ", sizes_.makers,
        " threads, and the rest is reserved for other sessions; raise "
        "memory_budget_bytes, or lower the job's limits"));
  }
}

CacheUse LoaderCore::TakeCacheUse() {
  CacheUse use;
  use.limits.first = {options_.record_cache_bytes, options_.decoded_cache_bytes, options_.row_cache_bytes};
  use.limits.records_pinned = !options_.choose_record_cache;
  use.limits.decoded_pinned = !options_.choose_decoded_cache;
  use.limits.rows_pinned = !options_.choose_row_cache;
  use.now = CacheLimitsNow();
  use.bytes = all_bytes_;
  MutexLock lock(&mutex_);
  use.rows_need = std::max(rows_need_, budget_.reserved());
  use.rows_peak = budget_.TakeLatePeak();
  for (const auto& activity : activity_.all()) {
    if (std::optional<CacheJob> job = activity->ForCaches(); job.has_value()) use.jobs.push_back(*job);
  }
  return use;
}

}  // namespace penstock
