// A data set and a pipeline in memory. The test chooses their sizes, faults and delays.
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_LOADER_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_LOADER_TESTING_H_

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/sim_scheduler.h"
#include "pipeline/loader/loader.h"

namespace penstock::loader {

// Records "0", "1", ...: each is its number in the snapshot as text, padded to `record_bytes`.
class MemoryDataset final : public DatasetReader {
 public:
  MemoryDataset(int shards, int records_per_shard, size_t record_bytes) : record_bytes_(record_bytes) {
    std::vector<sources::SnapshotShard> list;
    for (int s = 0; s < shards; ++s) {
      sources::SnapshotShard shard;
      shard.root = "data";
      shard.relative_path = absl::StrCat("shard-", 100 + s);
      shard.record_count = static_cast<uint64_t>(records_per_shard);
      shard.data_bytes = shard.record_count * record_bytes;
      list.push_back(shard);
    }
    auto snapshot = sources::Snapshot::Create(std::move(list));
    PS_CHECK(snapshot.ok());
    snapshot_ = *std::move(snapshot);
  }

  const sources::Snapshot& snapshot() const override { return snapshot_; }
  absl::StatusOr<uint64_t> RecordBytes(uint64_t record) override { return record_bytes_; }
  absl::Status ReadRecord(uint64_t record, std::string* out) override {
    reads.fetch_add(1);
    if (on_read) {
      if (absl::Status status = on_read(record); !status.ok()) return status;
    }
    *out = std::to_string(record);
    out->resize(record_bytes_, ' ');
    bytes_read_.fetch_add(record_bytes_);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string_view> ReadRecord(uint64_t record, RecordBuffer* buffer) override {
    std::string bytes;
    if (absl::Status status = ReadRecord(record, &bytes); !status.ok()) return status;
    std::memcpy(buffer->Get(bytes.size()), bytes.data(), bytes.size());
    return std::string_view(buffer->Get(bytes.size()), bytes.size());
  }
  void WillRead(uint64_t record) override {
    MutexLock lock(&mutex_);
    announced_.push_back(record);
  }
  std::vector<uint64_t> announced() {
    MutexLock lock(&mutex_);
    return announced_;
  }
  std::string Describe(uint64_t record) override { return absl::StrCat("shard-x, record ", record, " at offset 0"); }
  uint64_t bytes_read() const override { return bytes_read_.load(); }

  std::function<absl::Status(uint64_t record)> on_read;  // set before use
  std::atomic<int> reads{0};

 private:
  const size_t record_bytes_;
  sources::Snapshot snapshot_;
  std::atomic<uint64_t> bytes_read_{0};
  Mutex mutex_;
  std::vector<uint64_t> announced_ ABSL_GUARDED_BY(mutex_);
};

// One column "data", uint8[row_bytes], filled with the low byte of a mix of record id, epoch and the record's text.
class MemoryPipeline final : public augment::Pipeline {
 public:
  explicit MemoryPipeline(int64_t row_bytes) {
    batch::ColumnSpec column;
    column.name = "data";
    column.dtype = batch::DType::kUint8;
    column.shape = {row_bytes};
    schema_.columns.push_back(column);
  }
  const batch::RowSchema& schema() const override { return schema_; }
  uint64_t fingerprint() const override { return 99; }
  size_t ScratchBytes(std::string_view record) const override {
    return scratch ? scratch(std::stoull(std::string(record))) : 0;
  }
  absl::Status MakeRow(std::string_view record, const SampleKey& key, batch::RowSlot* slot,
                       augment::RowScratch* row_scratch) const override {
    const uint64_t number = std::stoull(std::string(record));
    if (on_make) {
      if (absl::Status status = on_make(number); !status.ok()) return status;
    }
    std::memset(slot->fixed[0], Content(number, key), schema_.columns[0].Bytes());
    return absl::OkStatus();
  }
  bool IsDeterministic() const override { return deterministic; }
  bool HasDecodedPrefix() const override { return decoded_bytes > 0; }
  absl::StatusOr<std::string> MakeDecoded(std::string_view record, augment::RowScratch*) const override {
    if (on_decode) on_decode();
    return std::string(decoded_bytes, record[0]);
  }
  absl::Status MakeRowFromDecoded(std::string_view record, std::string_view, const SampleKey& key, batch::RowSlot* slot,
                                  augment::RowScratch* row_scratch) const override {
    if (on_decoded) on_decoded();
    const uint64_t number = std::stoull(std::string(record));
    std::memset(slot->fixed[0], Content(number, key), schema_.columns[0].Bytes());
    return absl::OkStatus();
  }

  bool deterministic = false;                   // set before use
  size_t decoded_bytes = 0;                     // bytes of a cacheable decoded image; 0: there is none
  std::function<void()> on_decode, on_decoded;  // called when the whole image is decoded, and when a row is made of it
  std::function<uint64_t(uint64_t record)> scratch;
  std::function<absl::Status(uint64_t record)> on_make;

