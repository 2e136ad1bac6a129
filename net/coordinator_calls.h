// Calls of the coordinator's RPCs: the stubs, deadlines, cancellation and failover of every caller.
#ifndef PENSTOCK_NET_COORDINATOR_CALLS_H_
#define PENSTOCK_NET_COORDINATOR_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/channel.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock::net {

// Calls one coordinator at the first of several addresses that answers. Thread-safe. A call starts at the address that
// last returned a reply. If the call fails with Unavailable, it is repeated at the next address, at most once at each
// address and within the same deadline. The failed attempt may have taken effect, so a repeated request must be
// harmless. Each call sends this process's release and protocols; a coordinator without a common protocol rejects it
// with FailedPrecondition. A call also fails with FailedPrecondition, without being sent, if it would show the token
// (ClientSecurity::MayShow).
class CoordinatorCalls {
 public:
  using Rpcs = v1::Coordinator::StubInterface::async_interface;
  // A member of Rpcs: &CoordinatorCalls::Rpcs::Submit.
  template <typename Request, typename Reply>
  using Rpc = void (Rpcs::*)(grpc::ClientContext*, const Request*, Reply*, std::function<void(grpc::Status)>);
  template <typename Reply>
  using Done = absl::AnyInvocable<void(absl::StatusOr<Reply>) &&>;
  // Returns the error for the caller of a call that failed at `address`. `error` is not OK, and may have the mark
  // kHandshakeFault. Called on any thread.
  using ErrorOf = absl::Status (*)(const absl::Status& error, const std::string& address);
  // Returns the error with "coordinator ADDRESS: " before its message.
  static absl::Status NamedError(const absl::Status& error, const std::string& address);

  // `addresses`: one or more, each host:port. Connects on first use, and again for the next call when the certificates
  // of `security` have changed.
  explicit CoordinatorCalls(const std::vector<std::string>& addresses, ErrorOf error_of = &NamedError,
                            ClientSecurity security = {});
  // Calls the coordinator behind `channel`, such as one in this process. `name` stands for its address in errors.
  CoordinatorCalls(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                   ErrorOf error_of = &NamedError);
  // Calls Cancel(). Does not block, so a `done` may destroy this object.
  ~CoordinatorCalls();

  // Starts a call and returns. `done` is called once, on any thread, possibly before Start returns. It must not block.
  template <typename Request, typename Reply>
  void Start(Rpc<Request, Reply> rpc, const Request& request, absl::Duration timeout,
             std::type_identity_t<Done<Reply>> done) {
    struct Messages {
      Request request;
      Reply reply;
    };
    auto messages = std::make_shared<Messages>(Messages{request, Reply()});
    Begin(
        timeout,
        [rpc, messages](Rpcs* rpcs, grpc::ClientContext* context, std::function<void(grpc::Status)> ended) {
          (rpcs->*rpc)(context, &messages->request, &messages->reply, std::move(ended));
        },
        [messages, done = std::move(done)](absl::Status status) mutable {
          if (status.ok()) return std::move(done)(std::move(messages->reply));
          std::move(done)(std::move(status));
        });
  }

  // Makes a call and blocks until it ends.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Wait(Rpc<Request, Reply> rpc, const Request& request, absl::Duration timeout) {
    std::promise<absl::StatusOr<Reply>> promise;
    std::future<absl::StatusOr<Reply>> result = promise.get_future();
    Start(rpc, request, timeout,
          [promise = std::move(promise)](absl::StatusOr<Reply> reply) mutable { promise.set_value(std::move(reply)); });
    return result.get();
  }

  // Returns the highest protocol in common with the coordinator that last replied. 0: none has replied, or it is of
  // release 0.2 or older, whose replies name no protocols.
  uint32_t protocol() const;

  // Cancels the calls in flight, which end with Cancelled unless their result has arrived. Does not block.
  void Cancel();
  // Cancels the calls in flight, and returns when the `done` of each has returned. Later calls fail with `later`, which
  // must not be OK. Must not be called inside a `done`.
  void Stop(const absl::Status& later);

 private:
  using Send = std::function<void(Rpcs*, grpc::ClientContext*, std::function<void(grpc::Status)>)>;
  struct Call;
  struct Shared;
  void Begin(absl::Duration timeout, Send send, absl::AnyInvocable<void(absl::Status) &&> end);

  const std::shared_ptr<Shared> shared_;  // also owned by the calls, which may end later
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_COORDINATOR_CALLS_H_
