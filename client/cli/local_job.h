// The job of a command that needs no daemon.
#ifndef PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_
#define PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "client/cli/local_data.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

class LocalJob {
 public:
  // `storage` must outlive this object.
  explicit LocalJob(storage::Storage* storage) : data_(storage) {}

  // Adds --allow-missing and the flags of LocalData.
  void AddFlags(config::Flags* flags);
  const LocalData& data() const { return data_; }

  // As LoadJobArgument (job_argument.h).
  absl::StatusOr<v1::JobSpec> Load(const std::string& argument) const;
  // Opens the job and its data set, and builds indexes on `threads` threads. Rejects the job if `penstock submit` would
  // reject it because of its first records (CheckKeys).
  absl::StatusOr<std::shared_ptr<const loader::LoadJob>> Open(const v1::JobSpec& spec, int threads) const {
    return Open(data_.storage(), spec, threads);
  }
  // Reads records from `storage`, and loads shards on `executor` (see OpenDataset).
  absl::StatusOr<std::shared_ptr<const loader::LoadJob>> Open(storage::Storage* storage, const v1::JobSpec& spec,
                                                              int threads, Executor* executor = nullptr) const;

 private:
  LocalData data_;
  bool allow_missing_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_
