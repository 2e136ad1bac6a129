#include "pipeline/loader/local_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "pipeline/loader/prepared_steps.h"
#include "pipeline/loader/self_tuning.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/job_order.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_job.h"

namespace penstock {

// Reused blocks of one size. Fresh ones would cost a page fault per 4 KiB of each batch.
struct LocalBatch::Pool {
  Mutex mutex;
  std::vector<std::unique_ptr<std::byte[]>> free ABSL_GUARDED_BY(mutex);

  std::unique_ptr<std::byte[]> Acquire(size_t bytes) {
    {
      MutexLock lock(&mutex);
      if (!free.empty()) {
        std::unique_ptr<std::byte[]> block = std::move(free.back());
        free.pop_back();
        return block;
      }
    }
    return std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  void Release(std::unique_ptr<std::byte[]> block) {
    MutexLock lock(&mutex);
    free.push_back(std::move(block));
  }
};

LocalBatch::LocalBatch(std::shared_ptr<const LoadJob> job, std::shared_ptr<Pool> pool, const StepSpan& step,
                       size_t rows)
    : job_(std::move(job)), pool_(std::move(pool)), step_(step), rows_(rows) {
  const RowSchema& columns = schema();
  columns_.resize(columns.columns.size(), nullptr);
  ragged_.resize(columns.columns.size());
  // Each column begins at a multiple of 64, so that its rows can be read as any type.
  std::vector<size_t> offsets;
  for (const ColumnSpec& column : columns.columns) {
    offsets.push_back(fixed_bytes_);
    if (!column.ragged) fixed_bytes_ += (column.Bytes() * rows + 63) / 64 * 64;
  }
  fixed_ = pool_->Acquire(fixed_bytes_);
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (columns.columns[c].ragged) {
      ragged_[c].resize(rows);
    } else {
      columns_[c] = fixed_.get() + offsets[c];
    }
  }
}

LocalBatch::LocalBatch(LocalBatch&&) noexcept = default;
LocalBatch& LocalBatch::operator=(LocalBatch&& other) noexcept {
  std::swap(job_, other.job_);
  std::swap(pool_, other.pool_);
  std::swap(step_, other.step_);
  std::swap(rows_, other.rows_);
  std::swap(fixed_, other.fixed_);
  std::swap(fixed_bytes_, other.fixed_bytes_);
  std::swap(columns_, other.columns_);
  std::swap(ragged_, other.ragged_);
  return *this;
}
LocalBatch::~LocalBatch() {
  if (fixed_ != nullptr) pool_->Release(std::move(fixed_));
}

std::string_view LocalBatch::Fixed(size_t c, size_t i) const {
  const size_t bytes = schema().columns[c].Bytes();
  return {reinterpret_cast<const char*>(columns_[c] + i * bytes), bytes};
}

void LocalBatch::AddTo(BatchDigest* digest) const {
  for (size_t i = 0; i < size(); ++i) {
    const Row& row = rows_[i];
    digest->BeginRow(static_cast<int64_t>(row.id.shard), static_cast<int64_t>(row.id.record), row.valid);
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c] == nullptr) {
        digest->AddRagged(Ragged(c, i));
      } else {
        digest->AddFixed(Fixed(c, i));
      }
    }
  }
}

// Writes the rows of one step into a batch.
class LocalStep final : public StepTarget {
 public:
  LocalStep(std::shared_ptr<const LoadJob> job, std::shared_ptr<LocalBatch::Pool> pool, const Steps& steps,
            const StepSpan& span, const SlotRange& slice)
      : batch_(std::move(job), std::move(pool), span, slice.size()) {
    for (size_t i = 0; i < slice.size(); ++i) batch_.rows_[i].valid = steps.IsValid(span, slice.begin + i);
  }

