// Reads a job's batches in this process, without a daemon or a network. `penstock bench` uses it, and it is the
// reference for served batches. Other local commands use OpenDataset.
#ifndef PENSTOCK_PIPELINE_LOADER_LOCAL_READER_H_
#define PENSTOCK_PIPELINE_LOADER_LOCAL_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/batch/batch_digest.h"
#include "pipeline/batch/row.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader.h"
#include "pipeline/plan/steps.h"
#include "pipeline/storage/files.h"
#include "pipeline/tuning/tuning_window.h"

namespace penstock {

struct LocalReaderOptions {
  int threads = 0;  // 0: the CPUs of the cgroup's quota
  // As in LoaderOptions. Batches need memory in addition: up to prefetch_steps batches, and those that the caller
  // holds.
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t record_cache_bytes = 0;
  uint64_t decoded_cache_bytes = 0;
  uint64_t row_cache_bytes = 0;
  std::shared_ptr<DiskCache> disk_cache;
  int read_ahead_rows = 32;
  int reads_under_way = 64;
  // Tunes the reader (SelfTuning). These must be the files that the job reads. Null: settings do not change.
  RemoteFiles* tune = nullptr;
  bool threads_pinned = false, read_threads_pinned = false;
  uint32_t prefetch_steps = 4;  // prepared ahead; at least 1
  Cursor start;
  uint64_t epochs = 1;  // number of epochs to begin, including that of `start`; 0: unlimited
  uint64_t rank = 0;    // the rank whose slices are read
  uint64_t world_size = 1;
  uint32_t batch_size = 0;  // 0: that of the job
  // State folder for indexes. Empty: they are built in memory and not stored.
  std::string index_dir;
};

// The slots of one rank in one step. Move-only. Its memory returns to a pool; a batch may outlive its reader.
class LocalBatch {
 public:
  struct Row {
    Location id;        // record that the plan has for the slot
    bool valid = true;  // neither padding nor masked
    bool masked = false, lenient = false, substituted = false;
    uint64_t source_record = 0;  // number in the snapshot of the record with the row's content
  };

  LocalBatch(LocalBatch&&) noexcept;
  LocalBatch& operator=(LocalBatch&&) noexcept;
  ~LocalBatch();

  const StepSpan& step() const { return step_; }
  const RowSchema& schema() const { return job_->pipeline().schema(); }
  size_t size() const { return rows_.size(); }
  const Row& row(size_t i) const { return rows_[i]; }

  // Returns FIXED column c of row i. The rows of a column are contiguous.
  std::string_view Fixed(size_t c, size_t i) const;
  // Returns RAGGED column c of row i in its encoding.
  std::string_view Ragged(size_t c, size_t i) const { return ragged_[c][i]; }

  // Adds all rows in order.
  void AddTo(BatchDigest* digest) const;

 private:
  friend class LocalStep;
  struct Pool;
  LocalBatch(std::shared_ptr<const LoadJob> job, std::shared_ptr<Pool> pool, const StepSpan& step, size_t rows);

  std::shared_ptr<const LoadJob> job_;
  std::shared_ptr<Pool> pool_;
  StepSpan step_;
  std::vector<Row> rows_;
  std::unique_ptr<std::byte[]> fixed_;  // column after column
  size_t fixed_bytes_ = 0;
  std::vector<std::byte*> columns_;  // into fixed_, by column; null for RAGGED ones
  std::vector<std::vector<std::string>> ragged_;
};

class LocalReader {
 public:
  // Expands the job's globs, loads or builds the indexes, and starts to prepare steps. Errors name the problem in the
  // files, the job or the options.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Open(Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<DataRoot>& roots,
                                                           const LocalReaderOptions& options);
  // Does the same for an existing job.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Open(std::shared_ptr<const LoadJob> job,
                                                           const LocalReaderOptions& options);
  virtual ~LocalReader() = default;

  // Blocks until the next step is complete, and returns
  //   a batch   the step
  //   nullopt   all epochs were delivered
  //   an error  a row of this step failed; each further call returns it again
  virtual absl::StatusOr<std::optional<LocalBatch>> Next() = 0;

  virtual const LoadJob& job() const = 0;
  virtual const Steps& steps() const = 0;
  virtual LoaderStats Stats() const = 0;
  // Returns the current settings if LocalReaderOptions::tune was set, otherwise nullopt.
  virtual std::optional<TuningSetting> Tuned() const = 0;
};

// Opens the job's shards as they are now: expands globs, obtains the indexes, freezes a snapshot and returns a reader
// of it. With an `index_dir`, loads or builds the indexes on `threads` threads (0: the CPUs of the cgroup's quota) and
// stores them there. Without one, builds them on the calling thread. `file_errors` may be null; it receives files that
// fail later. `storage` holds the records and must outlive the reader.
absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<DataRoot>& roots,
                                                           const std::string& index_dir, int threads,
                                                           std::shared_ptr<FileErrors> file_errors = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOCAL_READER_H_
