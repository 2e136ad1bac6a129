#include "pipeline/loader/cache_tuning.h"

#include <algorithm>

namespace penstock::loader {
namespace {

// Memory for rows, as a multiple of their recent peak.
constexpr double kSpareForRows = 1.5;
// Factor by which the recent peak decays per look: by half in half a minute.
constexpr double kPeakDecay = 0.975;
// Rows get at least this fraction (1 / kRowsPart) of the budget.
constexpr uint64_t kRowsPart = 4;

}  // namespace

std::optional<std::string> CacheTuning::Look(Nanos now) {
  if (pinned() || now < next_) return std::nullopt;
  next_ = now + kLookInterval;
  CacheUse use = loader_->TakeCacheUse();
  std::map<uint64_t, double> rows;
  for (tuning::CacheJob& job : use.jobs) {
    rows[job.id] = job.rows;
    const auto before = rows_.find(job.id);
    job.rows = std::max(0.0, job.rows - (before != rows_.end() ? before->second : 0));
  }
  rows_ = std::move(rows);
  rows_peak_ = std::max(static_cast<double>(use.rows_peak), kPeakDecay * rows_peak_);
  const uint64_t for_rows =
      std::max({use.bytes / kRowsPart, use.rows_need, static_cast<uint64_t>(kSpareForRows * rows_peak_)});
  const tuning::CacheSizes to = chooser_.Step(use.jobs, use.now, use.bytes - std::min(use.bytes, for_rows), now);
  if (to != use.now) loader_->SetCaches(to);
  return chooser_.TakeNews();
}

}  // namespace penstock::loader
