// The coordinator over gRPC.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_

#include <string>
#include <utility>

#include "client/transport/coordinator_client.h"
#include "net/coordinator_calls.h"
#include "net/tls/client_security.h"
#include "penstock/v1/control.pb.h"

namespace penstock::client {

// Calls `done` on gRPC's threads, or inside the call. The destructor cancels the calls in flight and does not wait for
// them.
class GrpcCoordinatorClient final : public CoordinatorClient {
 public:
  // `address` is host:port.
  explicit GrpcCoordinatorClient(const std::string& address, net::ClientSecurity security = {})
      : address_(address), calls_({address}, &net::CoordinatorCalls::NamedError, std::move(security)) {}

  std::string name() const override { return "the coordinator at " + address_; }
  void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) override;
  void Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) override;
  void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                     Done<v1::ReportSessionReply> done) override;
  void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout, Done<v1::CloseSessionReply> done) override;
  void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) override;
  void Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) override;
  void PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) override;
  void Cancel() override { calls_.Cancel(); }

 private:
  const std::string address_;
  net::CoordinatorCalls calls_;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_
