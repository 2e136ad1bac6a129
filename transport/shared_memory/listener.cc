#include "transport/shared_memory/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/owned_fd.h"
#include "base/packet_socket.h"
#include "base/status_macros.h"
#include "transport/peer.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/poll_loop.h"
#include "transport/shared_memory/ring.h"
#include "transport/shared_memory/stream.h"

namespace penstock::transport {
namespace {

// Pause after the system had no room for another connection.
constexpr Nanos kPause = 100 * kMillisecond;

// Connections that the loop accepts before other sockets get a turn.
constexpr int kAcceptedAtOnce = 16;

// Smallest useful ring. A stream whose share is smaller gets a ring of one page.
constexpr uint64_t kLeastRing = uint64_t{1} << 20;

// The memory limit for the rings of a listener, or of one user.
class RingAllowance {
 public:
  explicit RingAllowance(uint64_t bytes) : left_(bytes) {}
  // Reserves at most `bytes`. The returned object releases the reservation, and drops `also`, when it is destroyed.
  static std::shared_ptr<const uint64_t> Take(const std::shared_ptr<RingAllowance>& of, uint64_t bytes,
                                              std::shared_ptr<const void> also = nullptr) {
    uint64_t left = of->left_.load();
    uint64_t taken = 0;
    do {
      taken = std::min(bytes, left);
      if (taken < kLeastRing) taken = 0;
    } while (!of->left_.compare_exchange_weak(left, left - taken));
    of->taken_.fetch_add(taken);
    of->streams_.fetch_add(1);
    return {new uint64_t(taken), [of, also = std::move(also)](const uint64_t* size) {
              of->left_.fetch_add(*size);
              of->taken_.fetch_sub(*size);
              of->streams_.fetch_sub(1);
              delete size;
            }};
  }
  uint64_t taken() const { return taken_.load(); }
  int streams() const { return streams_.load(); }

 private:
  std::atomic<uint64_t> left_;
  std::atomic<uint64_t> taken_{0};
  std::atomic<int> streams_{0};
};

bool IsOwnUser(uid_t uid) { return uid == geteuid() || uid == 0; }

class Accepting;

// A connection whose ticket has not arrived yet.
class Waiting final : public PollLoop::Watcher {
 public:
  Waiting(Accepting* accepting, PacketSocket socket, const Peer& peer, uint64_t number)
      : accepting_(accepting), socket_(std::move(socket)), peer_(peer), number_(number) {}
  void OnReady(uint32_t) override;
  void OnLoopEnds() override {}

  // For Accepting, on the loop's thread.
  Accepting* const accepting_;  // outlives this: it forgets the watch before it ends
  PacketSocket socket_;
  const Peer peer_;
  const uint64_t number_;  // in order of arrival
  uint64_t watch_ = 0;
};

// Accepts connections on the loop's thread. Separate from the listener, because the loop may hold it longer.
class Accepting final : public PollLoop::Watcher, public std::enable_shared_from_this<Accepting> {
 public:
  Accepting(std::shared_ptr<PollLoop> loop, OwnedFd fd, const SharedMemoryListenerOptions& options,
            std::shared_ptr<RingAllowance> allowance, StreamAcceptor* acceptor, Executor* executor)
      : kept_loop_(std::move(loop)),
        loop_(kept_loop_.get()),
        options_(options),
        allowance_(std::move(allowance)),
        acceptor_(acceptor),
        executor_(executor),
        fd_(std::move(fd)) {}

  void Begin() {
    loop_->AssertHere();
    if (fd_) watch_ = loop_->Watch(fd_.get(), EPOLLIN, shared_from_this());
  }
  void End() {
    loop_->AssertHere();
    while (!waiting_.empty()) Drop(waiting_.begin()->first);
    loop_->Forget(std::exchange(watch_, 0));
    fd_.Reset();
  }