 private:
  int Content(uint64_t number, const SampleKey& key) const {
    const uint64_t drawn = deterministic ? 0 : key.epoch * 7;
    return static_cast<int>((number * 31 + drawn + key.record_id) & 0xff);
  }

  batch::RowSchema schema_;
};

struct MemoryJob {
  std::shared_ptr<MemoryDataset> dataset;
  MemoryPipeline* pipeline = nullptr;  // owned by the job; set its functions before the job is used
  std::shared_ptr<const LoadJob> job;
};

inline MemoryJob MakeMemoryJob(int records, size_t record_bytes, int64_t row_bytes, v1::ErrorPolicy policy = v1::FAIL) {
  MemoryJob made;
  made.dataset = std::make_shared<MemoryDataset>(1, records, record_bytes);
  auto pipeline = std::make_unique<MemoryPipeline>(row_bytes);
  made.pipeline = pipeline.get();
  v1::JobSpec spec;
  spec.set_name("memory");
  spec.mutable_order()->set_shuffle(v1::Order::NONE);
  spec.mutable_errors()->set_policy(policy);
  auto job = LoadJob::Create(spec, made.dataset, std::move(pipeline));
  PS_CHECK(job.ok());
  made.job = *job;
  return made;
}

// Returns a clock that advances only by pauses. All tests share it.
inline Clock* StoppedClock() {
  static ManualClock clock;
  return &clock;
}

// Options of a loader whose makers are tasks of `sim`: they make rows while the test runs it.
inline LoaderOptions OptionsIn(SimScheduler* sim) {
  LoaderOptions options;
  options.executor = sim;
  options.clock = sim->clock();
  return options;
}

// Keeps every row until the test drops some: a trainer that does not fetch its batches.
class HoldingSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    MutexLock lock(&mutex_);
    rows_.push_back(std::move(row));
    arrived_.NotifyAll();
  }
  size_t Revoke(size_t bytes, bool) override {
    std::vector<RowResult> dropped;
    size_t freed = 0;
    {
      MutexLock lock(&mutex_);
      ++revocations_;
      while (freed < bytes && !rows_.empty()) {
        size_t furthest = 0;
        for (size_t i = 1; i < rows_.size(); ++i) {
          if (rows_[i].request.step > rows_[furthest].request.step) furthest = i;
        }
        if (!revocable_ || session == nullptr || rows_[furthest].request.step <= keep_up_to_) break;
        freed += rows_[furthest].bytes->bytes();
        dropped.push_back(std::move(rows_[furthest]));
        rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(furthest));
      }
    }
    if (!dropped.empty()) {
      std::vector<RowRequest> again;
      for (const RowResult& row : dropped) again.push_back(row.request);
      dropped.clear();
      session->Request(std::move(again));
    }
    return freed;
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (rows_.size() < rows) arrived_.Wait(&mutex_);
  }
  // Blocks until all rows of the step are here, then removes and returns them.
  std::vector<RowResult> TakeStep(uint64_t step, size_t rows) {
    MutexLock lock(&mutex_);
    std::vector<RowResult> taken;
    while (taken.size() < rows) {
      for (size_t i = 0; i < rows_.size();) {
        if (rows_[i].request.step == step) {
          taken.push_back(std::move(rows_[i]));
          rows_.erase(rows_.begin() + static_cast<ptrdiff_t>(i));
        } else {
          ++i;
        }
      }
      if (taken.size() < rows) arrived_.Wait(&mutex_);
    }
    return taken;
  }
  size_t held() {
    MutexLock lock(&mutex_);
    return rows_.size();
  }
  int revocations() {
    MutexLock lock(&mutex_);
    return revocations_;
  }
  void KeepUpTo(uint64_t step) {
    MutexLock lock(&mutex_);
    keep_up_to_ = step;
  }
  void MakeRevocable(bool revocable) {
    MutexLock lock(&mutex_);
    revocable_ = revocable;
  }
  void Clear() {
    MutexLock lock(&mutex_);
    rows_.clear();
  }

  // Receives a new request for each revoked row. Without it the sink revokes nothing.
  Loader::Session* session = nullptr;

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::vector<RowResult> rows_ ABSL_GUARDED_BY(mutex_);
  int revocations_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t keep_up_to_ ABSL_GUARDED_BY(mutex_) = 0;
  bool revocable_ ABSL_GUARDED_BY(mutex_) = true;
};

// All rows of all epochs.
inline ExpectedRows ExpectAll(const LoadJob& job, uint64_t end_epoch = plan::kWithoutEnd) {
  return {*plan::Steps::Create(job.positions(), 1, plan::LastBatch::kDrop, 1), 0, {}, end_epoch};
}

// Rows [begin, end) in steps of `rows_per_step`.
inline std::vector<RowRequest> RowsOf(uint64_t begin, uint64_t end, uint64_t rows_per_step) {
  std::vector<RowRequest> rows;
  for (uint64_t position = begin; position < end; ++position) {
    RowRequest row;
    row.position = position;
    row.step = position / rows_per_step;
    row.tag = position;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_LOADER_TESTING_H_
