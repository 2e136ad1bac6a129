// Calls of the coordinator in a name.
#ifndef PENSTOCK_TESTS_HOSTILE_CALLER_H_
#define PENSTOCK_TESTS_HOSTILE_CALLER_H_

#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "net/call_token.h"
#include "net/channel.h"
#include "net/grpc_status.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/hostile/besieged_cluster.h"

namespace penstock::hostile {

// A caller with the token of a name, if the cluster has roles.
class Caller {
 public:
  Caller(BesiegedCluster& cluster, const std::string& name)
      : address_(cluster.processes().address()),
        security_(cluster.SecurityOf(name)),
        stub_(v1::Coordinator::NewStub(net::MakeChannel(address_, net::ChannelUse::kCalls, security_))) {}

  // Calls an RPC, such as &v1::Coordinator::Stub::OpenSession.
  template <typename Method, typename Request, typename Reply>
  absl::Status Call(Method method, const Request& request, Reply* reply) {
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(10));
    net::AddToken(&context, security_.TokenFor(address_).value_or(""));
    return net::FromGrpc((stub_.get()->*method)(&context, request, reply), address_);
  }

 private:
  const std::string address_;
  const net::ClientSecurity security_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
};

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_CALLER_H_