  void OnReady(uint32_t) override {
    loop_->AssertHere();
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      OwnedFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) Pause();
        return;
      }
      const std::optional<Peer> peer = PeerOf(fd);
      if (!peer.has_value() || !Serves(peer->uid)) continue;
      GrowBuffer(fd);
      absl::StatusOr<PacketSocket> socket = PacketSocket::Create(std::move(fd));
      if (!socket.ok()) continue;
      if (options_.needs_ticket != nullptr && options_.needs_ticket(*peer)) {
        AwaitTicket(*std::move(socket), *peer);
      } else {
        Welcome(*std::move(socket), *peer, "");
      }
    }
  }
  void OnLoopEnds() override { End(); }

  // Receives the first packet of a connection.
  void TicketArrives(Waiting* waiting) {
    loop_->AssertHere();
    const absl::StatusOr<std::optional<PacketSocket::Arrived>> arrived =
        waiting->socket_.ReceiveInto(loop_->buffer(), PollLoop::kBufferBytes);
    if (arrived.ok() && !arrived->has_value()) return;
    const bool gone = absl::IsOutOfRange(arrived.status());
    const absl::StatusOr<Packet> packet =
        arrived.ok() ? ParsePacket({loop_->buffer(), (*arrived)->size}) : arrived.status();
    const auto* const shown = packet.ok() ? std::get_if<TicketPacket>(&*packet) : nullptr;
    const std::string ticket(shown == nullptr ? "" : shown->ticket);
    const std::shared_ptr<Waiting> taken = Drop(waiting->number_);
    if (shown != nullptr) {
      Welcome(std::move(taken->socket_), taken->peer_, ticket);
    } else if (!gone) {
      Tell(taken->peer_, absl::InvalidArgumentError("its first packet to the socket is no ticket"));
    }
  }

 private:
  bool Serves(uid_t uid) const {
    if (options_.serves != nullptr) return options_.serves(uid);
    // The system lets only members of a group connect.
    return IsOwnUser(uid) || options_.users.kind != SocketUsers::kNone;
  }

  void AwaitTicket(PacketSocket socket, const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    const auto of_user = [&peer](const auto& entry) { return entry.second->peer_.uid == peer.uid; };
    if (static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), of_user)) >= options_.user_waiting) {
      Tell(peer, absl::ResourceExhaustedError(absl::StrCat("more than ", options_.user_waiting,
                                                           " connections to the socket have shown no ticket yet")));
      Drop(std::find_if(waiting_.begin(), waiting_.end(), of_user)->first);
    }
    const uint64_t number = ++last_waiting_;
    const auto waiting = std::make_shared<Waiting>(this, std::move(socket), peer, number);
    waiting->watch_ = loop_->Watch(waiting->socket_.fd(), EPOLLIN, waiting);
    if (waiting->watch_ == 0) return;
    waiting_[number] = waiting;
    executor_->PostAt(executor_->clock()->Now() + options_.ticket_within, [weak = weak_from_this(), number] {
      const std::shared_ptr<Accepting> self = weak.lock();
      if (self == nullptr) return;
      self->loop_->Post([self, number] {
        self->loop_->AssertHere();
        self->Drop(number);
      });
    });
  }

  // Ends the wait for a ticket. Returns the connection, or null if its wait has ended.
  std::shared_ptr<Waiting> Drop(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return nullptr;
    std::shared_ptr<Waiting> waiting = std::move(found->second);
    waiting_.erase(found);
    loop_->Forget(waiting->watch_);
    return waiting;
  }

  // Reserves a ring. Returns null if the user has too many streams.
  std::shared_ptr<const uint64_t> ReserveRing(uid_t uid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    if (IsOwnUser(uid)) return RingAllowance::Take(allowance_, options_.ring_bytes);
    std::erase_if(of_users_, [](const auto& entry) { return entry.second->streams() == 0; });
    std::shared_ptr<RingAllowance>& of_user = of_users_[uid];
    if (of_user == nullptr) of_user = std::make_shared<RingAllowance>(options_.user_rings_bytes);
    if (of_user->streams() >= options_.user_streams) return nullptr;
    const std::shared_ptr<const uint64_t> part = RingAllowance::Take(of_user, options_.ring_bytes);
    return RingAllowance::Take(allowance_, *part, part);
  }

  // If the process may not open a stream, or there is no memory or no descriptor, it receives no WELCOME and uses
  // another carrier.
  void Welcome(PacketSocket socket, Peer peer, const std::string& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    if (options_.admit != nullptr && !options_.admit(ticket, &peer).ok()) return;
    const std::shared_ptr<const uint64_t> charge = ReserveRing(peer.uid);
    if (charge == nullptr) {
      return Tell(peer, absl::ResourceExhaustedError(
                            absl::StrCat("this user has ", options_.user_streams,
                                         " streams through shared memory, the most that "
                                         "limits.socket_streams_per_user allows; further ones use the network")));
    }
    absl::StatusOr<std::shared_ptr<Ring>> ring = Ring::Create(*charge, charge);
    if (!ring.ok()) return;
    const std::string welcome = WelcomeBytes({kSharedMemoryVersion, (*ring)->bytes(), options_.worker});
    if (!socket.Send(welcome, false, (*ring)->fd()).ok()) return;
    (*ring)->CloseFd();
    const auto stream =
        SharedMemoryStream::OfWorker(kept_loop_, executor_, peer, std::move(socket), *std::move(ring), options_.files);
    stream->Begin(acceptor_->Accept(stream));
  }

  void Tell(const Peer& peer, const absl::Status& rejected) const {
    if (options_.on_rejected != nullptr) options_.on_rejected(peer, rejected);
  }

  void Pause() ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    loop_->Change(watch_, 0);
    executor_->PostAt(executor_->clock()->Now() + kPause, [weak = weak_from_this()] {
      const std::shared_ptr<Accepting> self = weak.lock();
      if (self == nullptr) return;
      self->loop_->Post([self] {
        self->loop_->AssertHere();
        self->loop_->Change(self->watch_, EPOLLIN);
      });
    });
  }

  const std::shared_ptr<PollLoop> kept_loop_;
  PollLoop* const loop_;
  const SharedMemoryListenerOptions options_;
  const std::shared_ptr<RingAllowance> allowance_;
  StreamAcceptor* const acceptor_;
  Executor* const executor_;
  OwnedFd fd_ ABSL_GUARDED_BY(loop_);
  uint64_t watch_ ABSL_GUARDED_BY(loop_) = 0;
  std::map<uint64_t, std::shared_ptr<Waiting>> waiting_ ABSL_GUARDED_BY(loop_);
  uint64_t last_waiting_ ABSL_GUARDED_BY(loop_) = 0;
  std::map<uid_t, std::shared_ptr<RingAllowance>> of_users_ ABSL_GUARDED_BY(loop_);  // without own user and root
};