  RowSlot Book(size_t row) override {
    const RowSchema& schema = batch_.schema();
    RowSlot slot;
    slot.fixed.resize(schema.columns.size(), nullptr);
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      if (batch_.columns_[c] != nullptr) slot.fixed[c] = batch_.columns_[c] + row * schema.columns[c].Bytes();
    }
    return slot;
  }

  absl::Status Put(size_t row, RowResult result) override {
    LocalBatch::Row& info = batch_.rows_[row];
    info.id = batch_.job_->offsets()->Locate(result.record_id);
    info.valid = info.valid && !result.masked;
    info.masked = result.masked;
    info.lenient = result.lenient;
    info.substituted = result.substituted;
    info.source_record = result.source_record;
    for (size_t c = 0; c < result.ragged.size(); ++c) {
      if (batch_.columns_[c] == nullptr) batch_.ragged_[c][row] = std::move(result.ragged[c]);
    }
    return absl::OkStatus();
  }

  LocalBatch Take() { return std::move(batch_); }

  // Returns the function that makes the steps of a reader. They share their memory.
  static PreparedSteps::MakeTarget Maker(std::shared_ptr<const LoadJob> job, const Steps& steps) {
    return [job = std::move(job), steps, pool = std::make_shared<LocalBatch::Pool>()](const StepSpan& span,
                                                                                      const SlotRange& slice) {
      return std::make_unique<LocalStep>(job, pool, steps, span, slice);
    };
  }

 private:
  LocalBatch batch_;
};

namespace {

class LoaderReader final : public LocalReader {
 public:
  LoaderReader(std::shared_ptr<const LoadJob> job, const Steps& steps, std::unique_ptr<Loader> loader)
      : job_(std::move(job)), steps_(steps), loader_(std::move(loader)) {}

  absl::Status Start(const LocalReaderOptions& options, int threads) {
    if (options.tune != nullptr) {
      SelfTuningOptions tuning;
      tuning.limits.most_threads = threads;
      tuning.limits.threads_pinned = options.threads_pinned;
      tuning.limits.read_threads_pinned = options.read_threads_pinned;
      tuning_ = std::make_unique<SelfTuning>(loader_.get(), options.tune, std::move(tuning));
    }
    PS_ASSIGN_OR_RETURN(prepared_, PreparedSteps::Open(loader_.get(), job_, steps_,
                                                       {options.rank, options.start, options.epochs,
                                                        std::max<uint32_t>(options.prefetch_steps, 1)},
                                                       LocalStep::Maker(job_, steps_)));
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<LocalBatch>> Next() override {
    absl::StatusOr<std::optional<PreparedStep>> step = absl::DeadlineExceededError("");
    while (absl::IsDeadlineExceeded(step.status())) step = prepared_->Next(kSecond);
    if (!step.ok()) return step.status();
    if (!step->has_value()) return std::nullopt;
    return std::optional<LocalBatch>(static_cast<LocalStep&>(*(*step)->target).Take());
  }

  const LoadJob& job() const override { return *job_; }
  const Steps& steps() const override { return steps_; }
  LoaderStats Stats() const override { return loader_->Stats(); }
  std::optional<TuningSetting> Tuned() const override {
    return tuning_ != nullptr ? std::optional(tuning_->Get().setting) : std::nullopt;
  }

 private:
  const std::shared_ptr<const LoadJob> job_;
  const Steps steps_;
  const std::unique_ptr<Loader> loader_;
  std::unique_ptr<SelfTuning> tuning_;       // null: none
  std::unique_ptr<PreparedSteps> prepared_;  // destroyed before the loader
};

}  // namespace

absl::StatusOr<std::shared_ptr<DatasetReader>> OpenDataset(Storage* storage, const v1::JobSpec& job,
                                                           const std::vector<DataRoot>& roots,
                                                           const std::string& index_dir, int threads,
                                                           std::shared_ptr<FileErrors> file_errors) {
  if (job.dataset_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.name(), ": needs exactly one dataset, has ", job.dataset_size()));
  }
  const v1::Dataset& dataset = DatasetOf(job);
  const std::vector<std::string> globs(dataset.files().begin(), dataset.files().end());
  PS_ASSIGN_OR_RETURN(const std::vector<DatasetFile> files, ExpandGlobs(storage, globs, roots));
  const IndexOptions options = IndexOptionsOf(job);

  std::map<std::string, std::shared_ptr<const ShardIndex>> built;  // by path
  if (index_dir.empty()) {
    for (const DatasetFile& file : files) {
      PS_ASSIGN_OR_RETURN(const std::unique_ptr<StoredFile> opened, storage->OpenAndWait(file.path));
      PS_ASSIGN_OR_RETURN(ShardIndex index, BuildShardIndex(*opened, options));
      built[file.path] = std::make_shared<const ShardIndex>(std::move(index));
    }
  } else {
    std::vector<std::string> paths;
    for (const DatasetFile& file : files) paths.push_back(file.path);
    std::vector<absl::StatusOr<LoadedIndex>> loaded = BuildIndexes(IndexStore::InStateDir(storage, index_dir), paths,
                                                                   options, threads > 0 ? threads : AvailableCpus());
    for (size_t i = 0; i < files.size(); ++i) {
      if (!loaded[i].ok()) return loaded[i].status();
      built[files[i].path] = loaded[i]->index;
    }
  }
  std::vector<SnapshotShard> shards;
  for (const DatasetFile& file : files) {
    const ShardIndex& index = *built.at(file.path);
    SnapshotShard shard;
    shard.root = file.root;
    shard.relative_path = file.relative_path;
    shard.size = index.file_size;
    shard.record_count = index.record_count();
    shard.content_hash = index.content_hash;
    shard.data_bytes = index.data_bytes();
    shard.container = index.kind().container;
    shards.push_back(std::move(shard));
  }
  PS_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Create(std::move(shards)));
  struct Known {
    Mutex mutex;
    std::map<std::string, std::shared_ptr<const ShardIndex>> indexes ABSL_GUARDED_BY(mutex);  // by path
  };
  const auto known = std::make_shared<Known>();
  {
    MutexLock lock(&known->mutex);
    known->indexes = std::move(built);
  }
  IndexProvider provider = [storage, known, options](
                               const SnapshotShard& shard, const std::string& path,
                               const std::stop_token& stop) -> absl::StatusOr<std::shared_ptr<const ShardIndex>> {
    PS_ASSIGN_OR_RETURN(const std::unique_ptr<StoredFile> file, storage->OpenAndWait(path));
    {
      MutexLock lock(&known->mutex);
      const auto it = known->indexes.find(path);
      if (it != known->indexes.end() && it->second->file_info() == file->opened()) return it->second;
    }
    IndexOptions stoppable = options;
    stoppable.stop = stop;
    PS_ASSIGN_OR_RETURN(ShardIndex walked, BuildShardIndex(*file, stoppable));
    auto index = std::make_shared<const ShardIndex>(std::move(walked));
    MutexLock lock(&known->mutex);
    known->indexes[path] = index;
    return index;
  };
  DatasetReader::Options reader;
  reader.max_record_bytes = options.max_record_bytes;
  reader.file_errors = std::move(file_errors);
  return DatasetReader::Create(storage, std::move(snapshot), roots, std::move(provider), reader);
}

