#include "transport/shared_memory/stream.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::transport {
namespace {

// Maximum size of the queue of a client's messages that no StartRead requested. The worker stops reading from a client
// that floods it.
constexpr uint64_t kMostArrivedBytes = uint64_t{1} << 20;
// Bookkeeping cost of a message, in addition to its bytes.
constexpr uint64_t kMessageOverhead = 256;
constexpr uint32_t kCanRead = EPOLLIN, kCanWrite = EPOLLOUT;
constexpr uint64_t kMostWindow = uint64_t{8} << 20;

}  // namespace

SharedMemoryStream::SharedMemoryStream(Private, std::shared_ptr<PollLoop> loop, Executor* timers, Peer peer,
                                       PacketSocket socket, std::shared_ptr<Ring> ring,
                                       std::shared_ptr<const SharedRowFiles> files)
    : kept_loop_(std::move(loop)),
      loop_(kept_loop_.get()),
      timers_(timers),
      peer_(std::move(peer)),
      ring_(std::move(ring)),
      shares_rows_(files != nullptr),
      window_(ring_ == nullptr ? 0 : std::min<uint64_t>(kMostWindow, ring_->bytes() / 4)),
      socket_(std::move(socket)),
      announced_(std::move(files)) {}

std::shared_ptr<SharedMemoryStream> SharedMemoryStream::OfWorker(std::shared_ptr<PollLoop> loop, Executor* timers,
                                                                 Peer peer, PacketSocket socket,
                                                                 std::shared_ptr<Ring> ring,
                                                                 std::shared_ptr<const SharedRowFiles> files) {
  return std::make_shared<SharedMemoryStream>(Private(), std::move(loop), timers, std::move(peer), std::move(socket),
                                              std::move(ring), std::move(files));
}

std::shared_ptr<SharedMemoryStream> SharedMemoryStream::OfClient(std::shared_ptr<PollLoop> loop, Executor* timers,
                                                                 Peer peer, PacketSocket socket,
                                                                 std::shared_ptr<const SealedMemory> ring) {
  auto stream = std::make_shared<SharedMemoryStream>(Private(), std::move(loop), timers, std::move(peer),
                                                     std::move(socket), nullptr, nullptr);
  stream->loop_->AssertHere();
  stream->incoming_ = IncomingMessages(std::move(ring), [weak = std::weak_ptr(stream)](uint64_t message) {
    if (const std::shared_ptr<SharedMemoryStream> self = weak.lock()) self->Released(message);
  });
  return stream;
}

void SharedMemoryStream::Begin(std::shared_ptr<StreamEvents> events) {
  loop_->AssertHere();
  events_ = std::move(events);
  watched_for_ = OfClient() ? 0 : kCanRead;
  watch_ = loop_->Watch(socket_->fd(), watched_for_, shared_from_this());
  if (watch_ == 0) {
    Finish(absl::UnavailableError("the system has no room to wait for one more socket"));
  } else {
    Send();
  }
}

// ---- From any thread -----------------------------------------------------------------------------------------------

void SharedMemoryStream::Post(void (SharedMemoryStream::*step)()) {
  loop_->Post([self = shared_from_this(), step] { ((*self).*step)(); });
}

void SharedMemoryStream::StartRead() { Post(&SharedMemoryStream::ReadWanted); }

void SharedMemoryStream::StartWrite(SliceList message) {
  loop_->Post([self = shared_from_this(), message = std::move(message)]() mutable {
    self->loop_->AssertHere();
    if (self->over_ || self->closing_.has_value()) return;
    PS_CHECK(!self->writing_);
    self->writing_ = true;
    if (self->deaf_) return;
    self->outgoing_.emplace(std::move(message), self->ring_.get(), &self->announced_);
    self->Send();
  });
}

void SharedMemoryStream::Close(absl::Status status) {
  loop_->Post([self = shared_from_this(), status = std::move(status)]() mutable {
    self->loop_->AssertHere();
    self->CloseHere(std::move(status));
  });
}

void SharedMemoryStream::Released(uint64_t message) {
  loop_->Post([self = shared_from_this(), message] {
    self->loop_->AssertHere();
    if (self->over_) return;
    self->to_release_.push_back(message);
    self->Send();
  });
}

