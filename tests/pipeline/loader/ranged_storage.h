// A storage whose reads of several records a test holds, counts and fails.
#ifndef PENSTOCK_TESTS_PIPELINE_LOADER_RANGED_STORAGE_H_
#define PENSTOCK_TESTS_PIPELINE_LOADER_RANGED_STORAGE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/local_behind.h"

namespace penstock::loader {

// Local files behind a network. A test can hold and fail reads of more than one record, and hold the opening of a file.
class RangedStorage final : public LocalBehind {
 public:
  bool HasLowLatency(const std::string& name) const override { return false; }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    Task open = [this, name, options, done = std::move(done)]() mutable {
      storage::LocalFiles()->Open(name, options, [this, done = std::move(done)](auto file) mutable {
        if (!file.ok()) return std::move(done)(file.status());
        std::move(done)(std::make_unique<File>(this, *std::move(file)));
      });
    };
    {
      MutexLock lock(&mutex_);
      opens_.insert(name);
      opened_.NotifyAll();
      if (name == held_name_) {
        held_opens_.push_back(std::move(open));
        return;
      }
    }
    std::move(open)();
  }

  // A read of more than one record, while it is under way.
  struct Range {
    std::string file;
    uint64_t begin = 0, end = 0;
    std::stop_token stop;
    Task read;
  };

  // Holds each open of `name` until the next call with another name. "" holds none.
  void HoldOpensOf(const std::string& name) {
    std::deque<Task> held;
    {
      MutexLock lock(&mutex_);
      held_name_ = name;
      held.swap(held_opens_);
    }
    for (Task& open : held) std::move(open)();
  }
  // Blocks until a caller has requested to open the file.
  void WaitForOpenOf(const std::string& name) {
    MutexLock lock(&mutex_);
    while (!opens_.contains(name)) opened_.Wait(&mutex_);
  }

  void FailRanges(bool fail) {
    MutexLock lock(&mutex_);
    fail_ = fail;
  }
  void HoldRanges(bool hold) {
    std::deque<Range> held;
    {
      MutexLock lock(&mutex_);
      hold_ = hold;
      if (!hold) held.swap(held_);
    }
    for (Range& range : held) std::move(range.read)();
  }
  // Ends the held reads whose stop was requested, as a storage does that cancels running reads. Returns how many.
  size_t EndStopped() {
    std::deque<Range> stopped;
    {
      MutexLock lock(&mutex_);
      for (auto it = held_.begin(); it != held_.end();) {
        if (!it->stop.stop_requested()) {
          ++it;
          continue;
        }
        stopped.push_back(std::move(*it));
        it = held_.erase(it);
      }
    }
    for (Range& range : stopped) std::move(range.read)();
    return stopped.size();
  }
  size_t held() {
    MutexLock lock(&mutex_);
    return held_.size();
  }
  // The number of overlaps between held reads: each pair counts twice.
  size_t overlapping() {
    MutexLock lock(&mutex_);
    size_t found = 0;
    for (const Range& a : held_) {
      for (const Range& b : held_) found += &a != &b && a.file == b.file && a.begin < b.end && b.begin < a.end ? 1 : 0;
    }
    return found;
  }
  size_t reads() {
    MutexLock lock(&mutex_);
    return reads_;
  }
  size_t ranges() {
    MutexLock lock(&mutex_);
    return ranges_;
  }

  uint64_t longest_record = UINT64_MAX;  // with its frame; set before use

 private:
  class File final : public LocalFileBehind {
   public:
    File(RangedStorage* storage, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(storage) {}
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      const bool range = length > storage_->longest_record;
      if (storage_->Fails(range)) return std::move(done)(absl::UnavailableError("the range failed"));
      storage_->Do(range, {path(), offset, offset + length, options.stop,
                           [this, offset, length, out, stop = options.stop, done = std::move(done)]() mutable {
                             if (stop.stop_requested()) return std::move(done)(absl::CancelledError("stopped"));
                             std::move(done)(file_->ReadAt(offset, length, out));
                           }});
    }

   private:
    RangedStorage* const storage_;
  };

  bool Fails(bool range) {
    MutexLock lock(&mutex_);
    ++reads_;
    ranges_ += range ? 1 : 0;
    return range && fail_;
  }
  void Do(bool range, Range what) {
    {
      MutexLock lock(&mutex_);
      if (range && hold_) {
        held_.push_back(std::move(what));
        return;
      }
    }
    std::move(what.read)();
  }

  Mutex mutex_;
  std::deque<Range> held_ ABSL_GUARDED_BY(mutex_);
  std::string held_name_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task> held_opens_ ABSL_GUARDED_BY(mutex_);
  CondVar opened_;
  std::set<std::string> opens_ ABSL_GUARDED_BY(mutex_);
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  bool fail_ ABSL_GUARDED_BY(mutex_) = false;
  size_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t ranges_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_TESTS_PIPELINE_LOADER_RANGED_STORAGE_H_
