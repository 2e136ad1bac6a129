// The coordinator over gRPC.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "client/transport/coordinator_client.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock {

// `done` is called on threads of gRPC's.
class GrpcCoordinatorClient final : public CoordinatorClient {
 public:
  // host:port
  explicit GrpcCoordinatorClient(const std::string& address);
  // Cancels what is under way.
  ~GrpcCoordinatorClient() override;

  std::string name() const override { return "the coordinator at " + address_; }
  void OpenSession(const v1::OpenSessionRequest& request, Nanos timeout, Done<v1::OpenSessionReply> done) override;
  void Watch(const v1::WatchRequest& request, Nanos timeout, Done<v1::WatchReply> done) override;
  void ReportSession(const v1::ReportSessionRequest& request, Nanos timeout,
                     Done<v1::ReportSessionReply> done) override;
  void CloseSession(const v1::CloseSessionRequest& request, Nanos timeout, Done<v1::CloseSessionReply> done) override;
  void JudgeRecords(const v1::JudgeRecordsRequest& request, Nanos timeout, Done<v1::JudgeRecordsReply> done) override;
  void Explain(const v1::ExplainRequest& request, Nanos timeout, Done<v1::ExplainReply> done) override;
  void PutTrace(const v1::PutTraceRequest& request, Nanos timeout, Done<v1::PutTraceReply> done) override;
  void Cancel() override;

 private:
  // The contexts of calls under way, so that they can be cancelled. Shared with the calls, which may end later.
  struct Calls;
  using Async = v1::Coordinator::StubInterface::async_interface;
  template <typename Request, typename Reply>
  void Begin(void (Async::*method)(grpc::ClientContext*, const Request*, Reply*, std::function<void(grpc::Status)>),
             const Request& request, Nanos timeout, Done<Reply> done);

  const std::string address_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  const std::shared_ptr<Calls> calls_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_COORDINATOR_CLIENT_H_
