#include "pipeline/loader/load_job.h"

#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/plan/job_order.h"

namespace penstock::loader {

uint64_t RecordSpaceOf(uint64_t data, const sources::RequestedFeatures* features) {
  return features == nullptr ? data : HashWords({data, features->Hash()});
}

absl::StatusOr<std::shared_ptr<const LoadJob>> LoadJob::Create(const v1::JobSpec& job,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               DamageVerdict verdict) {
  PS_ASSIGN_OR_RETURN(const v1::JobSpec spec, WithFormatOf(reader->snapshot().container(), job));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<const augment::Pipeline> pipeline, augment::Pipeline::Create(spec));
  if (reader->features() != nullptr) {
    const auto needed = RequestedFeaturesOf(reader->snapshot().container(), spec);
    PS_CHECK(needed != nullptr && *needed == *reader->features());  // otherwise the rows would lack features
  }
  return Create(spec, std::move(reader), std::move(pipeline), verdict);
}

absl::StatusOr<std::shared_ptr<const LoadJob>> LoadJob::Create(const v1::JobSpec& spec,
                                                               std::shared_ptr<DatasetReader> reader,
                                                               std::unique_ptr<const augment::Pipeline> pipeline,
                                                               DamageVerdict verdict) {
  std::shared_ptr<LoadJob> job(new LoadJob());
  job->spec_ = spec;
  job->pipeline_ = std::move(pipeline);
  job->reader_ = std::move(reader);
  job->verdict_ = verdict;
  const sources::Snapshot& snapshot = job->reader_->snapshot();
  std::vector<uint64_t> counts;
  for (const sources::SnapshotShard& shard : snapshot.shards()) counts.push_back(shard.record_count);
  PS_ASSIGN_OR_RETURN(job->order_, plan::DataOrderOf(spec, counts, snapshot.set_shards()));
  const uint64_t data = snapshot.Fingerprint();
  job->record_space_ = RecordSpaceOf(data, job->reader_->features());
  job->decoded_space_ = HashWords({data, job->pipeline_->fingerprint()});
  // A job that does not check whole images may cache rows of records that are bad for a job that does.
  if (spec.errors().check() != v1::WANTED_PART) {
    job->decoded_space_ = HashWords({job->decoded_space_, static_cast<uint64_t>(spec.errors().check())});
  }
  job->order_fingerprint_ = job->order_->Fingerprint(data);
  job->shared_space_ = HashWords({job->decoded_space_, job->order_fingerprint_});
  job->fixed_bytes_ = job->pipeline_->schema().FixedBytes();
  return job;
}

}  // namespace penstock::loader
