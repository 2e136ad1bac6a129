#include "pipeline/loader/job_activity.h"

#include <algorithm>

#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/cache/row_files.h"

namespace penstock::loader {
namespace {

// Rows made from decoded images before their measurements are used.
constexpr uint64_t kMeasured = 16;
// Cost of decoding a crop as a share of decoding the whole image.
constexpr double kCropOfWhole = 0.65;
constexpr double kAlmostAll = 0.9;
// Least cost of a read, as a share of its time, even if no thread waits for it: reads in flight are limited.
constexpr double kReadBeside = 1.0 / 16;

}  // namespace

JobActivity::JobActivity(const std::shared_ptr<const LoadJob>& job) : job_(job) {
  sums_.job = job->spec().name();
  for (const std::string& stage : job->pipelines().stages()) sums_.stages.push_back({stage, 0});
  stages_.resize(sums_.stages.size());
  if (job->order().sets() > 1) sums_.datasets.resize(job->order().sets());
  positions_ = static_cast<double>(job->positions());
  if (job->num_records() > 0) repeats_ = std::max(1.0, positions_ / static_cast<double>(job->num_records()));
  for_caches_.id = job->shared_space();
  for_caches_.data = job->record_space();
  for_caches_.same_rows = job->pipelines().AreDeterministic();
  for_caches_.decodes = job->pipelines().HaveDecodedPrefix();
}

void JobActivity::AddIdle(Idle why, Nanos threads_time) {
  switch (why) {
    case Idle::kUnasked:
      unrequested_ += threads_time;
      break;
    case Idle::kStorage:
      storage_ += threads_time;
      break;
    case Idle::kMemory:
      memory_ += threads_time;
      break;
    case Idle::kCapped:
      capped_ += threads_time;
      break;
    case Idle::kStarting:
      break;
  }
}

void JobActivity::AddStages(const augment::SetPipelines& pipelines, uint32_t set, const std::vector<Nanos>& own,
                            Nanos reading) {
  ++sums_.timed_rows;
  const size_t stages = pipelines.Of(set).stages().size();
  for (size_t i = 0; i < std::min(own.size(), stages); ++i) stages_[pipelines.StageOf(set, i)] += own[i];
  if (!stages_.empty()) stages_[StageTimes::kOther] -= std::min(reading, own[StageTimes::kOther]);
}

std::optional<tuning::CacheJob> JobActivity::ForCaches() {
  if (gone()) return std::nullopt;
  tuning::CacheJob use = for_caches_;
  use.rows = static_cast<double>(sums_.rows);
  // An epoch omits a few records, and each epoch omits others.
  const double asked = epochs_.rows_of_epoch(positions_);
  use.records = (asked > kAlmostAll * positions_ ? positions_ : asked) / repeats_;
  const RepeatedReads::Coming coming = repeated_reads_.Look(epochs_, positions_);
  use.read_again = repeats_ > 1 || coming.again;
  use.decodes = for_caches_.decodes && (repeats_ > RepeatedReads::kPayingEpochs || coming.often);
  if (const MeanOfLate& read = costs_.read(); read.count() > 0) {
    const double waited = InSeconds(reading_ + storage_) / static_cast<double>(read.count());
    use.read_seconds = std::max(waited, kReadBeside * read.mean());
  }
  if (costs_.from_decoded().count() >= kMeasured) {
    use.from_decoded_seconds = costs_.from_decoded().mean();
    use.decoded_bytes = costs_.decoded_bytes().mean() + cache::ByteCache::kEntryOverhead;
  }
  if (costs_.from_record().count() > 0) {
    use.from_record_seconds = costs_.from_record().mean();
  } else {
    const double from_decoded = costs_.from_decoded().mean();
    use.from_record_seconds = from_decoded + kCropOfWhole * std::max(0.0, costs_.filled().mean() - from_decoded);
  }
  use.kept_seconds = costs_.kept().mean();
  if (costs_.record_bytes().count() > 0)
    use.record_bytes = costs_.record_bytes().mean() + cache::ByteCache::kEntryOverhead;
  if (costs_.row_bytes().count() > 0) {
    const auto row = static_cast<uint64_t>(costs_.row_bytes().mean());
    use.row_bytes = static_cast<double>(cache::RowFiles::Rounded(row) + cache::RowCache::kEntryOverhead);
  }
  return use;
}

JobTimes JobActivity::Times(Nanos making, Nanos reading) const {
  JobTimes times = sums_;
  times.making_seconds = InSeconds(making_ + making);
  times.reading_seconds = InSeconds(reading_ + reading);
  times.storage_seconds = InSeconds(storage_);
  times.memory_seconds = InSeconds(memory_);
  times.unrequested_seconds = InSeconds(unrequested_);
  times.capped_seconds = InSeconds(capped_);
  times.held_seconds = InSeconds(throttle_.held());
  times.background_read_seconds = InSeconds(background_read_);
  for (size_t i = 0; i < stages_.size(); ++i) times.stages[i].seconds = InSeconds(stages_[i]);
  return times;
}

}  // namespace penstock::loader
