// Memory of the loader: what rows, ranges, lists and the index of the disk cache reserve, and what caches leave to
// them.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/loader/loader_core.h"

namespace penstock::loader {
namespace {

// The index of the disk cache may take this part of the memory of rows and caches.
constexpr uint64_t kMostIndexPart = 4;

}  // namespace

void LoaderCore::RestartPeak(uint64_t cached) {
  MutexLock lock(&mutex_);
  budget_.RestartPeak(cached);
}

uint64_t LoaderCore::RaiseRows(uint64_t bytes) {
  MutexLock lock(&mutex_);
  budget_.SetTotal(std::max(budget_.total(), bytes));
  may_revoke_ = true;
  if (!scheduler_.empty()) WakeAll();
  return budget_.total();
}

uint64_t LoaderCore::LowerRows(uint64_t bytes) {
  MutexLock lock(&mutex_);
  budget_.SetTotal(std::max(bytes, budget_.LeastTotal()));
  return budget_.total();
}

std::unique_ptr<BudgetLease> LoaderCore::Reserve(uint64_t id, uint64_t bytes) {
  MutexLock lock(&mutex_);
  if (bytes > 0 && budget_.TakeCommon(id, bytes, 1) == 0) return nullptr;
  return std::make_unique<BudgetLease>(std::shared_ptr<BudgetLease::Owner>(shared_from_this(), &list_owner_), id,
                                       bytes);
}

std::unique_ptr<BudgetLease> LoaderCore::ReserveRange(uint64_t id, uint64_t bytes, uint64_t requests) {
  MutexLock lock(&mutex_);
  const auto session = sessions_.find(id);
  if (session == sessions_.end() || session->second->closing || scheduler_.held(id)) return nullptr;
  if (!budget_.TakeAhead(id, bytes, ReadAhead::BytesForRanges(budget_.total(), budget_.reserved()))) return nullptr;
  session->second->activity->throttle().AddRequests(requests);
  return std::make_unique<BudgetLease>(std::shared_ptr<BudgetLease::Owner>(shared_from_this(), &range_owner_), id,
                                       bytes);
}

void LoaderCore::ReleaseList(uint64_t account, uint64_t bytes, bool ranges) {
  MutexLock lock(&mutex_);
  ranges ? budget_.ReleaseAhead(account, bytes) : budget_.ReleaseCommon(account, bytes);
  WakeForRows();
}

void LoaderCore::Release(uint64_t account, uint64_t bytes) {
  MutexLock lock(&mutex_);
  LookAtIdle();
  budget_.Release(account, bytes);
  WakeForRows();
}

bool LoaderCore::ReserveIndex(uint64_t bytes) {
  const auto reserve = [&] {
    MutexLock lock(&mutex_);
    return budget_.Pin(bytes, all_bytes_ / kMostIndexPart);
  };
  return reserve() || (caches_.Release(bytes, LoaderCaches::For::kDiskIndex) && reserve());
}

void LoaderCore::ReleaseIndex(uint64_t bytes) {
  MutexLock lock(&mutex_);
  budget_.Unpin(bytes);
  may_revoke_ = true;
  WakeForRows();
}

absl::StatusOr<RowMaker::Answer> LoaderCore::Grow(OpenedSession* session, TakenRow* row, uint64_t bytes) {
  if (bytes <= row->held) return RowMaker::Answer::kYes;
  const uint64_t id = session->id;
  while (true) {
    uint64_t most, total;
    {
      MutexLock lock(&mutex_);
      most = budget_.LargestTake(id);
      total = budget_.total();
      if (bytes <= most) {
        session->estimate = std::max(session->estimate, bytes);
        if (!budget_.Take(id, bytes - row->held)) return RowMaker::Answer::kPutBack;
        row->held = bytes;
        return RowMaker::Answer::kYes;
      }
    }
    if (caches_.Release(bytes - most, LoaderCaches::For::kRows)) continue;
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
  use.limits = caches_.limits();
  use.now = caches_.sizes();
  use.bytes = all_bytes_;
  use.rows_need = caches_.rows_need();
  MutexLock lock(&mutex_);
  use.rows_need = std::max(use.rows_need, budget_.reserved());
  use.rows_peak = budget_.TakeLatePeak();
  for (const auto& activity : activity_.all()) {
    if (std::optional<tuning::CacheJob> job = activity->ForCaches(); job.has_value()) use.jobs.push_back(*job);
  }
  return use;
}

}  // namespace penstock::loader
