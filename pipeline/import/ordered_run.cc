#include "pipeline/import/ordered_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/threads.h"

namespace penstock::imports {
namespace {

using Made = absl::StatusOr<MadeRecord>;
using TakeMade = std::function<absl::Status(uint64_t, Made)>;

// How far the threads may run ahead of the first missing record.
constexpr uint64_t kMaxAhead = 4096;

class Run {
 public:
  Run(const RecordSource& source, uint64_t first, uint64_t end, const std::function<uint64_t(uint64_t)>& item_at,
      uint64_t window_bytes, const TakeMade& take)
      : source_(source),
        end_(end),
        item_at_(item_at),
        window_bytes_(window_bytes),
        take_(take),
        ahead_(source.ahead()),
        next_(first),
        head_(first),
        announced_(first) {}

  void Work() {
    const std::unique_ptr<RecordMaker> maker = source_.NewMaker();
    while (const std::optional<uint64_t> position = Claim()) {
      Announce(*position);
      MadeRecord record;
      const absl::Status made = maker->Make(item_at_(*position), &record);
      if (Deliver(*position, made.ok() ? Made(std::move(record)) : Made(made))) TakeAll();
    }
  }

  void Stop(absl::Status why) {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    failure_ = std::move(why);
    stopped_ = true;
    room_.NotifyAll();
  }

  absl::Status failure() {
    MutexLock lock(&mutex_);
    return failure_;
  }

 private:
  // Returns the next position to make, or blocks while the window is full. This cannot deadlock: the thread that makes
  // the record at `head_` never waits here, so it will make room.
  std::optional<uint64_t> Claim() {
    MutexLock lock(&mutex_);
    while (!stopped_ && next_ < end_ && (waiting_bytes_ >= window_bytes_ || next_ - head_ >= kMaxAhead) &&
           next_ != head_) {
      room_.Wait(&mutex_);
    }
    if (stopped_ || next_ >= end_) return std::nullopt;
    return next_++;
  }

  // Announces the positions after `position`, as far ahead as the source wants.
  void Announce(uint64_t position) {
    if (ahead_ == 0) return;
    uint64_t from = 0, to = 0;
    {
      MutexLock lock(&mutex_);
      to = end_ - position > ahead_ ? position + ahead_ : end_;
      from = announced_;
      if (to > announced_) announced_ = to;
    }
    for (; from < to; ++from) source_.WillMake(item_at_(from));
  }

  // Stores a record. Returns whether the caller must now take records.
  bool Deliver(uint64_t position, Made made) {
    MutexLock lock(&mutex_);
    if (made.ok()) waiting_bytes_ += made->bytes.size();
    waiting_.emplace(position, std::move(made));
    if (taking_ || stopped_) return false;
    return taking_ = true;
  }

  void TakeAll() {
    for (;;) {
      std::optional<Made> made;
      uint64_t position = 0;
      {
        MutexLock lock(&mutex_);
        const auto first = waiting_.begin();
        if (stopped_ || first == waiting_.end() || first->first != head_) {
          taking_ = false;
          return;
        }
        if (first->second.ok()) waiting_bytes_ -= first->second->bytes.size();
        made = std::move(first->second);
        waiting_.erase(first);
        position = head_++;
        room_.NotifyAll();
      }
      if (absl::Status taken = take_(position, *std::move(made)); !taken.ok()) {
        Stop(std::move(taken));  // taking_ stays set, so no thread takes further records
        return;
      }
    }
  }

  const RecordSource& source_;
  const uint64_t end_;
  const std::function<uint64_t(uint64_t)>& item_at_;
  const uint64_t window_bytes_;
  const TakeMade& take_;

  const uint64_t ahead_;

  Mutex mutex_;
  CondVar room_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_);       // next position to make
  uint64_t head_ ABSL_GUARDED_BY(mutex_);       // next position to take
  uint64_t announced_ ABSL_GUARDED_BY(mutex_);  // positions before this are announced
  std::map<uint64_t, Made> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool taking_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status MakeInOrder(const RecordSource& source, uint64_t first, uint64_t end,
                         const std::function<uint64_t(uint64_t)>& item_at, const OrderedRunOptions& options,
                         const TakeMade& take) {
  Run run(source, first, end, item_at, options.window_bytes, take);
  const std::stop_callback stopping(options.stop, [&run] { run.Stop(absl::CancelledError("the run was stopped")); });
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, options.threads); ++i) {
    absl::StatusOr<std::thread> thread = StartThread("ps-import", [&run] { run.Work(); });
    if (!thread.ok()) break;
    threads.push_back(*std::move(thread));
  }
  if (threads.empty()) run.Work();
  for (std::thread& thread : threads) thread.join();
  return run.failure();
}

}  // namespace penstock::imports
