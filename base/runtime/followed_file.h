// The parsed content of a file, or of several, that a process follows: a change takes effect without a restart.
#ifndef PENSTOCK_BASE_RUNTIME_FOLLOWED_FILE_H_
#define PENSTOCK_BASE_RUNTIME_FOLLOWED_FILE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"

namespace penstock {

// Thread-safe. Content must be comparable with ==.
template <typename Content>
class FollowedFile {
 public:
  // The result of a look at the file that differs from the last one.
  struct Change {
    std::shared_ptr<const Content> current;  // the content in use
    bool replaced = false;                   // `current` is new
    absl::Status fault;                      // why the file is not used
  };
  using Read = std::function<absl::StatusOr<Content>()>;
  using OnChange = std::function<void(const Change&)>;

  // Reads the file by `read`, whose errors it returns. Refresh calls `on_change`, one call at a time. `on_change` may
  // call current() and fault(), but not Refresh().
  static absl::StatusOr<std::shared_ptr<FollowedFile>> Load(Read read, OnChange on_change = nullptr) {
    PS_ASSIGN_OR_RETURN(Content content, read());
    return std::shared_ptr<FollowedFile>(new FollowedFile(std::move(read), std::move(on_change), std::move(content)));
  }

  // Waits for a look at the file that is under way.
  ~FollowedFile() {
    if (thread_ != nullptr) thread_->Stop();
  }

  // Starts a thread that calls Refresh every 2 s. Must be called at most once. Returns ResourceExhausted if the system
  // refuses the thread.
  absl::Status Watch(const std::string& thread_name) {
    thread_ = std::make_unique<ThreadPool>(1, thread_name);
    if (thread_->GrowTo(1) == 0) {
      return absl::ResourceExhaustedError(absl::StrCat("the system refuses a thread (", thread_name,
                                                       ") that follows changes of a file; ", ThreadLimits()));
    }
    LookAgain();
    return absl::OkStatus();
  }

  // Reads the file and uses its content if it is valid. Otherwise keeps the current content. A file may be read while
  // it is written, and files are replaced one by one, so a fault counts only if two looks in succession find the same
  // one. Blocks for the read.
  void Refresh() {
    MutexLock refreshing(&refreshing_);
    absl::StatusOr<Content> read = read_();
    const bool again = !read.ok() && read.status() == suspected_;
    suspected_ = read.status();
    Change change;
    {
      MutexLock lock(&mutex_);
      const absl::Status before = fault_;
      if (read.ok()) {
        fault_ = absl::OkStatus();
        if (!(*read == *current_)) {
          current_ = std::make_shared<const Content>(*std::move(read));
          change.replaced = true;
        }
      } else if (again) {
        fault_ = read.status();
      }
      if (!change.replaced && fault_ == before) return;
      change.current = current_;
      change.fault = fault_;
    }
    if (on_change_ != nullptr) on_change_(change);
  }

  // Returns the content in use. The pointer changes when the content does.
  std::shared_ptr<const Content> current() const {
    MutexLock lock(&mutex_);
    return current_;
  }
  // Returns why the file is not used. OK: it is.
  absl::Status fault() const {
    MutexLock lock(&mutex_);
    return fault_;
  }

 private:
  static constexpr Nanos kLookEvery = 2 * kSecond;

  FollowedFile(Read read, OnChange on_change, Content content)
      : read_(std::move(read)),
        on_change_(std::move(on_change)),
        current_(std::make_shared<const Content>(std::move(content))) {}

  void LookAgain() {
    thread_->PostAt(thread_->clock()->Now() + kLookEvery, [this] {
      Refresh();
      LookAgain();
    });
  }

  const Read read_;
  const OnChange on_change_;
  Mutex refreshing_;  // held by a Refresh while it reads the file and calls on_change_
  absl::Status suspected_ ABSL_GUARDED_BY(refreshing_);  // the fault that the last look found
  mutable Mutex mutex_;
  std::shared_ptr<const Content> current_ ABSL_GUARDED_BY(mutex_);
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ThreadPool> thread_;  // of Watch
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_FOLLOWED_FILE_H_
