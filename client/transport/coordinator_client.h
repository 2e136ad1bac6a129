// The coordinator as a trainer sees it. Every call has a deadline.
#ifndef PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_
#define PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock {

// Thread-safe. Errors name the coordinator's address.
class CoordinatorClient {
 public:
  explicit CoordinatorClient(const std::string& address);
  // Cancels what is under way.
  ~CoordinatorClient();

  const std::string& address() const { return address_; }

  // These wait for the answer.
  absl::StatusOr<v1::OpenSessionReply> OpenSession(const v1::OpenSessionRequest& request, absl::Duration timeout);
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request, absl::Duration timeout);
  absl::Status CloseSession(const v1::CloseSessionRequest& request, absl::Duration timeout);

  // These return at once. `done` is called once, on a thread of gRPC's, also when the call is cancelled.
  template <typename Reply>
  using Done = std::function<void(absl::StatusOr<Reply>)>;
  void OpenSession(const v1::OpenSessionRequest& request, absl::Duration timeout, Done<v1::OpenSessionReply> done);
  void Watch(const v1::WatchRequest& request, absl::Duration timeout, Done<v1::WatchReply> done);
  void ReportSession(const v1::ReportSessionRequest& request, absl::Duration timeout,
                     Done<v1::ReportSessionReply> done);

  // Ends the calls that are under way, and all later ones.
  void Cancel();

 private:
  // The contexts of calls under way, so that they can be cancelled. Shared with the calls, which may end later.
  struct Calls;
  template <typename Request, typename Reply, typename Start>
  void Begin(const Request& request, absl::Duration timeout, Done<Reply> done, Start start);

  const std::string address_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_COORDINATOR_CLIENT_H_
