#include "client/cli/local_job.h"

#include "base/status_macros.h"
#include "client/cli/job_argument.h"
#include "client/cli/output.h"
#include "pipeline/loader/check_keys.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/sources/index_store.h"

namespace penstock::cli {

void LocalJob::AddFlags(config::Flags* flags) {
  data_.AddFlags(flags);
  flags->AddSwitch("allow-missing", &allow_missing_, "keys that none of the first records has are meant");
}

absl::StatusOr<v1::JobSpec> LocalJob::Load(const std::string& argument) const {
  return LoadJobArgument(data_, argument);
}

absl::StatusOr<std::shared_ptr<const loader::LoadJob>> LocalJob::Open(storage::Storage* storage,
                                                                      const v1::JobSpec& spec, int threads,
                                                                      Executor* executor) const {
  PS_ASSIGN_OR_RETURN(const auto roots, data_.Roots());
  PS_ASSIGN_OR_RETURN(const sources::IndexStore indexes, data_.Indexes(storage));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<loader::DatasetReader> dataset,
                      loader::OpenDataset(storage, spec, roots, indexes, threads, nullptr, executor, PrintWarning));
  if (!allow_missing_) PS_RETURN_IF_ERROR(loader::CheckKeys(spec, dataset.get()));
  return loader::LoadJob::Create(spec, std::move(dataset));
}

}  // namespace penstock::cli
