// Jobs that are read in this process, without a coordinator or a worker. All jobs share one loader with its threads,
// budget and caches.
#ifndef PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_
#define PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "client/assembly/batch_builder.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/self_tuning.h"
#include "pipeline/storage/file_errors.h"
#include "pipeline/storage/files.h"

namespace penstock {

// Counts the distinct bad records of a job against errors.max_bad_fraction, as the coordinator does for a served job.
// Thread-safe.
class BadRecordLimit {
 public:
  explicit BadRecordLimit(const LoadJob& job);
  // Adds a record. Returns FailedPrecondition that names the record if it exceeds the limit.
  absl::Status Add(uint64_t record, DatasetReader& reader);

 private:
  const double limit_;
  const uint64_t records_;
  Mutex mutex_;
  std::set<uint64_t> bad_ ABSL_GUARDED_BY(mutex_);
};

struct LoadedJob {
  std::shared_ptr<const LoadJob> job;
  std::shared_ptr<const BatchFormat> format;
  uint64_t pipeline_fingerprint = 0;  // as in saved states
  std::shared_ptr<BadRecordLimit> bad_records;
  std::shared_ptr<const FileErrors> file_errors;  // shared by all jobs in this process
};

struct LocalJobsOptions {
  int threads = 0;              // maximum number; 0: the CPUs of the cgroup's quota
  bool threads_pinned = false;  // keep this number even if other processes need the CPUs
  int read_threads = 0;         // threads that only read, for network file systems (RemoteFiles); 0: tuned
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  // Parts of the budget. Unset: tuned automatically, starting at 0.
  std::optional<uint64_t> record_cache_bytes, decoded_cache_bytes, row_cache_bytes;
  std::string disk_cache;         // a folder for this process only; empty: none
  uint64_t disk_cache_bytes = 0;  // limit of its files; 0: half of the disk's free space
  std::string index_dir;
};

// Thread-safe. Must outlive its jobs and their readers.
class LocalJobs {
 public:
  explicit LocalJobs(LocalJobsOptions options) : options_(std::move(options)), files_(options_.read_threads) {}

  // Expands the job's globs, and loads or builds its indexes. Returns the same object for an equal job while any
  // reference to it exists. May block for long. Errors name the defect of the files or the job, which includes keys
  // that none of the first records has (CheckKeys), unless `allow_missing`.
  absl::StatusOr<std::shared_ptr<const LoadedJob>> Load(const v1::JobSpec& spec, const std::vector<DataRoot>& roots,
                                                        bool allow_missing = false);

  // Returns the loader, which is created on first use. Returns InvalidArgument if the caches leave no room in the
  // budget.
  absl::StatusOr<Loader*> loader();

  // Returns the loader's statistics, or nullopt before its first use.
  std::optional<LoaderStats> Stats();

  // Stops the read threads. Returns false if one hangs in storage: then this object must stay alive until the process
  // exits.
  bool StopReadsBy(Nanos deadline) { return files_.StopBy(deadline); }

 private:
  const LocalJobsOptions options_;
  RemoteFiles files_;  // outlives its readers
  const std::shared_ptr<FileErrors> file_errors_ = std::make_shared<FileErrors>(Clock::Real());
  Mutex mutex_;
  std::unique_ptr<Loader> loader_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<SelfTuning> tuning_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<const LoadedJob>> loaded_
      ABSL_GUARDED_BY(mutex_);  // by spec, roots and allow_missing
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_
