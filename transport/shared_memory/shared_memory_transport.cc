#include "transport/shared_memory/shared_memory_transport.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/packet_socket.h"
#include "base/sealed_memory.h"
#include "base/status_macros.h"
#include "transport/peer.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/stream.h"

namespace penstock::transport {
namespace {

constexpr size_t kMostAvoided = 1024;
constexpr Nanos kBetweenCalls = 5 * kMillisecond;

// Trusts this process's user, root, and the owner of the socket's folder.
bool Believes(const Peer& peer, const std::string& path) {
  if (peer.uid == geteuid() || peer.uid == 0) return true;
  struct stat info {};
  const std::string folder = path.substr(0, path.rfind('/'));
  return stat(folder.c_str(), &info) == 0 && info.st_uid == peer.uid;
}

// Connects to the socket, and sets the process at its other end.
absl::StatusOr<PacketSocket> ConnectToWorker(const LocalAddress& local, Peer* at) {
  PS_ASSIGN_OR_RETURN(OwnedFd fd, ConnectTo(local.path));
  const std::optional<Peer> peer = PeerOf(fd);
  if (!peer.has_value() || !Believes(*peer, local.path)) {
    return absl::PermissionDeniedError(absl::StrCat(local.path, ": another user's socket"));
  }
  *at = *peer;
  return PacketSocket::Create(std::move(fd));
}

absl::Status ErrorOfWelcome(const LocalAddress& local, const absl::Status& status) {
  if (!absl::IsOutOfRange(status)) {
    return absl::Status(status.code(), absl::StrCat(local.path, ": ", status.message()));
  }
  return absl::PermissionDeniedError(absl::StrCat(local.path, ": the worker has closed the connection"));
}

}  // namespace

std::string WhyNotShared(const LocalAddress& local, const absl::Status& why) {
  std::string note = absl::StrCat("worker ", local.worker,
                                  " is on this host, but its rows do not come through shared memory: ", why.message());
  if (absl::IsPermissionDenied(why)) {
    absl::StrAppend(&note, ". This process runs as user ", geteuid(),
                    "; a worker serves its own user and root, and others with --socket-group or --socket-users any");
  }
  return note;
}

absl::StatusOr<LocalAnswer> ProbeLocally(const LocalAddress& local, Nanos within) {
  Peer peer;
  PS_ASSIGN_OR_RETURN(const PacketSocket socket, ConnectToWorker(local, &peer));
  pollfd waiting = {socket.fd(), POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(within / kMillisecond)) <= 0) return LocalAnswer::kSilence;
  const absl::StatusOr<std::optional<ReceivedPacket>> received = socket.Receive();
  if (!received.ok()) return ErrorOfWelcome(local, received.status());
  return received->has_value() ? LocalAnswer::kWelcome : LocalAnswer::kSilence;
}

