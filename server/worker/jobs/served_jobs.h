// The jobs that this worker is able to serve. It keeps their descriptions, so that it does not depend on the
// coordinator to serve them.
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
#include "base/runtime/executor.h"
#include "net/job_mirror.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/augment/conformance.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/sources/snapshot_proto.h"
#include "server/worker/indexes/shard_indexes.h"

namespace penstock::worker {

// Builds a job's data set and pipeline from the coordinator's description and this machine's roots. Reads nothing yet.
// Returns InvalidArgument, or NotFound for a root that this worker does not have. `options` name the executor for slow
// work and the receiver of file errors.
absl::StatusOr<std::shared_ptr<const loader::LoadJob>> BuildLoadJob(storage::Storage* storage, const v1::Job& job,
                                                                    const std::vector<sources::DataRoot>& roots,
                                                                    loader::IndexProvider indexes,
                                                                    loader::DatasetReader::Options options = {});

// Thread-safe.
class ServedJobs {
 public:
  // `storage`, from which jobs read records, and `indexes` must outlive this. `index_bytes` is DatasetReader's
  // max_index_bytes for each job.
  ServedJobs(storage::Storage* storage, std::vector<sources::DataRoot> roots, ShardIndexes* indexes,
             uint64_t index_bytes = loader::DatasetReader::Options().max_index_bytes);
  // Calls StopBy() without a deadline. All sessions must have ended.
  ~ServedJobs();

  // Stops preparing shards. Blocks until no shard is being opened or indexed, at most until `deadline`. Call
  // ShardIndexes::Stop() first, which ends that work. Returns false if storage does not answer; the caller must then
  // keep this object until the process ends.
  bool StopBy(Nanos deadline);

  // Applies the changes of a watch. Stops serving jobs that are not READY or were removed; open streams continue.
  // Returns whether a job that the loader may have was paused or resumed: the caller must call Loader::PausesChanged().
  bool Update(const net::JobChanges& changes);

  // Stops serving a submission that has ended, if a watch has not reported that yet.
  void Forget(const std::string& name, uint64_t uid);

  // Returns the job for the loader. Builds it at first use and then shares it.
  //   NotFound             this worker knows no such submission
  //   others               as BuildLoadJob
  absl::StatusOr<std::shared_ptr<const loader::LoadJob>> Find(const std::string& name, uint64_t uid);

  std::vector<std::string> names() const;
  // Returns whether this worker serves the job, with the same submission and view.
  bool IsCurrent(const v1::Job& job) const {
    return IsServed(job.name(), job.uid(), {job.view().term(), job.view().number()});
  }
  bool HasView(const net::WatchedJob& job) const { return IsServed(job.record.name(), job.record.uid(), IdOf(job)); }

  // Returns the threads that load indexes and open files of all jobs.
  Executor* slow_work() const;

  // Returns the errors of files of all jobs: FileErrors::Lines(), then DatasetReader::DamageLines().
  std::vector<std::string> FileErrorLines(size_t most, size_t bytes) const;

 private:
  struct Slow;  // threads for blocking work
  struct ViewId {
    uint64_t term = 0, number = 0;
    bool operator==(const ViewId&) const = default;
  };
  static ViewId IdOf(const net::WatchedJob& job) {
    return job.view == nullptr ? ViewId() : ViewId{job.view->term(), job.view->number()};
  }
  struct Entry {
    net::WatchedJob job;  // without the view, because sessions name their views
    ViewId view;
    std::shared_ptr<const loader::LoadJob> built;
  };

  bool IsServed(const std::string& name, uint64_t uid, const ViewId& view) const;

  const std::vector<sources::DataRoot> roots_;
  ShardIndexes* const indexes_;
  storage::Storage* const storage_;
  const uint64_t index_bytes_;
  const std::shared_ptr<storage::FileErrors> file_errors_;
  std::unique_ptr<Slow> slow_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_JOBS_SERVED_JOBS_H_
