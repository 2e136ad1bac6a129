// One thread that waits for events of descriptors. A carrier over sockets does all its work on this thread, so that it
// needs no locks.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_POLL_LOOP_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_POLL_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/owned_fd.h"
#include "base/runtime/executor.h"

namespace penstock::transport {

// A capability for clang's thread-safety analysis, like Strand: fields that the thread uses are ABSL_GUARDED_BY(loop_),
// and functions on the thread begin with loop_->AssertHere(). Users hold the loop by shared_ptr.
class ABSL_LOCKABLE PollLoop {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Handles epoll events of the descriptor. Runs on the loop's thread. Must not block.
    virtual void OnReady(uint32_t events) = 0;
    // Reports that the loop stops. Runs on the loop's thread. No further event follows.
    virtual void OnLoopEnds() = 0;
  };

  // Creates a loop and starts its thread, as StartThread does. Errors name the system call or the thread.
  static absl::StatusOr<std::shared_ptr<PollLoop>> Create(const std::string& name);
  // Requires that Stop was called.
  ~PollLoop();

  // Runs `task` soon on the thread, after all tasks posted before. Drops it if the loop has stopped. Never blocks.
  void Post(Task task);
  // Ends all watchers and the thread. Must not be called on the thread. May be called more than once.
  void Stop();

  // Aborts the process if the caller is not on the thread.
  void AssertHere() const ABSL_ASSERT_EXCLUSIVE_LOCK();

  // The functions below may be called on the loop's thread only.
  //
  // Reports `events` of `fd` to `watcher`. The loop holds `watcher` until Forget, and until a call in progress returns.
  // Returns the watch's number, or 0 if the system has no room for it.
  uint64_t Watch(int fd, uint32_t events, std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);
  // Reports only the end of the loop to `watcher`, like Watch. Returns the watch's number.
  uint64_t WatchEnd(std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);
  // Requires a watch of a descriptor.
  void Change(uint64_t number, uint32_t events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);
  // Ends the watch; no further event follows. Must be called before the descriptor is closed.
  void Forget(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);

  // Scratch buffer for received data that is processed immediately.
  static constexpr size_t kBufferBytes = 128 << 10;
  char* buffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) { return buffer_.data(); }

 private:
  struct Watched {
    int fd;  // -1: from WatchEnd
    std::shared_ptr<Watcher> watcher;
  };
  PollLoop(OwnedFd epoll, OwnedFd wake);
  void Run();
  void RunPosted();
  void EndWatchers();

  const OwnedFd epoll_, wake_;
  std::vector<char> buffer_;
  std::map<uint64_t, Watched> watched_ ABSL_GUARDED_BY(this);
  uint64_t next_ ABSL_GUARDED_BY(this) = 1;  // 0 is wake_

  Mutex mutex_;
  std::vector<Task> posted_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // Post drops tasks
  Mutex join_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(join_mutex_);
  std::thread::id id_;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_POLL_LOOP_H_
