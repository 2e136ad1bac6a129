// A session's stream to a worker. Queues messages until the carrier accepts them, and limits the bytes of received
// messages that are not processed yet. Independent of the carrier: transport/message_stream.h.
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

namespace penstock::client {

class WorkerLink;

// Events of links. Called on the carrier's threads: implementations must not block, and pass the events on.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  // Delivers a message. The receiver must call link->Consumed(message.bytes()) after processing it.
  virtual void OnLinkMessage(const std::shared_ptr<WorkerLink>& link, transport::SliceList message) = 0;
  // Reports the last event of a link. OK: the worker ended it in order.
  virtual void OnLinkClosed(const std::shared_ptr<WorkerLink>& link, const absl::Status& status) = 0;
};

// Thread-safe. The owner's functions never block.
class WorkerLink final : public transport::StreamEvents, public std::enable_shared_from_this<WorkerLink> {
 public:
  // Limit of received bytes that are not processed yet. Above it, reading pauses until at most half of it remains, so
  // that unrequested messages cannot fill the memory.
  static constexpr size_t kMaxBacklogBytes = 32 << 20;
  // Limit of queued messages. If it is reached, Send ends the link, because the worker does not read.
  static constexpr size_t kMaxQueuedMessages = 4096;

  // Opens a link. `number` identifies it within the session. The link holds `events` until OnLinkClosed or Detach.
  static std::shared_ptr<WorkerLink> Open(uint64_t number, const transport::WorkerAddress& worker,
                                          transport::Transport* transport, std::shared_ptr<LinkEvents> events);
  WorkerLink(uint64_t number, std::shared_ptr<LinkEvents> events) : number_(number), events_(std::move(events)) {}

  uint64_t number() const { return number_; }
  // Returns true if any message has arrived.
  bool heard() const { return heard_; }

  // Returns the carrier of the last message (MessageStream::carrier). Keeps its value after the link has ended.
  std::string_view carrier() const {
    MutexLock lock(&mutex_);
    return carrier_;
  }

  // Returns MessageStream::carrier_note as of the first message, or "" before it.
  std::string carrier_note() const {
    MutexLock lock(&mutex_);
    return carrier_note_;
  }

  // Sends a message after all earlier ones. May be called before the stream is connected. Drops the message if the link
  // ends.
  void Send(const v1::ClientMessage& message);
  // Records that the receiver has processed a message of `bytes`.
  void Consumed(size_t bytes);
  // Ends the link at once. OnLinkClosed follows, unless Detach was called. May be called more than once.
  void Cancel();
  // Stops events: none follows after this returns.
  void Detach();

 private:
  void OnMessage(transport::SliceList message) override;
  void OnWritten() override;
  void OnClosed(const absl::Status& status) override;

  const uint64_t number_;
  std::atomic<bool> heard_{false};

  Mutex events_mutex_;  // held over calls of events_, which only pass events on
  std::shared_ptr<LinkEvents> events_ ABSL_GUARDED_BY(events_mutex_);

  mutable Mutex mutex_;
  std::string_view carrier_ ABSL_GUARDED_BY(mutex_);
  std::string carrier_note_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<transport::MessageStream> stream_
      ABSL_GUARDED_BY(mutex_);  // null before Connect returns, and after the end
  std::deque<transport::SliceList> queue_ ABSL_GUARDED_BY(mutex_);
  size_t backlog_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // no read is in progress
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // cancelled, or ended by the worker
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_WORKER_LINK_H_
