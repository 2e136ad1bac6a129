#include "client/feed/local_jobs.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/loader/check_keys.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/sources/index_store.h"

namespace penstock::feed {
namespace {

constexpr double kDefaultBadFraction = 0.01;

double LimitOf(const loader::LoadJob& job) {
  const float given = job.spec().errors().max_bad_fraction();
  return given > 0 ? given : kDefaultBadFraction;
}

}  // namespace

BadRecordLimit::BadRecordLimit(const loader::LoadJob& job) : limit_(LimitOf(job)), records_(job.num_records()) {}

absl::Status BadRecordLimit::Add(uint64_t record, loader::DatasetReader& reader) {
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
                                                                 const std::vector<sources::DataRoot>& roots,
                                                                 bool allow_missing,
                                                                 const std::function<void(const std::string&)>& warn) {
  std::string key = absl::StrCat(allow_missing ? "+" : "", spec.SerializeAsString());
  for (const sources::DataRoot& root : roots) absl::StrAppend(&key, "\n", root.name, "=", root.path);
  PS_ASSIGN_OR_RETURN(host::LoaderHost* const host, this->host());
  auto loaded = std::make_shared<LoadedJob>();
  loaded->file_errors = file_errors_;
  std::optional<sources::IndexStore> indexes;
  if (!options_.index_dir.empty()) indexes = sources::IndexStore::InStateDir(host->storage(), options_.index_dir);
  PS_ASSIGN_OR_RETURN(std::shared_ptr<loader::DatasetReader> reader,
                      loader::OpenDataset(host->storage(), spec, roots, indexes, options_.host.loader.threads,
                                          file_errors_, host->slow_work(), warn ? warn : options_.warn));
  // A known job is the result if its files have the content that they have now.
  const auto is_same = [fingerprint = reader->snapshot().Fingerprint()](const LoadedJob* known) {
    return known != nullptr && known->job->reader().snapshot().Fingerprint() == fingerprint;
  };
  std::shared_ptr<const LoadedJob> known, first;  // destroyed without the lock
  {
    MutexLock lock(&mutex_);
    known = loaded_[key].lock();
  }
  if (is_same(known.get())) return known;
  if (!allow_missing) PS_RETURN_IF_ERROR(loader::CheckKeys(spec, reader.get()));
  PS_ASSIGN_OR_RETURN(loaded->job, loader::LoadJob::Create(spec, std::move(reader)));
  loaded->pipeline_fingerprint = augment::JobPipelineFingerprint(loaded->job->pipelines());
  const batch::RowSchema& schema = loaded->job->schema();
  std::optional<client::BatchMix> mix;
  if (spec.has_mix()) {
    PS_ASSIGN_OR_RETURN(batch::MixPlan plan, batch::MakeMixPlan(spec.mix(), schema));
    mix = client::BatchMix{std::move(plan), spec.order().seed()};
  }
  PS_ASSIGN_OR_RETURN(loaded->format,
                      BatchFormat::Create(schema, std::move(mix), plan::SetNamesOf(loaded->job->spec())));
  loaded->bad_records = std::make_shared<BadRecordLimit>(*loaded->job);
  MutexLock lock(&mutex_);
  first = loaded_[key].lock();  // another thread may have loaded an equal job meanwhile
  if (is_same(first.get())) return first;
  loaded_[key] = loaded;
  return loaded;
}

absl::StatusOr<host::LoaderHost*> LocalJobs::host() {
  MutexLock creation(&creation_);
  if (host::LoaderHost* const existing = existing_host(); existing != nullptr) return existing;
  PS_ASSIGN_OR_RETURN(std::unique_ptr<host::LoaderHost> host, host::LoaderHost::Create(options_.host));
  MutexLock lock(&mutex_);
  host_ = std::move(host);
  return host_.get();
}

host::LoaderHost* LocalJobs::existing_host() {
  MutexLock lock(&mutex_);
  return host_.get();
}

std::optional<loader::LoaderStats> LocalJobs::Stats() {
  host::LoaderHost* const host = existing_host();
  return host != nullptr ? std::optional(host->loader()->Stats()) : std::nullopt;
}

bool LocalJobs::StopReadsBy(Nanos deadline) {
  host::LoaderHost* const host = existing_host();
  return host == nullptr || host->StopBy(deadline);
}

}  // namespace penstock::feed
