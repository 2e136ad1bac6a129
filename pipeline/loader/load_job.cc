#include "pipeline/loader/load_job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/sources/blend_start.h"

namespace penstock::loader {
namespace {

bool AreEqual(const SetFeatures& a, const SetFeatures& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
  });
}

}  // namespace

uint64_t RecordSpaceOf(uint64_t data, const SetFeatures& features) {
  if (features.empty()) return data;
  if (features.size() == 1) return HashWords({data, features[0]->Hash()});
  Fingerprint print;
  print.Add(data);
  for (const auto& of_set : features) print.Add(of_set == nullptr ? 0 : of_set->Hash());
  return print.value();
}

absl::Status CheckFixedBytes(uint64_t bytes) {
  if (bytes <= kMaxRowBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a row of this job has ", bytes,
                                                 " bytes in its columns of fixed shape; a row may have ", kMaxRowBytes,
                                                 ", the limit of a message (docs/errors.md): crop or resize to less, "
                                                 "make shorter windows, cast to a narrower type, "
                                                 "or drop columns"));
}

absl::StatusOr<std::shared_ptr<const LoadJob>> LoadJob::Create(const v1::JobSpec& job,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               DamageVerdict verdict) {
  PS_ASSIGN_OR_RETURN(const std::vector<v1::JobSpec> set_specs, JobsWithFormats(reader->snapshot().containers(), job));
  PS_ASSIGN_OR_RETURN(augment::SetPipelines pipelines, augment::SetPipelines::Create(set_specs));
  // With other features the rows would lack some.
  PS_CHECK(reader->features().empty() ||
           AreEqual(reader->features(), SetFeaturesOf(reader->snapshot().containers(), job)));
  v1::JobSpec spec = job;
  for (int set = 0; set < spec.dataset_size(); ++set) {
    spec.mutable_dataset(set)->set_format(set_specs[static_cast<size_t>(set)].dataset(0).format());
  }
  return Create(spec, std::move(reader), std::move(pipelines), verdict);
}

absl::StatusOr<std::shared_ptr<const LoadJob>> LoadJob::Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               std::unique_ptr<const augment::Pipeline> pipeline,
                                                               DamageVerdict verdict) {
  return Create(spec, std::move(reader), augment::SetPipelines(std::move(pipeline)), verdict);
}

absl::StatusOr<std::shared_ptr<const LoadJob>> LoadJob::Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               augment::SetPipelines pipelines, DamageVerdict verdict) {
  std::shared_ptr<LoadJob> job(new LoadJob(std::move(pipelines)));
  job->spec_ = spec;
  job->reader_ = std::move(reader);
  job->verdict_ = verdict;
  const sources::Snapshot& snapshot = job->reader_->snapshot();
  std::vector<uint64_t> counts;
  for (const sources::SnapshotShard& shard : snapshot.shards()) counts.push_back(shard.record_count);
  PS_ASSIGN_OR_RETURN(job->order_, plan::DataOrderOf(spec, counts, snapshot.set_shards(), snapshot.Groups()));
  PS_RETURN_IF_ERROR(sources::CheckBlendStart(spec, snapshot, *job->order_));
  const uint64_t data = snapshot.Fingerprint();
  job->record_space_ = RecordSpaceOf(data, job->reader_->features());
  job->decoded_space_ = HashWords({data, job->pipelines_.fingerprint()});
  // A job that does not check whole images may cache rows of records that are bad for a job that does.
  if (spec.errors().check() != v1::WANTED_PART) {
    job->decoded_space_ = HashWords({job->decoded_space_, static_cast<uint64_t>(spec.errors().check())});
  }
  job->order_fingerprint_ = job->order_->Fingerprint(data);
  job->shared_space_ = HashWords({job->decoded_space_, job->order_fingerprint_});
  job->fixed_bytes_ = job->schema().FixedBytes();
  return job;
}

}  // namespace penstock::loader
