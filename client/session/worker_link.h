// A stream to a worker as a session uses it: messages wait here until the carrier takes them, what comes is bounded by
// what was consumed. Whatever carries it: transport/message_stream.h.
#ifndef PENSTOCK_CLIENT_SESSION_WORKER_LINK_H_
#define PENSTOCK_CLIENT_SESSION_WORKER_LINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "penstock/v1/data.pb.h"
#include "transport/message_stream.h"

namespace penstock {

class WorkerLink;

// What comes on links. Called on the carrier's threads, which must not be held up: implementations hand it on.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  // Its receiver calls link->Consumed(message.bytes()) when it is done with it.
  virtual void OnLinkMessage(const std::shared_ptr<WorkerLink>& link, SliceList message) = 0;
  // The last event of a link. OK: the worker ended it in order.
  virtual void OnLinkClosed(const std::shared_ptr<WorkerLink>& link, const absl::Status& status) = 0;
};

// Thread-safe; the owner's functions never block.
class WorkerLink final : public StreamEvents, public std::enable_shared_from_this<WorkerLink> {
 public:
  // Bytes received and not consumed beyond which nothing more is read for the while: what a worker sends unasked
  // cannot fill the memory.
  static constexpr size_t kMaxBacklogBytes = 32 << 20;
  // Messages waiting to be written beyond which the link is given up: the worker reads nothing.
  static constexpr size_t kMaxQueuedMessages = 4096;

  // `number` tells the session's links apart. `events` outlives the link, or Detach is called before it goes.
  static std::shared_ptr<WorkerLink> Open(uint64_t number, const WorkerAddress& worker, Transport* transport,
                                          std::shared_ptr<LinkEvents> events);
  WorkerLink(uint64_t number, std::shared_ptr<LinkEvents> events) : number_(number), events_(std::move(events)) {}

  uint64_t number() const { return number_; }
  // Whether anything has come.
  bool heard() const { return heard_; }

  // What carried the last message (MessageStream::carrier); stays when the link has ended.
  std::string_view carrier() const {
    MutexLock lock(&mutex_);
    return carrier_;
  }

  // Sends after what was sent before; also before the worker has been reached. Lost when the link ends.
  void Send(const v1::ClientMessage& message);
  // The receiver is done with a message of that many bytes.
  void Consumed(size_t bytes);
  // Ends the link at once; OnLinkClosed follows. Any number of times.
  void Cancel();
  // No event comes any more once this has returned.
  void Detach();

 private:
  void OnMessage(SliceList message) override;
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

  const uint64_t number_;
  std::atomic<bool> heard_{false};

  Mutex events_mutex_;  // held over calls of events_, which only hand on
  std::shared_ptr<LinkEvents> events_ ABSL_GUARDED_BY(events_mutex_);

  mutable Mutex mutex_;
  std::string_view carrier_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<MessageStream> stream_ ABSL_GUARDED_BY(mutex_);  // null before Connect has returned, and once closed
  std::deque<SliceList> queue_ ABSL_GUARDED_BY(mutex_);
  size_t backlog_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // no read is under way
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // cancelled, or ended by the worker
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_WORKER_LINK_H_
