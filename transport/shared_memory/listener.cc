#include "transport/shared_memory/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

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

// Smallest useful ring. A stream whose share is smaller gets a ring of one page.
constexpr uint64_t kLeastRing = uint64_t{1} << 20;

// The memory limit for all rings.
class RingAllowance {
 public:
  explicit RingAllowance(uint64_t bytes) : left_(bytes) {}
  // Reserves at most `bytes`. The returned object releases the reservation when it is destroyed.
  static std::shared_ptr<const uint64_t> Take(const std::shared_ptr<RingAllowance>& of, uint64_t bytes) {
    uint64_t left = of->left_.load();
    uint64_t taken = 0;
    do {
      taken = std::min(bytes, left);
      if (taken < kLeastRing) taken = 0;
    } while (!of->left_.compare_exchange_weak(left, left - taken));
    of->taken_.fetch_add(taken);
    return {new uint64_t(taken), [of](const uint64_t* size) {
              of->left_.fetch_add(*size);
              of->taken_.fetch_sub(*size);
              delete size;
            }};
  }
  uint64_t taken() const { return taken_.load(); }

 private:
  std::atomic<uint64_t> left_;
  std::atomic<uint64_t> taken_{0};
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
    loop_->Forget(std::exchange(watch_, 0));
    fd_.Reset();
  }

  void OnReady(uint32_t) override {
    loop_->AssertHere();
    while (true) {
      OwnedFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) Pause();
        return;
      }
      std::optional<Peer> peer = PeerOf(fd);
      const bool served = peer.has_value() && (options_.serves != nullptr ? options_.serves(peer->uid)
                                                                          : peer->uid == geteuid() || peer->uid == 0);
      if (!served || (options_.admit != nullptr && !options_.admit("", &*peer).ok())) continue;
      GrowBuffer(fd);
      Welcome(std::move(fd), *peer);
    }
  }
  void OnLoopEnds() override { End(); }

 private:
  // If there is no memory or no descriptor, the client receives no WELCOME and uses another carrier.
  void Welcome(OwnedFd fd, const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loop_) {
    absl::StatusOr<PacketSocket> socket = PacketSocket::Create(std::move(fd));
    if (!socket.ok()) return;
    const std::shared_ptr<const uint64_t> charge = RingAllowance::Take(allowance_, options_.ring_bytes);
    absl::StatusOr<std::shared_ptr<Ring>> ring = Ring::Create(*charge, charge);
    if (!ring.ok()) return;
    const std::string welcome = WelcomeBytes({kSharedMemoryVersion, (*ring)->bytes(), options_.worker});
    if (!socket->Send(welcome, false, (*ring)->fd()).ok()) return;
    (*ring)->CloseFd();
    const auto stream =
        SharedMemoryStream::OfWorker(kept_loop_, executor_, peer, *std::move(socket), *std::move(ring), options_.files);
    stream->Begin(acceptor_->Accept(stream));
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
};

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
  PS_ASSIGN_OR_RETURN(OwnedFd fd, ListenAt(address.path));
  PS_ASSIGN_OR_RETURN(std::shared_ptr<PollLoop> loop, PollLoop::Create("ps-socket"));
  auto allowance = std::make_shared<RingAllowance>(options.rings_bytes);
  auto accepting = std::make_shared<Accepting>(loop, std::move(fd), options, allowance, acceptor, executor);
  return std::make_unique<ListenerImpl>(std::move(loop), std::move(accepting), std::move(allowance),
                                        std::move(address));
}

}  // namespace penstock::transport
