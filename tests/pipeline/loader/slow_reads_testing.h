// Files whose reads wait until a test releases them, and loaders that read them.
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_SLOW_READS_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_SLOW_READS_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/mutex.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/pipeline/loader/local_behind.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {

// Local files whose reads wait until the test releases them, in the order of the calls.
class HeldStorage final : public LocalBehind {
 public:
  bool HasLowLatency(const std::string& name) const override { return near_.load(); }
  void SayNear(bool near) { near_.store(near); }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    storage::LocalFiles()->Open(name, options, [this, done = std::move(done)](auto file) mutable {
      if (!file.ok()) {
        std::move(done)(file.status());
      } else {
        std::move(done)(std::make_unique<File>(this, *std::move(file)));
      }
    });
  }

  // Holds all further reads, or releases the held ones and holds none.
  void Hold(bool hold) {
    {
      MutexLock lock(&mutex_);
      hold_ = hold;
    }
    if (!hold) Let(SIZE_MAX);
  }
  // Runs `reads` of the held reads.
  void Let(size_t reads) {
    for (size_t i = 0; i < reads; ++i) {
      Task read;
      {
        MutexLock lock(&mutex_);
        if (waiting_.empty()) return;
        read = std::move(waiting_.front());
        waiting_.pop_front();
      }
      std::move(read)();
    }
  }
  // Fails the next `reads` reads.
  void Fail(int reads, absl::Status status) {
    MutexLock lock(&mutex_);
    to_fail_ = reads;
    failure_ = std::move(status);
  }
  void WaitForReads(size_t reads) {
    MutexLock lock(&mutex_);
    while (waiting_.size() < reads) changed_.Wait(&mutex_);
  }
  size_t waiting() {
    MutexLock lock(&mutex_);
    return waiting_.size();
  }
  size_t most() {
    MutexLock lock(&mutex_);
    return most_;
  }
  int urgent() {
    MutexLock lock(&mutex_);
    return urgent_;
  }

 private:
  class File final : public LocalFileBehind {
   public:
    File(HeldStorage* storage, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(storage) {}
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      storage_->Add(options.priority,
                    [this, offset, length, out, options, storage = storage_, done = std::move(done)]() mutable {
                      if (options.stop.stop_requested()) {
                        std::move(done)(absl::CancelledError(path()));
                      } else if (absl::Status failure = storage->NextFailure(); !failure.ok()) {
                        std::move(done)(std::move(failure));
                      } else if (*file_->Info() != opened()) {
                        std::move(done)(absl::AbortedError("changed"));
                      } else {
                        std::move(done)(file_->ReadAt(offset, length, out));
                      }
                    });
    }

   private:
    HeldStorage* const storage_;
  };

  void Add(storage::CallPriority priority, Task read) {
    {
      MutexLock lock(&mutex_);
      urgent_ += priority == storage::CallPriority::kUrgent ? 1 : 0;
      waiting_.push_back(std::move(read));
      most_ = std::max(most_, waiting_.size());
      changed_.NotifyAll();
      if (hold_) return;
    }
    Let(1);  // inside the call, as the contract allows
  }
  absl::Status NextFailure() {
    MutexLock lock(&mutex_);
    return to_fail_-- > 0 ? failure_ : absl::OkStatus();
  }

  std::atomic<bool> near_{false};
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  int urgent_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int to_fail_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

inline std::shared_ptr<const LoadJob> JobOn(storage::Storage* storage, const support::TestDataset& set,
                                            const std::string& state) {
  const auto frozen = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  PS_CHECK(frozen.ok());
  DatasetReader::Options options;
  auto reader = DatasetReader::Create(
      storage, (*frozen)->snapshot(), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state), sources::IndexOptions()), options);
  PS_CHECK(reader.ok());
  auto job = LoadJob::Create(set.job, *reader);
  PS_CHECK(job.ok());
  return *job;
}

inline std::unique_ptr<Loader> LoaderOf(int threads, int reads_under_way = 64, uint64_t memory = 8 << 20) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = memory;
  options.reads_under_way = reads_under_way;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

inline std::unique_ptr<Loader::Session> SessionOf(Loader* loader, std::shared_ptr<const LoadJob> job, RowSink* sink,
                                                  uint32_t step_rows = 8) {
  LoaderSessionOptions options;
  options.largest_step_rows = step_rows;
  auto session = loader->OpenSession(std::move(job), options, sink);
  PS_CHECK(session.ok());
  return *std::move(session);
}

// Everything by which a trainer could distinguish rows.
inline std::string Told(const RowResult& row, const LoadJob& job) {
  // Payloads have no order.
  const auto describe = [](const absl::Status& status) {
    return absl::StrCat(status.ToString(absl::StatusToStringMode::kWithNoExtraData), "|",
                        std::string(FaultName(FaultOf(status))));
  };
  std::string text = absl::StrCat(describe(row.status), "|", row.record_id, "|", row.source_record, "|", row.masked,
                                  row.substituted, "|", describe(row.fault), "|", row.fault_offset.value_or(0), "|");
  if (row.fixed != nullptr) text.append(reinterpret_cast<const char*>(row.fixed.get()), job.fixed_bytes());
  for (const std::string& column : row.ragged) absl::StrAppend(&text, "|", column);
  return text;
}

inline std::map<uint64_t, std::string> AllRows(const std::shared_ptr<const LoadJob>& job, Loader* loader, size_t rows) {
  HoldingSink sink;
  auto session = SessionOf(loader, job, &sink);
  session->Request(RowsOf(0, rows, rows));
  std::map<uint64_t, std::string> told;
  for (const RowResult& row : sink.TakeStep(0, rows)) told[row.request.position] = Told(row, *job);
  return told;
}

class SlowReadsTest : public ::testing::Test {
 protected:
  void Make(sources::Compression compression = sources::Compression::kNone, v1::ErrorPolicy policy = v1::FAIL) {
    support::ImageDatasetOptions images;
    images.shards = 2;
    images.compression = compression;
    set_ = support::MakeImageDataset(images, folder_.path());
    set_.job.mutable_errors()->set_policy(policy);
    set_.job.mutable_errors()->set_max_bad_fraction(1);
    job_ = JobOn(&storage_, set_, state_.path());
  }
  // Opens all files, so that rows wait only for reads.
  void OpenFiles() {
    auto loader = LoaderOf(1);
    AllRows(job_, loader.get(), 40);
  }

  support::TempFolder folder_, state_;
  HeldStorage storage_;
  support::TestDataset set_;
  std::shared_ptr<const LoadJob> job_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_SLOW_READS_TESTING_H_
