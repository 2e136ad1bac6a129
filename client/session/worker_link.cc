#include "client/session/worker_link.h"

#include <utility>

namespace penstock::client {

std::shared_ptr<WorkerLink> WorkerLink::Open(uint64_t number, const transport::WorkerAddress& worker,
                                             transport::Transport* transport, std::shared_ptr<LinkEvents> events) {
  auto link = std::make_shared<WorkerLink>(number, std::move(events));
  std::shared_ptr<transport::MessageStream> stream = transport->Connect(worker, link);
  {
    MutexLock lock(&link->mutex_);
    if (!link->closed_) link->stream_ = stream;
  }
  stream->StartRead();
  return link;
}

void WorkerLink::Send(const v1::ClientMessage& message) {
  transport::SliceList bytes;
  bytes.Add(transport::Slice::Of(message.SerializeAsString()));
  std::shared_ptr<transport::MessageStream> stream;
  bool overflow = false;
  {
    MutexLock lock(&mutex_);
    if (closed_) return;
    overflow = queue_.size() >= kMaxQueuedMessages;
    if (!overflow && std::exchange(writing_, true)) {
      queue_.push_back(std::move(bytes));
      return;
    }
    stream = stream_;
  }
  if (overflow) {
    Cancel();
  } else if (stream != nullptr) {
    stream->StartWrite(std::move(bytes));
  }
}

void WorkerLink::OnWritten() {
  std::shared_ptr<transport::MessageStream> stream;
  transport::SliceList next;
  {
    MutexLock lock(&mutex_);
    writing_ = !queue_.empty() && !closed_;
    if (!writing_) return;
    next = std::move(queue_.front());
    queue_.pop_front();
    stream = stream_;
  }
  stream->StartWrite(std::move(next));
}

void WorkerLink::OnMessage(transport::SliceList message) {
  const bool first = !heard_.exchange(true);
  std::shared_ptr<transport::MessageStream> stream;
  {
    MutexLock lock(&mutex_);
    if (stream_ != nullptr) carrier_ = stream_->carrier();
    if (stream_ != nullptr && first) carrier_note_ = stream_->carrier_note();
    backlog_ += message.bytes();
    paused_ = backlog_ > kMaxBacklogBytes;
    if (!paused_ && !closed_) stream = stream_;
  }
  {
    MutexLock lock(&events_mutex_);
    if (events_ != nullptr) events_->OnLinkMessage(shared_from_this(), std::move(message));
  }
  if (stream != nullptr) stream->StartRead();
}

void WorkerLink::Consumed(size_t bytes) {
  std::shared_ptr<transport::MessageStream> stream;
  {
    MutexLock lock(&mutex_);
    backlog_ -= bytes;
    if (!paused_ || closed_ || backlog_ > kMaxBacklogBytes / 2) return;
    paused_ = false;
    stream = stream_;
  }
  stream->StartRead();
}

void WorkerLink::Cancel() {
  std::shared_ptr<transport::MessageStream> stream;
  std::deque<transport::SliceList> dropped;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    stream = std::move(stream_);
    dropped.swap(queue_);
  }
  if (stream != nullptr) stream->Close(absl::CancelledError("the session has closed the stream"));
}

void WorkerLink::OnClosed(const absl::Status& status) {
  std::shared_ptr<transport::MessageStream> stream;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    stream = std::move(stream_);
    queue_.clear();
  }
  MutexLock lock(&events_mutex_);
  if (events_ != nullptr) events_->OnLinkClosed(shared_from_this(), status);
  events_ = nullptr;
}

void WorkerLink::Detach() {
  MutexLock lock(&events_mutex_);
  events_ = nullptr;
}

}  // namespace penstock::client
