// Jobs that are read in this process: no coordinator, no worker. All share one loader, its threads, budget and caches.
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
#include "pipeline/storage/file_troubles.h"
#include "pipeline/storage/files.h"

namespace penstock {

// The distinct bad records of a job, against errors.max_bad_fraction: what the coordinator does for a served one.
// Thread-safe.
class BadRecordLimit {
 public:
  explicit BadRecordLimit(const LoadJob& job);
  // FailedPrecondition when this one is too many; names it.
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
  uint64_t pipeline_fingerprint = 0;  // as states have it
  std::shared_ptr<BadRecordLimit> bad_records;
  std::shared_ptr<const FileTroubles> troubles;  // of all jobs here
};

struct LocalJobsOptions {
  int threads = 0;              // at the most; 0: the CPUs that the cgroup's quota gives
  bool threads_pinned = false;  // no fewer, whatever else needs the CPUs
  int read_threads = 0;         // that only read, for network file systems (FarFiles); 0: found while rows are made
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  // Inside the budget; unless said what is found to pay, 0 at first.
  std::optional<uint64_t> record_cache_bytes, decoded_cache_bytes, row_cache_bytes;
  std::string disk_cache;         // a folder of this process's alone; empty: none
  uint64_t disk_cache_bytes = 0;  // of its files; 0: half of the disk's free space
  std::string index_dir;
};

// Thread-safe. Outlives its jobs and what reads them.
class LocalJobs {
 public:
  explicit LocalJobs(LocalJobsOptions options) : options_(std::move(options)), files_(options_.read_threads) {}

  // Expands the job's globs, loads or builds the indexes; what was loaded for the same job before is used again while
  // somebody has it. May take long. Errors name what is wrong with the files or the job: also keys that none of the
  // first records has (CheckKeys), unless `allow_missing`.
  absl::StatusOr<std::shared_ptr<const LoadedJob>> Load(const v1::JobSpec& spec, const std::vector<DataRoot>& roots,
                                                        bool allow_missing = false);

  // Made at its first use. InvalidArgument where the caches leave no room in the budget.
  absl::StatusOr<Loader*> loader();

  // Of the loader; nothing while there is none.
  std::optional<LoaderStats> Stats();

  // For the end: no thread of its own reads any more. False: one hangs in storage, and this must be left to the end of
  // the process.
  bool StopReadsBy(Nanos deadline) { return files_.StopBy(deadline); }

 private:
  const LocalJobsOptions options_;
  FarFiles files_;  // outlives what reads from it
  const std::shared_ptr<FileTroubles> troubles_ = std::make_shared<FileTroubles>(Clock::Real());
  Mutex mutex_;
  std::unique_ptr<Loader> loader_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<SelfTuning> tuning_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<const LoadedJob>> loaded_
      ABSL_GUARDED_BY(mutex_);  // by spec, roots and allow_missing
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_