absl::StatusOr<std::unique_ptr<LocalReader>> LocalReader::Open(Storage* storage, const v1::JobSpec& job,
                                                               const std::vector<DataRoot>& roots,
                                                               const LocalReaderOptions& options) {
  PS_ASSIGN_OR_RETURN(std::shared_ptr<DatasetReader> reader,
                      OpenDataset(storage, job, roots, options.index_dir, options.threads));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<const LoadJob> load_job, LoadJob::Create(job, std::move(reader)));
  return Open(std::move(load_job), options);
}

absl::StatusOr<std::unique_ptr<LocalReader>> LocalReader::Open(std::shared_ptr<const LoadJob> job,
                                                               const LocalReaderOptions& options) {
  const uint32_t size = options.batch_size > 0 ? options.batch_size : job->spec().batch().size();
  PS_ASSIGN_OR_RETURN(const Steps steps, Steps::Create(job->positions(), size, LastBatchOf(job->spec().batch().last()),
                                                       options.world_size));
  if (options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of ", options.world_size, ": ranks are numbered from 0"));
  }
  LoaderOptions loader_options;
  loader_options.threads = options.threads > 0 ? options.threads : AvailableCpus();
  loader_options.memory_budget_bytes = options.memory_budget_bytes;
  loader_options.record_cache_bytes = options.record_cache_bytes;
  loader_options.decoded_cache_bytes = options.decoded_cache_bytes;
  loader_options.row_cache_bytes = options.row_cache_bytes;
  loader_options.disk_cache = options.disk_cache;
  loader_options.read_ahead_rows = options.read_ahead_rows;
  loader_options.reads_under_way = options.reads_under_way;
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader, Loader::Create(loader_options));
  auto reader = std::make_unique<LoaderReader>(std::move(job), steps, std::move(loader));
  PS_RETURN_IF_ERROR(reader->Start(options, loader_options.threads));
  return reader;
}

}  // namespace penstock