// Until the carrier is chosen, holds the one read and the one write that may be in progress.
class ChoosingStream final : public MessageStream,
                             public PollLoop::Watcher,
                             public std::enable_shared_from_this<ChoosingStream> {
 public:
  ChoosingStream(std::shared_ptr<PollLoop> loop, const SharedMemoryTransport* transport, WorkerAddress worker,
                 LocalAddress local, std::shared_ptr<StreamEvents> events)
      : kept_loop_(std::move(loop)),
        loop_(kept_loop_.get()),
        otherwise_(transport->otherwise_),
        timers_(transport->timers_),
        options_(transport->options_),
        avoided_(transport->avoided_),
        worker_(std::move(worker)),
        local_(std::move(local)),
        events_(std::move(events)) {}

  // Connects. Called once, on the loop's thread.
  void Begin() {
    loop_->AssertHere();
    give_up_at_ = timers_->clock()->Now() + options_.welcome_within;
    Call();
    if (events_ != nullptr) At(give_up_at_, &ChoosingStream::SaidNothing);
  }

  void StartRead() override {
    std::shared_ptr<MessageStream> chosen;
    {
      MutexLock lock(&mutex_);
      if (chosen_ == nullptr) reads_ = true;
      chosen = chosen_;
    }
    if (chosen != nullptr) chosen->StartRead();
  }
  void StartWrite(SliceList message) override {
    std::shared_ptr<MessageStream> chosen;
    {
      MutexLock lock(&mutex_);
      chosen = chosen_;
      if (chosen == nullptr && !closed_) writes_ = std::move(message);
    }
    if (chosen != nullptr) chosen->StartWrite(std::move(message));
  }
  void Close(absl::Status status) override {
    std::shared_ptr<MessageStream> chosen;
    {
      MutexLock lock(&mutex_);
      closed_ = true;
      chosen = chosen_;
    }
    if (chosen != nullptr) {
      chosen->Close(std::move(status));
      return;
    }
    loop_->Post([self = shared_from_this()] {
      self->loop_->AssertHere();
      self->Abandon();
    });
  }
  Peer peer() const override {
    MutexLock lock(&mutex_);
    return chosen_ == nullptr ? Peer() : chosen_->peer();
  }
  std::string_view carrier() const override {
    MutexLock lock(&mutex_);
    return chosen_ == nullptr ? std::string_view() : chosen_->carrier();
  }
  std::string carrier_note() const override {
    MutexLock lock(&mutex_);
    return note_;
  }

  void OnReady(uint32_t) override {
    loop_->AssertHere();
    if (!socket_.has_value()) return;
    const absl::StatusOr<bool> welcome = ReadWelcome();
    if (welcome.ok()) return;
    TakeOther(ErrorOfWelcome(local_, welcome.status()));
  }
  void OnLoopEnds() override {
    loop_->AssertHere();
    {
      MutexLock lock(&mutex_);
      closed_ = true;
    }
    Abandon();
  }

 private:
  // Calls `then` on the loop's thread, unless this stream is gone by then.
  void At(Nanos time, void (ChoosingStream::*then)()) {
    timers_->PostAt(time, [weak = weak_from_this(), then] {
      const std::shared_ptr<ChoosingStream> self = weak.lock();
      if (self == nullptr) return;
      self->loop_->Post([self, then] {
        self->loop_->AssertHere();
        (self.get()->*then)();
      });
    });
  }

  // Connects, and tries again if other processes fill the socket's queue: one that floods it, or a hundred readers that
  // start at once.
  void Call() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    if (events_ == nullptr) return;  // abandoned
    Drop();
    const absl::Status status = Connect();
    if (absl::IsResourceExhausted(status) && timers_->clock()->Now() < give_up_at_) {
      watch_ = loop_->WatchEnd(shared_from_this());
      At(timers_->clock()->Now() + kBetweenCalls, &ChoosingStream::Call);
    } else if (!status.ok()) {
      TakeOther(status);
    }
  }

  absl::Status Connect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    PS_ASSIGN_OR_RETURN(socket_, ConnectToWorker(local_, &connected_to_));
    const std::string ticket = worker_.ticket == nullptr ? "" : worker_.ticket();
    if (!ticket.empty()) PS_RETURN_IF_ERROR(socket_->Send(TicketBytes(ticket), false));
    watch_ = loop_->Watch(socket_->fd(), EPOLLIN, shared_from_this());
    return watch_ != 0 ? absl::OkStatus() : absl::UnavailableError("the system has no room for one more socket");
  }

  // Returns false if no packet has arrived yet.
  absl::StatusOr<bool> ReadWelcome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    PS_ASSIGN_OR_RETURN(std::optional<PacketSocket::Arrived> arrived,
                        socket_->ReceiveInto(loop_->buffer(), PollLoop::kBufferBytes));
    if (!arrived.has_value()) return false;
    PS_ASSIGN_OR_RETURN(const Packet packet, ParsePacket({loop_->buffer(), arrived->size}));
    const auto* const welcome = std::get_if<WelcomePacket>(&packet);
    if (welcome == nullptr || welcome->version != kSharedMemoryVersion || welcome->worker != local_.worker ||
        welcome->ring_bytes > options_.most_ring_bytes || !arrived->fd) {
      return absl::InvalidArgumentError("another worker, or of another version");
    }
    PS_ASSIGN_OR_RETURN(SealedMemory ring, SealedMemory::Open(std::move(arrived->fd), welcome->ring_bytes));
    loop_->Forget(std::exchange(watch_, 0));
    const auto stream =
        SharedMemoryStream::OfClient(kept_loop_, timers_, connected_to_, *std::exchange(socket_, std::nullopt),
                                     std::make_shared<const SealedMemory>(std::move(ring)));
    stream->Begin(events_);
    Choose(stream);
    return true;
  }

  void SaidNothing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    if (!socket_.has_value()) return;
    {
      MutexLock lock(&avoided_->mutex);
      if (avoided_->until.size() >= kMostAvoided) avoided_->until.clear();
      avoided_->until[worker_.local] = timers_->clock()->Now() + options_.avoid_for;
    }
    TakeOther(absl::UnavailableError(
        absl::StrCat(local_.path, ": no answer within ", options_.welcome_within / kMillisecond, " ms")));
  }

  void TakeOther(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    Drop();
    {
      MutexLock lock(&mutex_);
      if (closed_) return;  // Abandon is posted
      note_ = WhyNotShared(local_, why);
    }
    if (events_ != nullptr) Choose(otherwise_->Connect(worker_, events_));
  }

  void Choose(std::shared_ptr<MessageStream> chosen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    events_ = nullptr;
    bool reads = false, closed = false;
    std::optional<SliceList> writes;
    {
      MutexLock lock(&mutex_);
      chosen_ = chosen;
      reads = reads_;
      closed = closed_;
      writes.swap(writes_);
    }
    if (closed) chosen->Close(absl::CancelledError("the stream was closed at this end"));
    if (reads) chosen->StartRead();
    if (writes.has_value()) chosen->StartWrite(*std::move(writes));
  }

  // Handles a Close that came before the choice.
  void Abandon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    Drop();
    std::optional<SliceList> unwritten;
    {
      MutexLock lock(&mutex_);
      unwritten.swap(writes_);
    }
    if (const auto events = std::exchange(events_, nullptr)) {
      events->OnClosed(absl::CancelledError("the stream was closed at this end"));
    }
  }

  void Drop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    if (watch_ != 0) loop_->Forget(std::exchange(watch_, 0));
    socket_.reset();
  }

  const std::shared_ptr<PollLoop> kept_loop_;
  PollLoop* const loop_;
  Transport* const otherwise_;
  Executor* const timers_;
  const SharedMemoryTransportOptions options_;
  const std::shared_ptr<SharedMemoryTransport::Avoided> avoided_;
  const WorkerAddress worker_;
  const LocalAddress local_;
  std::optional<PacketSocket> socket_ ABSL_GUARDED_BY(loop_);  // while the worker's WELCOME is outstanding
  Nanos give_up_at_ ABSL_GUARDED_BY(loop_) = 0;
  Peer connected_to_ ABSL_GUARDED_BY(loop_);  // process at the other end of socket_
  uint64_t watch_ ABSL_GUARDED_BY(loop_) = 0;
  std::shared_ptr<StreamEvents> events_ ABSL_GUARDED_BY(loop_);  // until a carrier is chosen

  mutable Mutex mutex_;
  std::shared_ptr<MessageStream> chosen_ ABSL_GUARDED_BY(mutex_);
  bool reads_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<SliceList> writes_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string note_ ABSL_GUARDED_BY(mutex_);  // value of carrier_note()
};

