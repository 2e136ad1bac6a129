// Opens a job's data set on this machine, without a coordinator.
#ifndef PENSTOCK_PIPELINE_LOADER_OPEN_DATASET_H_
#define PENSTOCK_PIPELINE_LOADER_OPEN_DATASET_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/runtime/executor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/loader/dataset_reader.h"
#include "pipeline/sources/dataset_files.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/file_errors.h"
#include "pipeline/storage/storage.h"

namespace penstock::loader {

// Opens the job's shards as they are now: expands globs, loads or builds the indexes, freezes a snapshot and returns a
// reader of it. The job must have data sets. With `indexes`, loads indexes from there, and builds and stores missing
// ones, on `threads` threads (0: the CPUs of the cgroup's quota). Without it, builds all of them on the calling thread.
// `file_errors` may be null. It receives the errors of files that fail while records are read. `storage` holds the
// records. `executor` loads shards; null: SlowWorkThreads(). Both must outlive the reader and its loads. A load on
// SlowWorkThreads() may end after the reader is destroyed, so `storage` must then live until the process exits.
// `warn`, if given, receives a message on the calling thread if some indexes could not be stored: the reader is valid,
// but the next call builds these indexes again.
absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(storage::Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<sources::DataRoot>& roots,
                                                           const std::optional<sources::IndexStore>& indexes,
                                                           int threads,
                                                           std::shared_ptr<storage::FileErrors> file_errors = nullptr,
                                                           Executor* executor = nullptr,
                                                           const std::function<void(const std::string&)>& warn = {});

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_OPEN_DATASET_H_
