#include "transport/in_process.h"

#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/runtime/strand.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

enum Side { kClient = 0, kWorker = 1 };

// Both ends of one stream.
class Pair : public std::enable_shared_from_this<Pair> {
 public:
  Pair(Executor* executor, size_t window_bytes) : window_bytes_(window_bytes) {
    for (End& end : ends_) end.strand = std::make_unique<Strand>(executor);
  }

  void SetEvents(Side side, std::shared_ptr<StreamEvents> events) {
    MutexLock lock(&mutex_);
    End& end = ends_[side];
    end.events = std::move(events);
    if (end.closing) {
      PostClosed(&end);
    } else {
      Move(side);
      Move(Other(side));
    }
  }

  // Closes the client's end because no acceptor listens.
  void Refuse(absl::Status status) {
    MutexLock lock(&mutex_);
    CloseEnd(kClient, std::move(status));
  }

  void StartRead(Side side) {
    MutexLock lock(&mutex_);
    End& end = ends_[side];
    if (end.closing) return;
    PS_CHECK(!end.reading);
    end.reading = true;
    Move(side);
  }

  void StartWrite(Side side, SliceList message) {
    MutexLock lock(&mutex_);
    End& end = ends_[side];
    if (end.closing) return;
    PS_CHECK(!end.writing);
    end.writing = true;
    End& peer = ends_[Other(side)];
    peer.inbox_bytes += message.bytes();
    peer.inbox.push_back(std::move(message));
    Move(Other(side));
  }

  void Close(Side side, absl::Status status) {
    MutexLock lock(&mutex_);
    if (ends_[side].closing) return;
    if (side == kWorker) {
      CloseEnd(kWorker, status);
      if (ends_[kClient].closing) return;
      ends_[kClient].close_after_inbox = std::move(status);
      Move(kClient);
    } else {
      CloseEnd(kClient, absl::CancelledError("the stream was closed at this end"));
      CloseEnd(kWorker, absl::OkStatus());
    }
  }

 private:
  struct End {
    std::unique_ptr<Strand> strand;
    std::shared_ptr<StreamEvents> events;  // null until set, and after OnClosed is posted
    std::deque<SliceList> inbox;
    size_t inbox_bytes = 0;
    bool reading = false;  // a StartRead is open
    bool writing = false;  // a StartWrite is open
    bool closing = false;  // OnClosed is pending: no other event starts
    absl::Status closed;
    std::optional<absl::Status> close_after_inbox;
  };

  static Side Other(Side side) { return side == kClient ? kWorker : kClient; }

  // Delivers the next message to `side` if possible, and unblocks its writer.
  void Move(Side side) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    End& end = ends_[side];
    if (end.reading && !end.inbox.empty() && !end.closing && end.events != nullptr) {
      end.reading = false;
      end.inbox_bytes -= end.inbox.front().bytes();
      end.strand->Post([self = shared_from_this(), events = end.events,
                        message = std::move(end.inbox.front())]() mutable { events->OnMessage(std::move(message)); });
      end.inbox.pop_front();
    }
    End& writer = ends_[Other(side)];
    if (writer.writing && !writer.closing && writer.events != nullptr && end.inbox_bytes <= window_bytes_) {
      writer.writing = false;
      writer.strand->Post([self = shared_from_this(), events = writer.events] { events->OnWritten(); });
    }
    if (end.close_after_inbox && end.inbox.empty()) CloseEnd(side, *end.close_after_inbox);
  }

  void CloseEnd(Side side, absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    End& end = ends_[side];
    if (std::exchange(end.closing, true)) return;
    end.closed = std::move(status);
    if (end.events != nullptr) PostClosed(&end);
  }

  // The event releases the unread messages, outside the lock.
  void PostClosed(End* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    end->strand->Post([self = shared_from_this(), events = std::move(end->events), status = end->closed,
                       dropped = std::move(end->inbox)] { events->OnClosed(status); });
    end->inbox.clear();
    end->inbox_bytes = 0;
  }

  const size_t window_bytes_;
  Mutex mutex_;
  End ends_[2] ABSL_GUARDED_BY(mutex_);
};

class PairEnd final : public MessageStream {
 public:
  PairEnd(std::shared_ptr<Pair> pair, Side side) : pair_(std::move(pair)), side_(side) {}
  void StartRead() override { pair_->StartRead(side_); }
  void StartWrite(SliceList message) override { pair_->StartWrite(side_, std::move(message)); }
  void Close(absl::Status status) override { pair_->Close(side_, std::move(status)); }
  SendsFrom sends_from() const override { return SendsFrom::kAnywhere; }
  Peer peer() const override { return Peer::InProcess(); }
  std::string_view carrier() const override { return "in-process"; }

 private:
  const std::shared_ptr<Pair> pair_;
  const Side side_;
};

}  // namespace

void InProcessTransport::Listen(const std::string& address, StreamAcceptor* acceptor) {
  MutexLock lock(&mutex_);
  acceptors_[address] = acceptor;
}

void InProcessTransport::StopListening(const std::string& address) {
  MutexLock lock(&mutex_);
  acceptors_.erase(address);
}

std::shared_ptr<MessageStream> InProcessTransport::Connect(const WorkerAddress& worker,
                                                           std::shared_ptr<StreamEvents> events) {
  const std::string& address = worker.network;
  auto pair = std::make_shared<Pair>(executor_, window_bytes_);
  pair->SetEvents(kClient, std::move(events));
  StreamAcceptor* acceptor = nullptr;
  {
    MutexLock lock(&mutex_);
    const auto found = acceptors_.find(address);
    if (found != acceptors_.end()) acceptor = found->second;
  }
  if (acceptor != nullptr) {
    pair->SetEvents(kWorker, acceptor->Accept(std::make_shared<PairEnd>(pair, kWorker)));
  } else {
    pair->Refuse(absl::UnavailableError(absl::StrCat("no acceptor in this process has the address ", address)));
  }
  return std::make_shared<PairEnd>(std::move(pair), kClient);
}

}  // namespace penstock::transport
