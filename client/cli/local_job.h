// A job on this machine's own data, for the commands that need no daemon.
#ifndef PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_
#define PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/local_data.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/storage/files.h"

namespace penstock::cli {

class LocalJob {
 public:
  // --allow-missing, and those of LocalData.
  void AddFlags(Flags* flags);
  const LocalData& data() const { return data_; }

  // As LoadJobArgument.
  absl::StatusOr<v1::JobSpec> Load(const std::string& argument) const;
  // With its data set, indexed on `threads` threads. Refused where `penstock submit` refuses it for what its first
  // records hold (CheckKeys).
  // Records are read from `storage`, which outlives the job.
  absl::StatusOr<std::shared_ptr<const LoadJob>> Open(const v1::JobSpec& spec, int threads,
                                                      Storage* storage = AnyFiles()) const;

 private:
  LocalData data_;
  bool allow_missing_ = false;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_LOCAL_JOB_H_
