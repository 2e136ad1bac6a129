// The gate that every RPC passes before its handler runs, and the table of the RPCs.
#ifndef PENSTOCK_SERVER_COMMON_RPC_GATE_H_
#define PENSTOCK_SERVER_COMMON_RPC_GATE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/version.h"
#include "net/call_release.h"
#include "net/grpc_status.h"
#include "server/peers/call_limits.h"
#include "server/peers/rejections.h"
#include "transport/peer.h"

namespace penstock::server {

// The RPCs of coordinator and worker, in the order of their table.
enum class Rpc {
  kSubmit,
  kCancel,
  kDelete,
  kPurge,
  kGetStatus,
  kListShards,
  kGetQuarantine,
  kExplain,
  kStartTrace,
  kGetTrace,
  kDrain,
  kRevoke,
  kPause,
  kResume,
  kDescribe,
  kStartSupport,
  kGetSupport,
  kWatch,
  kRegisterWorker,
  kHeartbeat,
  kReportTask,
  kReportRecords,
  kPutIndex,
  kGetIndex,
  kPutTrace,
  kPutSupport,
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
  unsigned roles;           // bits of net::Role that may call it, besides operators; trainers include submitters
};

// Returns the table. The value of an Rpc is the index of its line.
std::span<const RpcLine> RpcTable();

// Returns the name of the RPC's daemon in messages: "this worker" or "this coordinator".
std::string_view DaemonOf(const RpcLine& rpc);

// Decides whether `peer`, which shows `credential` ("": none), may make a call: OK, or the status with which the call
// ends. The credential is a token or, for kStream, a ticket. May set the peer's name and jobs. May be called on any
// thread. Must not block. If it is unset, the gate accepts every call.
using RpcRule = std::function<absl::Status(const RpcLine& rpc, std::string_view credential, transport::Peer* peer)>;

// Called when a call that the audit log lists (docs/security.md) has ended, and when a call is rejected. `call` is
// RpcLine::method, or "HTTP". `object` is the job, the worker, the name or the path of the page that the call is about;
// "": none, or it is not known. Called on any thread. Must not block.
using RecordCall = std::function<void(const transport::Peer& peer, std::string_view call, std::string_view object,
                                      const absl::Status& outcome)>;

// Returns a rule that ends each call over the network with Unauthenticated unless its peer has shown a certificate.
RpcRule RequireCertificate();

// Checks the limits of calls, checks that the caller has a protocol in common with this process, and applies the rule.
// Thread-safe. Checks a call once, when it starts, and does not check its messages. A stream's first message has the
// protocols of its caller (v1::Open), because shared memory carries no metadata.
class RpcGate {
 public:
  // Adds rejected calls to `rejections`, limits calls by `limits`, and reports rejected calls to `record`, unless
  // these are null.
  explicit RpcGate(RpcRule rule = nullptr, std::shared_ptr<Rejections> rejections = nullptr,
                   std::shared_ptr<CallLimits> limits = nullptr, RecordCall record = nullptr)
      : rule_(std::move(rule)),
        rejections_(std::move(rejections)),
        limits_(std::move(limits)),
        record_(std::move(record)) {}

  // Checks a unary call. Every handler of a unary RPC starts with it. `object` is that of RecordCall. Calls
  // handler(peer), where `peer` is the caller with its name, and returns the reactor that it returns. Ends a rejected
  // call: with FailedPrecondition without a common protocol, else with the status of the limit or of the rule.
  template <typename Handler>
  grpc::ServerUnaryReactor* Enter(Rpc rpc, grpc::CallbackServerContext* context, std::string_view object,
                                  Handler handler) const {
    net::AddRelease(context);
    transport::Peer peer;
    const absl::Status status = Check(rpc, *context, object, &peer);
    if (status.ok()) return handler(peer);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(net::ToGrpc(status));
    return reactor;
  }

  // Returns the limits and the rule for the streams of an RPC.
  transport::AdmitPeer ForStreams(Rpc rpc) const;

 private:
  absl::Status Check(Rpc rpc, const grpc::CallbackServerContext& context, std::string_view object,
                     transport::Peer* peer) const;
  // Checks the limit of the host, before anything else takes time.
  absl::Status AdmitHost(const RpcLine& rpc, std::string_view object, const transport::Peer& peer) const;
  // Applies the rule, and checks the limit of the name.
  absl::Status AdmitName(const RpcLine& rpc, std::string_view credential, std::string_view object,
                         transport::Peer* peer) const;
  // Counts and records a rejected call. Returns `why`.
  absl::Status Reject(const RpcLine& rpc, RejectionReason reason, std::string_view object, const transport::Peer& peer,
                      absl::Status why) const;
  static const RpcLine& LineOf(Rpc rpc) { return RpcTable()[static_cast<size_t>(rpc)]; }

  const RpcRule rule_;
  const std::shared_ptr<Rejections> rejections_;
  const std::shared_ptr<CallLimits> limits_;
  const RecordCall record_;
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_RPC_GATE_H_