// ---- Reading -------------------------------------------------------------------------------------------------------

void SharedMemoryStream::ReadWanted() {
  loop_->AssertHere();
  if (over_ || closing_.has_value()) return;
  PS_CHECK(!reading_);
  reading_ = true;
  Deliver();
  Receive();
}

bool SharedMemoryStream::ReadsOn() const {
  if (over_ || closing_.has_value()) return false;
  return OfClient() ? reading_ : arrived_bytes_ < kMostArrivedBytes;
}

void SharedMemoryStream::OnReady(uint32_t events) {
  loop_->AssertHere();
  if (over_) return;
  if ((events & EPOLLOUT) != 0) {
    full_ = false;
    Send();
    if (over_) return;
  }
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    if (!OfClient()) {
      Finish(closing_.value_or(absl::OkStatus()));
      return;
    }
    // epoll repeats this event until the socket is closed. The socket closes after its remaining packets are read.
    loop_->Forget(std::exchange(watch_, 0));
  }
  Receive();
}

void SharedMemoryStream::Receive() {
  while (ReadsOn()) {
    absl::StatusOr<std::optional<PacketSocket::Arrived>> arrived =
        socket_->ReceiveInto(loop_->buffer(), PollLoop::kBufferBytes);
    if (absl::IsOutOfRange(arrived.status())) {
      Finish(OfClient()
                 ? absl::UnavailableError("the worker closed the connection without a reason; its log may have one")
                 : absl::OkStatus());
      return;
    }
    absl::Status status = arrived.status();
    if (status.ok()) {
      if (!arrived->has_value()) break;
      status = Handle({loop_->buffer(), (*arrived)->size}, std::move((*arrived)->fd));
    }
    if (status.ok()) continue;
    if (OfClient()) {
      Finish(absl::UnavailableError(absl::StrCat("the worker's socket gave ", status.message())));
    } else {
      CloseHere(absl::InvalidArgumentError(absl::StrCat("the client's socket gave ", status.message())));
    }
    return;
  }
  WatchFor();
}