SharedMemoryTransport::SharedMemoryTransport(Transport* otherwise, Executor* timers,
                                             SharedMemoryTransportOptions options)
    : otherwise_(otherwise), timers_(timers), options_(std::move(options)) {}

SharedMemoryTransport::~SharedMemoryTransport() {
  std::shared_ptr<PollLoop> loop;
  {
    MutexLock lock(&mutex_);
    loop = loop_;
  }
  if (loop != nullptr) loop->Stop();
}

std::shared_ptr<PollLoop> SharedMemoryTransport::Loop() {
  MutexLock lock(&mutex_);
  if (loop_ == nullptr) {
    absl::StatusOr<std::shared_ptr<PollLoop>> loop = PollLoop::Create("penstock-socket");
    if (loop.ok()) loop_ = *std::move(loop);
  }
  return loop_;
}

std::shared_ptr<MessageStream> SharedMemoryTransport::Connect(const WorkerAddress& worker,
                                                              std::shared_ptr<StreamEvents> events) {
  std::optional<LocalAddress> local = LocalAddress::Parse(worker.local);
  bool try_it = local.has_value() && local->boot == options_.boot;
  if (try_it) {
    MutexLock lock(&avoided_->mutex);
    const auto found = avoided_->until.find(worker.local);
    try_it = found == avoided_->until.end() || found->second <= timers_->clock()->Now();
  }
  const std::shared_ptr<PollLoop> loop = try_it ? Loop() : nullptr;
  if (loop == nullptr) return otherwise_->Connect(worker, std::move(events));
  auto stream = std::make_shared<ChoosingStream>(loop, this, worker, *std::move(local), std::move(events));
  loop->Post([stream] { stream->Begin(); });
  return stream;
}

}  // namespace penstock::transport