void Waiting::OnReady(uint32_t) { accepting_->TicketArrives(this); }

class ListenerImpl final : public SharedMemoryListener {
 public:
  ListenerImpl(std::shared_ptr<PollLoop> loop, std::shared_ptr<Accepting> accepting,
               std::shared_ptr<const RingAllowance> allowance, LocalAddress address)
      : allowance_(std::move(allowance)),
        loop_(std::move(loop)),
        accepting_(std::move(accepting)),
        address_(std::move(address)) {
    struct stat info {};
    if (stat(address_.path.c_str(), &info) == 0) inode_ = info.st_ino;
    loop_->Post([accepting = accepting_] { accepting->Begin(); });
  }
  ~ListenerImpl() override { Stop(); }

  uint64_t rings_bytes() const override { return allowance_->taken(); }
  std::string local_address() const override { return address_.ToString(); }

  void StopListening() override {
    if (stopped_listening_.exchange(true)) return;
    // If two containers share one state directory, another worker with the same id may have replaced the socket. Its
    // file stays.
    struct stat info {};
    if (stat(address_.path.c_str(), &info) == 0 && info.st_ino == inode_) unlink(address_.path.c_str());
    loop_->Post([accepting = accepting_] { accepting->End(); });
  }

  void Stop() override {
    StopListening();
    loop_->Stop();
  }

 private:
  const std::shared_ptr<const RingAllowance> allowance_;
  const std::shared_ptr<PollLoop> loop_;
  const std::shared_ptr<Accepting> accepting_;
  const LocalAddress address_;
  ino_t inode_ = 0;
  std::atomic<bool> stopped_listening_{false};
};

}  // namespace

absl::StatusOr<std::unique_ptr<SharedMemoryListener>> SharedMemoryListener::Start(
    const SharedMemoryListenerOptions& options, StreamAcceptor* acceptor, Executor* executor) {
  LocalAddress address{BootId(), options.worker, absl::StrCat(options.dir, "/", options.worker, ".sock")};
  if (!LocalAddress::Parse(address.ToString()).has_value()) {
    return absl::FailedPreconditionError(absl::StrCat("no local address can be made of boot id '", address.boot,
                                                      "', worker '", address.worker, "' and ", address.path));
  }
  RemoveDeadSockets(options.dir);
  PS_ASSIGN_OR_RETURN(OwnedFd fd, ListenAt(address.path, options.users));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<PollLoop> loop, PollLoop::Create("ps-socket"));
  auto allowance = std::make_shared<RingAllowance>(options.rings_bytes);
  auto accepting = std::make_shared<Accepting>(loop, std::move(fd), options, allowance, acceptor, executor);
  return std::make_unique<ListenerImpl>(std::move(loop), std::move(accepting), std::move(allowance),
                                        std::move(address));
}

}  // namespace penstock::transport
