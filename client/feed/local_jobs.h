// Jobs that this process reads itself, without a coordinator or a worker. All jobs share one loader with its threads,
// budget and caches.
#ifndef PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_
#define PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_

#include <cstdint>
#include <functional>
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
#include "pipeline/host/loader_host.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/storage/file_errors.h"

namespace penstock::feed {

// Counts the distinct bad records of a job against errors.max_bad_fraction, as the coordinator does for a served job.
// Thread-safe.
class BadRecordLimit {
 public:
  explicit BadRecordLimit(const loader::LoadJob& job);
  // Adds a record. Returns FailedPrecondition that names the record if the number of bad records exceeds the limit.
  absl::Status Add(uint64_t record, loader::DatasetReader& reader);

 private:
  const double limit_;
  const uint64_t records_;
  Mutex mutex_;
  std::set<uint64_t> bad_ ABSL_GUARDED_BY(mutex_);
};

struct LoadedJob {
  std::shared_ptr<const loader::LoadJob> job;
  std::shared_ptr<const BatchFormat> format;
  uint64_t pipeline_fingerprint = 0;  // as in saved states
  std::shared_ptr<BadRecordLimit> bad_records;
  std::shared_ptr<const storage::FileErrors> file_errors;  // shared by all jobs in this process
};

struct LocalJobsOptions {
  host::LoaderHostOptions host;
  std::string index_dir = "";
  // Receives warnings for the user, on the thread that calls Load(): indexes could not be stored, and bad records are
  // left out of the selection.
  std::function<void(const std::string&)> warn = {};
};

// Thread-safe. Must outlive its jobs and their readers.
class LocalJobs {
 public:
  explicit LocalJobs(LocalJobsOptions options) : options_(std::move(options)) {}

  // Expands the job's globs, and loads or builds its indexes. Returns the same object for an equal job whose files have
  // the same content, while any reference to it exists. May block for long. Errors name the defect of the files or the
  // job. Unless `allow_missing`, a key that none of the first records has is a defect (CheckKeys). `warn`, if it is not
  // null, receives the warnings in the place of LocalJobsOptions::warn.
  absl::StatusOr<std::shared_ptr<const LoadedJob>> Load(const v1::JobSpec& spec,
                                                        const std::vector<sources::DataRoot>& roots,
                                                        bool allow_missing = false,
                                                        const std::function<void(const std::string&)>& warn = nullptr);

  // Returns the host of the jobs, which is created on first use. Returns the errors of LoaderHost::Create().
  absl::StatusOr<host::LoaderHost*> host();

  // Returns the loader's statistics, or nullopt before its first use.
  std::optional<loader::LoaderStats> Stats();

  // Stops the threads that read records and the threads that load shards. Returns false if one still hangs in storage
  // at `deadline`. This object must then live until the process exits. The loader's own threads, which read if
  // read_threads is 0, do not stop.
  bool StopReadsBy(Nanos deadline);

 private:
  host::LoaderHost* existing_host();  // null: not created yet

  const LocalJobsOptions options_;
  const std::shared_ptr<storage::FileErrors> file_errors_ = std::make_shared<storage::FileErrors>(Clock::Real());
  Mutex creation_;  // held while the host is created; acquired before mutex_
  Mutex mutex_;
  std::unique_ptr<host::LoaderHost> host_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<const LoadedJob>> loaded_
      ABSL_GUARDED_BY(mutex_);  // by spec, roots and allow_missing
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_LOCAL_JOBS_H_
