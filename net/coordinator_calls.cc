#include "net/coordinator_calls.h"

#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/version.h"
#include "net/call_release.h"
#include "net/call_token.h"
#include "net/grpc_status.h"
#include "net/tls/handshake_fault.h"

namespace penstock::net {

// One call, with all its attempts.
struct CoordinatorCalls::Call {
  Send send;
  std::shared_ptr<v1::Coordinator::Stub> stub;  // stub of the current attempt
  absl::AnyInvocable<void(absl::Status) &&> end;
  std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
  size_t address = 0;  // index of the address that the current attempt calls
  size_t failed = 0;   // number of attempts that failed
  bool cancelled = false;
};

struct CoordinatorCalls::Shared : std::enable_shared_from_this<CoordinatorCalls::Shared> {
  struct Peer {
    std::string address;
    std::shared_ptr<v1::Coordinator::Stub> stub = nullptr;
    std::shared_ptr<const Certificates> certificates = nullptr;  // certificates of its channel; null: plaintext
    bool answered = false;  // a call has succeeded, so later losses are no failed handshakes
  };

  // Returns the stub for an address. It has a new channel if the certificates have changed; calls in flight continue on
  // the old channel.
  std::shared_ptr<v1::Coordinator::Stub> StubFor(size_t address) ABSL_LOCKS_EXCLUDED(mutex) {
    std::shared_ptr<const Certificates> certificates = security.tls() ? security.certificates->current() : nullptr;
    MutexLock lock(&mutex);
    Peer& peer = peers[address];
    if (peer.stub == nullptr || peer.certificates != certificates) {
      peer.stub = v1::Coordinator::NewStub(MakeChannel(peer.address, ChannelUse::kCalls, security));
      peer.certificates = std::move(certificates);
    }
    return peer.stub;
  }

  // Calls one address. The call may end before this function returns.
  void Attempt(const std::shared_ptr<Call>& call) {
    const absl::StatusOr<std::string> token = security.TokenFor(AddressOf(call->address));
    if (!token.ok()) return Ended(call, ToGrpc(token.status()));
    AddToken(call->context.get(), *token);
    call->stub = StubFor(call->address);
    call->send(call->stub->async(), call->context.get(),
               [self = shared_from_this(), call](const grpc::Status& status) { self->Ended(call, status); });
  }

  void Ended(const std::shared_ptr<Call>& call, const grpc::Status& status) {
    if (Repeats(call.get(), status)) return Attempt(call);
    std::move(call->end)(status.ok() ? absl::OkStatus()
                                     : error_of(Explained(call->address, FromGrpc(status)), AddressOf(call->address)));
    call->end = nullptr;  // destroys its captures before Stop returns
    MutexLock lock(&mutex);
    calls.erase(call);
    if (calls.empty()) ended.NotifyAll();
  }

  // Prepares the next attempt and returns true, or releases the context of the last attempt.
  bool Repeats(Call* call, const grpc::Status& status) {
    MutexLock lock(&mutex);
    if (status.ok()) {
      first = call->address;
      peers[first].answered = true;
      protocol = CommonProtocol("the coordinator", ReleaseIn(call->context->GetServerInitialMetadata()), "this process")
                     .value_or(0);
    }
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || ++call->failed == peers.size() || call->cancelled) {
      call->context.reset();
      return false;
    }
    call->address = (call->address + 1) % peers.size();
    auto next = std::make_unique<grpc::ClientContext>();
    AddRelease(next.get());
    next->set_deadline(call->context->deadline());
    call->context = std::move(next);
    return true;
  }

  void Cancel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (const std::shared_ptr<Call>& call : calls) {
      call->cancelled = true;
      if (call->context != nullptr) call->context->TryCancel();  // only posts the cancellation
    }
  }

  absl::Status Explained(size_t address, absl::Status error) ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    return peers[address].answered ? error : ExplainHandshake(std::move(error), security);
  }

  std::string AddressOf(size_t address) ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    return peers[address].address;
  }

  ClientSecurity security;
  ErrorOf error_of = nullptr;

  Mutex mutex;                                     // also orders Cancel with the attempts of the calls
  std::vector<Peer> peers ABSL_GUARDED_BY(mutex);  // as many as addresses
  CondVar ended;
  std::set<std::shared_ptr<Call>> calls ABSL_GUARDED_BY(mutex);
  size_t first ABSL_GUARDED_BY(mutex) = 0;  // address of the next call's first attempt
  uint32_t protocol ABSL_GUARDED_BY(mutex) = 0;
  absl::Status stopped ABSL_GUARDED_BY(mutex);  // error of later calls
};

absl::Status CoordinatorCalls::NamedError(const absl::Status& error, const std::string& address) {
  return absl::Status(error.code(), absl::StrCat("coordinator ", address, ": ", error.message()));
}

CoordinatorCalls::CoordinatorCalls(const std::vector<std::string>& addresses, ErrorOf error_of, ClientSecurity security)
    : shared_(std::make_shared<Shared>()) {
  shared_->security = std::move(security);
  shared_->error_of = error_of;
  MutexLock lock(&shared_->mutex);
  for (const std::string& address : addresses) shared_->peers.push_back({.address = address});
}

CoordinatorCalls::CoordinatorCalls(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                                   ErrorOf error_of)
    : shared_(std::make_shared<Shared>()) {
  shared_->error_of = error_of;
  MutexLock lock(&shared_->mutex);
  shared_->peers.push_back({.address = name, .stub = v1::Coordinator::NewStub(channel)});
}

CoordinatorCalls::~CoordinatorCalls() { Cancel(); }

void CoordinatorCalls::Begin(absl::Duration timeout, Send send, absl::AnyInvocable<void(absl::Status) &&> end) {
  auto call = std::make_shared<Call>();
  call->send = std::move(send);
  call->end = std::move(end);
  PrepareCall(call->context.get(), timeout);
  absl::Status stopped;
  {
    MutexLock lock(&shared_->mutex);
    stopped = shared_->stopped;
    call->address = shared_->first;
    if (stopped.ok()) shared_->calls.insert(call);
  }
  if (!stopped.ok()) return std::move(call->end)(std::move(stopped));
  shared_->Attempt(call);
}

uint32_t CoordinatorCalls::protocol() const {
  MutexLock lock(&shared_->mutex);
  return shared_->protocol;
}

void CoordinatorCalls::Cancel() {
  MutexLock lock(&shared_->mutex);
  shared_->Cancel();
}

void CoordinatorCalls::Stop(const absl::Status& later) {
  MutexLock lock(&shared_->mutex);
  shared_->stopped = later;
  shared_->Cancel();
  while (!shared_->calls.empty()) shared_->ended.Wait(&shared_->mutex);
}

}  // namespace penstock::net