absl::Status SharedMemoryStream::Handle(std::string_view bytes, OwnedFd fd) {
  absl::StatusOr<Packet> packet = ParsePacket(bytes);
  if (!packet.ok()) return packet.status();
  if (const auto* parts = std::get_if<PartsPacket>(&*packet)) {
    absl::StatusOr<std::optional<SliceList>> message = incoming_.Add(*parts);
    if (!message.ok()) return message.status();
    if (!message->has_value()) return absl::OkStatus();
    arrived_bytes_ += (*message)->bytes() + kMessageOverhead;
    arrived_.push_back(**std::move(message));
    Deliver();
    return absl::OkStatus();
  }
  if (const auto* file = std::get_if<FilePacket>(&*packet); file != nullptr && OfClient()) {
    absl::StatusOr<SealedMemory> memory = SealedMemory::Open(std::move(fd), file->bytes);
    return memory.ok() ? incoming_.AddFile(*std::move(memory)) : memory.status();
  }
  if (const auto* release = std::get_if<ReleasePacket>(&*packet); release != nullptr && !OfClient()) {
    const auto kept = kept_.find(release->message);
    if (kept == kept_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a release of message ", release->message, ", which this client does not hold"));
    }
    kept_bytes_ -= kept->second.bytes;
    kept_.erase(kept);
    SayWritten();
    return absl::OkStatus();
  }
  // A worker that needs no ticket ignores it.
  if (std::holds_alternative<TicketPacket>(*packet) && !OfClient()) return absl::OkStatus();
  if (const auto* close = std::get_if<ClosePacket>(&*packet); close != nullptr && OfClient()) {
    Finish(close->status);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a packet that is not for this side");
}

void SharedMemoryStream::Deliver() {
  if (!reading_ || arrived_.empty()) return;
  reading_ = false;
  SliceList message = std::move(arrived_.front());
  arrived_.pop_front();
  arrived_bytes_ -= message.bytes() + kMessageOverhead;
  events_->OnMessage(std::move(message));
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void SharedMemoryStream::NextPacket() {
  packet_file_ = nullptr;
  if (!to_release_.empty()) {
    packet_ = ReleaseBytes({to_release_.front()});
    to_release_.pop_front();
    return;
  }
  packet_file_ = announced_.NextUnannounced();  // before the message with places in it
  if (packet_file_ != nullptr) {
    packet_ = FileBytes({packet_file_->size()});
    return;
  }
  if (outgoing_.has_value()) {
    packet_ = outgoing_->NextPacket();
    if (!packet_.empty()) return;
    // The socket has accepted the whole message.
    OutgoingMessage::Kept kept = outgoing_->TakeKept();
    if (kept.bytes > 0) {
      kept_bytes_ += kept.bytes;
      kept_.emplace(sent_, std::move(kept));
    }
    ++sent_;
    outgoing_.reset();
    SayWritten();
  }
  if (closing_.has_value() && !close_said_) {
    close_said_ = true;
    packet_ = CloseBytes(*closing_);
  }
}

void SharedMemoryStream::Send() {
  while (!over_ && !full_ && !deaf_) {
    if (packet_.empty()) NextPacket();
    if (packet_.empty()) break;
    const absl::Status status = socket_->Send(packet_, false, packet_file_ == nullptr ? -1 : packet_file_->fd());
    if (status.ok()) {
      packet_.clear();
      packet_file_ = nullptr;
    } else if (absl::IsResourceExhausted(status)) {
      full_ = true;
    } else if (!OfClient()) {
      Finish(closing_.value_or(absl::OkStatus()));
    } else {
      // The worker has disconnected. Its remaining packets, including CLOSE, are still unread.
      deaf_ = true;
      outgoing_.reset();
      to_release_.clear();
      packet_.clear();
    }
  }
  if (!over_) WatchFor();
}

void SharedMemoryStream::SayWritten() {
  if (!writing_ || outgoing_.has_value() || closing_.has_value()) return;
  if (kept_bytes_ > window_ && kept_.size() > 1) return;  // a reader may retain one message of any size
  writing_ = false;
  events_->OnWritten();
}

// Watches for the events that the stream wants now.
void SharedMemoryStream::WatchFor() {
  if (over_ || watch_ == 0) return;
  const uint32_t wanted = (ReadsOn() ? kCanRead : 0) | (full_ ? kCanWrite : 0);
  if (wanted == watched_for_) return;
  watched_for_ = wanted;
  loop_->Change(watch_, wanted);
}

// ---- The end -------------------------------------------------------------------------------------------------------

void SharedMemoryStream::CloseHere(absl::Status status) {
  if (over_ || closing_.has_value()) return;
  if (OfClient()) {
    Finish(absl::CancelledError("the stream was closed at this end"));
    return;
  }
  closing_ = std::move(status);
  timers_->PostAt(timers_->clock()->Now() + kSharedMemoryCloseGrace, [weak = weak_from_this()] {
    const std::shared_ptr<SharedMemoryStream> late = weak.lock();
    if (late == nullptr) return;
    late->loop_->Post([late] {
      late->loop_->AssertHere();
      late->Finish(late->closing_.value_or(absl::OkStatus()));
    });
  });
  arrived_.clear();
  Send();
}

void SharedMemoryStream::OnLoopEnds() {
  loop_->AssertHere();
  Finish(absl::UnavailableError("this end of the stream stops"));
}

void SharedMemoryStream::Finish(absl::Status status) {
  if (std::exchange(over_, true)) return;
  const std::shared_ptr<SharedMemoryStream> self = shared_from_this();  // the loop's reference may be the last
  if (watch_ != 0) loop_->Forget(std::exchange(watch_, 0));
  socket_.reset();
  if (ring_ != nullptr) ring_->End();
  outgoing_.reset();
  kept_.clear();
  arrived_.clear();
  packet_.clear();
  packet_file_ = nullptr;
  to_release_.clear();
  const std::shared_ptr<StreamEvents> events = std::move(events_);
  events->OnClosed(status);
}

}  // namespace penstock::transport
