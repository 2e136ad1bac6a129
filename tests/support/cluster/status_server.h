// A fake coordinator whose status a test chooses.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_STATUS_SERVER_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_STATUS_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock::support {

// Answers each GetStatus with the same status. It may have clocks and releases that no process of this host has.
class StatusServer final : public v1::Coordinator::Service {
 public:
  explicit StatusServer(v1::StatusReply reply) : reply_(std::move(reply)) {
    int port = 0;
    server_ = grpc::ServerBuilder()
                  .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port)
                  .RegisterService(this)
                  .BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~StatusServer() override { server_->Shutdown(); }
  const std::string& address() const { return address_; }

 private:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusReply* reply) override {
    *reply = reply_;
    return grpc::Status::OK;
  }

  const v1::StatusReply reply_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_STATUS_SERVER_H_
