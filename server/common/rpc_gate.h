// The gate that every RPC passes before its handler runs, and the table of the RPCs.
#ifndef PENSTOCK_SERVER_COMMON_RPC_GATE_H_
#define PENSTOCK_SERVER_COMMON_RPC_GATE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "net/grpc_status.h"
#include "transport/peer.h"

namespace penstock::server {

// The RPCs of coordinator and worker, in the order of their table.
enum class Rpc {
  kSubmit,
  kCancel,
  kDelete,
  kGetStatus,
  kListShards,
  kGetQuarantine,
  kExplain,
  kStartTrace,
  kGetTrace,
  kDrain,
  kWatch,
  kRegisterWorker,
  kHeartbeat,
  kReportTask,
  kReportRecords,
  kPutIndex,
  kGetIndex,
  kPutTrace,
  kOpenSession,
  kReportSession,
  kCloseSession,
  kJudgeRecords,
  kStream,
};

// One line of the table.
struct RpcLine {
  // Processes that call the RPC.
  enum Callers : unsigned { kCommand = 1, kTrainer = 2, kWorker = 4 };

  Rpc rpc;
  std::string_view method;  // service and method, as in the path of a call: "penstock.v1.Coordinator/Submit"
  unsigned callers;         // bits of Callers
};

// Returns the table. The value of an Rpc is the index of its line.
std::span<const RpcLine> RpcTable();

// Decides whether `peer` may make a call: OK, or the status with which the call ends. May be called on any thread. Must
// not block. If it is unset, the gate accepts every call.
using RpcRule = std::function<absl::Status(const RpcLine& rpc, const transport::Peer& peer)>;

// Applies the rule. Thread-safe. Checks a call once, when it starts, and does not check its messages.
class RpcGate {
 public:
  explicit RpcGate(RpcRule rule = nullptr) : rule_(std::move(rule)) {}

  // Applies the rule to a unary call. Every handler of a unary RPC starts with it. Returns the reactor that `handler`
  // returns. If the rule rejects the call, ends it with the status of the rule.
  template <typename Handler>
  grpc::ServerUnaryReactor* Enter(Rpc rpc, grpc::CallbackServerContext* context, Handler handler) const {
    if (rule_ == nullptr) return handler();
    const absl::Status status = rule_(LineOf(rpc), transport::Peer::Grpc(context->peer()));
    if (status.ok()) return handler();
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(net::ToGrpc(status));
    return reactor;
  }

  // Returns the rule for the streams of an RPC, or an unset function.
  transport::AdmitPeer ForStreams(Rpc rpc) const;

 private:
  static const RpcLine& LineOf(Rpc rpc) { return RpcTable()[static_cast<size_t>(rpc)]; }

  const RpcRule rule_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_RPC_GATE_H_
