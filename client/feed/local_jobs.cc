#include "client/feed/local_jobs.h"

#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/status_macros.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/loader/check_keys.h"
#include "pipeline/loader/local_reader.h"

namespace penstock {
namespace {

constexpr double kDefaultBadFraction = 0.01;

double LimitOf(const LoadJob& job) {
  const float given = job.spec().errors().max_bad_fraction();
  return given > 0 ? given : kDefaultBadFraction;
}

}  // namespace

BadRecordLimit::BadRecordLimit(const LoadJob& job) : limit_(LimitOf(job)), records_(job.offsets()->num_records()) {}

absl::Status BadRecordLimit::Add(uint64_t record, DatasetReader& reader) {
  uint64_t bad = 0;
  {
    MutexLock lock(&mutex_);
    bad_.insert(record);
    bad = bad_.size();
  }
  if (static_cast<double>(bad) <= limit_ * static_cast<double>(records_)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(bad, " distinct records of ", records_, " are bad, among them ",
                                                    reader.Describe(record), ": more than errors.max_bad_fraction (",
                                                    limit_,
                                                    ") allows; repair the data (penstock verify) or raise the limit"));
}

absl::StatusOr<std::shared_ptr<const LoadedJob>> LocalJobs::Load(const v1::JobSpec& spec,
                                                                 const std::vector<DataRoot>& roots,
                                                                 bool allow_missing) {
  std::string key = absl::StrCat(allow_missing ? "+" : "", spec.SerializeAsString());
  for (const DataRoot& root : roots) absl::StrAppend(&key, "\n", root.name, "=", root.path);
  {
    MutexLock lock(&mutex_);
    if (std::shared_ptr<const LoadedJob> known = loaded_[key].lock()) return known;
  }
  auto loaded = std::make_shared<LoadedJob>();
  loaded->file_errors = file_errors_;
  PS_ASSIGN_OR_RETURN(std::shared_ptr<DatasetReader> reader,
                      OpenDataset(files_.storage(), spec, roots, options_.index_dir, options_.threads, file_errors_));
  if (!allow_missing) PS_RETURN_IF_ERROR(CheckKeys(spec, reader.get()));
  PS_ASSIGN_OR_RETURN(loaded->job, LoadJob::Create(spec, std::move(reader)));
  loaded->pipeline_fingerprint = JobPipelineFingerprint(loaded->job->pipeline());
  const RowSchema& schema = loaded->job->pipeline().schema();
  std::optional<BatchMix> mix;
  if (spec.has_mix()) {
    PS_ASSIGN_OR_RETURN(MixPlan plan, MakeMixPlan(spec.mix(), schema));
    mix = BatchMix{std::move(plan), spec.order().seed()};
  }
  PS_ASSIGN_OR_RETURN(loaded->format, BatchFormat::Create(schema, std::move(mix)));
  loaded->bad_records = std::make_shared<BadRecordLimit>(*loaded->job);
  MutexLock lock(&mutex_);
  loaded_[key] = loaded;
  return loaded;
}

absl::StatusOr<Loader*> LocalJobs::loader() {
  MutexLock lock(&mutex_);
  if (loader_ == nullptr) {
    LoaderOptions options;
    options.threads = options_.threads;
    options.memory_budget_bytes = options_.memory_budget_bytes;
    options.record_cache_bytes = options_.record_cache_bytes.value_or(0);
    options.decoded_cache_bytes = options_.decoded_cache_bytes.value_or(0);
    options.row_cache_bytes = options_.row_cache_bytes.value_or(0);
    options.choose_record_cache = !options_.record_cache_bytes.has_value();
    options.choose_decoded_cache = !options_.decoded_cache_bytes.has_value();
    options.choose_row_cache = !options_.row_cache_bytes.has_value();
    if (!options_.disk_cache.empty()) {
      DiskCacheOptions disk;
      disk.folder = options_.disk_cache;
      disk.limit_bytes = options_.disk_cache_bytes;
      disk.warn = [](const std::string& text) { std::fprintf(stderr, "penstock feed: %s\n", text.c_str()); };
      PS_ASSIGN_OR_RETURN(options.disk_cache, DiskCache::OpenWithin(std::move(disk), &options.memory_budget_bytes));
    }
    if (options_.read_threads > 0) options.reads_under_way = files_.reads_under_way();
    if (options.threads == 0) options.threads = AvailableCpus();
    PS_ASSIGN_OR_RETURN(loader_, Loader::Create(options));
    SelfTuningOptions tuning;
    tuning.limits.most_threads = options.threads;
    tuning.limits.threads_pinned = options_.threads_pinned;
    tuning.limits.read_threads_pinned = options_.read_threads > 0;
    tuning_ = std::make_unique<SelfTuning>(loader_.get(), &files_, std::move(tuning));
  }
  return loader_.get();
}

std::optional<LoaderStats> LocalJobs::Stats() {
  MutexLock lock(&mutex_);
  return loader_ != nullptr ? std::optional(loader_->Stats()) : std::nullopt;
}

}  // namespace penstock
