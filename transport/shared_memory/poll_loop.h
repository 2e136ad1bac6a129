// One thread that waits for descriptors: a carrier of sockets does all its work there, so that it needs no locks.
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

namespace penstock {

// A capability for clang's thread-safety analysis, as a Strand is: what belongs to the thread is
// ABSL_GUARDED_BY(loop_), and what runs on it begins with loop_->AssertHere(). Whoever uses it keeps it by shared_ptr.
class ABSL_LOCKABLE PollLoop {
 public:
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // On the loop's thread: epoll's events of the descriptor. Must not block.
    virtual void OnReady(uint32_t events) = 0;
    // On the loop's thread: it stops; nothing comes any more.
    virtual void OnLoopEnds() = 0;
  };

  // Errors name the system call. `name` as a thread pool's.
  static absl::StatusOr<std::shared_ptr<PollLoop>> Create(const std::string& name);
  // Stop was called.
  ~PollLoop();

  // Runs `task` on the thread, soon, after what was posted before; drops it when the loop has stopped. Never blocks.
  void Post(Task task);
  // Ends all watchers and the thread; not on the thread. Any number of times.
  void Stop();

  // Ends the process when the caller is not on the thread.
  void AssertHere() const ABSL_ASSERT_EXCLUSIVE_LOCK();

  // The following on the thread alone. The loop keeps `watcher` until Forget, and once more for a call under way.
  // 0: the system has no room for it.
  uint64_t Watch(int fd, uint32_t events, std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);
  void Change(uint64_t number, uint32_t events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);
  // Before the descriptor is closed. Nothing comes of it any more.
  void Forget(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(this);

  // For what is read and looked at at once.
  static constexpr size_t kBufferBytes = 128 << 10;
  char* buffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(this) { return buffer_.data(); }

 private:
  struct Watched {
    int fd;
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
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing is taken any more
  Mutex join_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(join_mutex_);
  std::thread::id id_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_POLL_LOOP_H_
