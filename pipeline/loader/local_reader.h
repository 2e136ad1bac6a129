// A job's batches in this process: no daemon, no network. What `penstock preview` and `penstock bench` are built on,
// and the reference that served batches are compared with.
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
  int threads = 0;  // 0: the CPUs that the cgroup's quota gives
  // As of LoaderOptions; batches come on top: up to prefetch_steps of them, and those that the caller holds.
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t record_cache_bytes = 0;
  uint64_t decoded_cache_bytes = 0;
  uint64_t row_cache_bytes = 0;
  std::shared_ptr<DiskCache> disk_cache;
  int read_ahead_rows = 32;
  int reads_under_way = 64;
  // Tuned while it reads, where the job's files are these (SelfTuning); null: settings stay as they are.
  RemoteFiles* tune = nullptr;
  bool threads_pinned = false, read_threads_pinned = false;
  uint32_t prefetch_steps = 4;  // prepared ahead; at least 1
  Cursor start;
  uint64_t epochs = 1;  // epochs that are begun, that of `start` included; 0: without end
  uint64_t rank = 0;    // whose slices of the steps
  uint64_t world_size = 1;
  uint32_t batch_size = 0;  // 0: the job's
  // Where indexes are kept: a state folder. Empty: they are built in memory and not kept.
  std::string index_dir;
};

// The slots of one rank in one step. Move-only; its memory goes back to the reader (which may be gone by then).
class LocalBatch {
 public:
  struct Row {
    Location id;        // of the record that the plan gives
    bool valid = true;  // not padding, not masked
    bool masked = false, lenient = false, substituted = false;
    uint64_t source_record = 0;  // number in the snapshot of the record whose content it is
  };

  LocalBatch(LocalBatch&&) noexcept;
  LocalBatch& operator=(LocalBatch&&) noexcept;
  ~LocalBatch();

  const StepSpan& step() const { return step_; }
  const RowSchema& schema() const { return job_->pipeline().schema(); }
  size_t size() const { return rows_.size(); }
  const Row& row(size_t i) const { return rows_[i]; }

  // FIXED column c of row i; the rows of a column follow each other without a gap.
  std::string_view Fixed(size_t c, size_t i) const;
  // RAGGED column c of row i, in its encoding.
  std::string_view Ragged(size_t c, size_t i) const { return ragged_[c][i]; }

  // Adds all rows, in order.
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
  std::vector<std::byte*> columns_;  // of fixed_, by column; null for RAGGED ones
  std::vector<std::vector<std::string>> ragged_;
};

class LocalReader {
 public:
  // Expands the job's globs, loads or builds the indexes, and begins to prepare. Errors name what is wrong with the
  // files, the job or the options.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Open(Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<DataRoot>& roots,
                                                           const LocalReaderOptions& options);
  // The same for a job that is there already.
  static absl::StatusOr<std::unique_ptr<LocalReader>> Open(std::shared_ptr<const LoadJob> job,
                                                           const LocalReaderOptions& options);
  virtual ~LocalReader() = default;

  // Waits for the next step.
  //   a batch   the step
  //   nullopt   all epochs have been delivered
  //   an error  a row of this step failed; every further call returns it again
  virtual absl::StatusOr<std::optional<LocalBatch>> Next() = 0;

  virtual const LoadJob& job() const = 0;
  virtual const Steps& steps() const = 0;
  virtual LoaderStats Stats() const = 0;
  // Where LocalReaderOptions::tune was given; else nothing.
  virtual std::optional<TuningSetting> Tuned() const = 0;
};

// The job's shards as they are now: globs expanded, indexes loaded or built on `threads` threads (kept below
// `index_dir` unless it is empty), and frozen as a snapshot with a reader on it. `troubles`, if given, is told of files
// that fail later; records are read from `storage`. Both outlive the reader.
absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<DataRoot>& roots,
                                                           const std::string& index_dir, int threads,
                                                           std::shared_ptr<FileErrors> troubles = nullptr);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOCAL_READER_H_
