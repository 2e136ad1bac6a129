// The jobs that this worker can serve: what the coordinator said of them, kept, so that it may go away.
#ifndef PENSTOCK_SERVER_WORKER_JOBS_SERVED_JOBS_H_
#define PENSTOCK_SERVER_WORKER_JOBS_SERVED_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "net/job_mirror.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/records/dataset_files.h"
#include "server/common/snapshot_proto.h"
#include "server/worker/indexes/shard_indexes.h"

namespace penstock {

// What a job's data and pipeline become, here: built from what the coordinator says and this machine's roots. Nothing
// is read yet. InvalidArgument, or NotFound for a root that this worker has not.
// `options` say where slow work runs and who is told of failing files.
absl::StatusOr<std::shared_ptr<const LoadJob>> BuildLoadJob(const v1::Job& job, const std::vector<DataRoot>& roots,
                                                            IndexProvider indexes, DatasetReader::Options options = {});

// Thread-safe.
class ServedJobs {
 public:
  // `indexes`, and `storage`, which records are read from, outlive this. `index_bytes`: DatasetReader's
  // max_index_bytes, of each job.
  ServedJobs(std::vector<DataRoot> roots, ShardIndexes* indexes, Storage* storage = AnyFiles(),
             uint64_t index_bytes = DatasetReader::Options().max_index_bytes);
  // StopBy() without a deadline. All sessions must be gone.
  ~ServedJobs();

  // Shards are not made ready any more. Waits for those that are being opened and indexed (ShardIndexes::Stop() first
  // ends that), until `deadline` at most. False: storage does not answer, and all this must be left to the end of the
  // process.
  bool StopBy(Nanos deadline);

  // What Watch brought. Jobs that are not READY, and those that are gone, are served no longer; streams that are open
  // go on.
  void Update(const JobChanges& changes);

  // The job as the loader takes it; built at first use, then shared.
  //   NotFound             no such submission, as far as this worker knows
  //   others               as BuildLoadJob
  absl::StatusOr<std::shared_ptr<const LoadJob>> Find(const std::string& name, uint64_t uid);

  std::vector<std::string> names() const;
  // Whether the job is served as it is there: not submitted again, nor ended, nor with another view.
  bool IsCurrent(const v1::Job& job) const;

  // What keeps rows of all jobs from being made: FileTroubles::Lines().
  std::vector<std::string> Troubles(size_t most, size_t bytes) const { return troubles_->Lines(most, bytes); }

 private:
  struct Slow;  // threads for what waits
  struct Entry {
    WatchedJob job;  // without the view: sessions name the views that they mean
    std::shared_ptr<const LoadJob> built;
  };

  const std::vector<DataRoot> roots_;
  ShardIndexes* const indexes_;
  Storage* const storage_;
  const uint64_t index_bytes_;
  const std::shared_ptr<FileTroubles> troubles_;
  std::unique_ptr<Slow> slow_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_JOBS_SERVED_JOBS_H_
