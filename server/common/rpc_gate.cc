#include "server/common/rpc_gate.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/access/access_list.h"
#include "net/call_token.h"
#include "transport/grpc/grpc_peer.h"

namespace penstock::server {
namespace {

constexpr unsigned kByCommand = RpcLine::kCommand, kByTrainer = RpcLine::kTrainer, kByWorker = RpcLine::kWorker;
constexpr unsigned kNoRole = 0, kViewer = static_cast<unsigned>(net::Role::kViewer),
                   kTrainer = static_cast<unsigned>(net::Role::kTrainer),
                   kWorker = static_cast<unsigned>(net::Role::kWorker),
                   kSubmitter = static_cast<unsigned>(net::Role::kSubmitter);

constexpr RpcLine kRpcTable[] = {
    {Rpc::kSubmit, "penstock.v1.Coordinator/Submit", kByCommand, kSubmitter},
    {Rpc::kCancel, "penstock.v1.Coordinator/Cancel", kByCommand, kSubmitter},
    {Rpc::kDelete, "penstock.v1.Coordinator/Delete", kByCommand, kSubmitter},
    {Rpc::kPurge, "penstock.v1.Coordinator/Purge", kByCommand, kSubmitter},
    {Rpc::kGetStatus, "penstock.v1.Coordinator/GetStatus", kByCommand, kViewer | kTrainer},
    {Rpc::kListShards, "penstock.v1.Coordinator/ListShards", kByCommand, kViewer},
    {Rpc::kGetQuarantine, "penstock.v1.Coordinator/GetQuarantine", kByCommand, kViewer},
    {Rpc::kExplain, "penstock.v1.Coordinator/Explain", kByCommand | kByTrainer, kViewer | kTrainer},
    {Rpc::kStartTrace, "penstock.v1.Coordinator/StartTrace", kByCommand, kNoRole},
    {Rpc::kGetTrace, "penstock.v1.Coordinator/GetTrace", kByCommand, kViewer},
    {Rpc::kDrain, "penstock.v1.Coordinator/Drain", kByCommand, kNoRole},
    {Rpc::kRevoke, "penstock.v1.Coordinator/Revoke", kByCommand, kNoRole},
    {Rpc::kPause, "penstock.v1.Coordinator/Pause", kByCommand, kSubmitter},
    {Rpc::kResume, "penstock.v1.Coordinator/Resume", kByCommand, kSubmitter},
    {Rpc::kDescribe, "penstock.v1.Coordinator/Describe", kByCommand, kViewer},
    {Rpc::kStartSupport, "penstock.v1.Coordinator/StartSupport", kByCommand, kNoRole},
    {Rpc::kGetSupport, "penstock.v1.Coordinator/GetSupport", kByCommand, kNoRole},
    {Rpc::kWatch, "penstock.v1.Coordinator/Watch", kByCommand | kByTrainer | kByWorker, kViewer | kTrainer | kWorker},
    {Rpc::kRegisterWorker, "penstock.v1.Coordinator/RegisterWorker", kByWorker, kWorker},
    {Rpc::kHeartbeat, "penstock.v1.Coordinator/Heartbeat", kByWorker, kWorker},
    {Rpc::kReportTask, "penstock.v1.Coordinator/ReportTask", kByWorker, kWorker},
    {Rpc::kReportRecords, "penstock.v1.Coordinator/ReportRecords", kByWorker, kWorker},
    {Rpc::kPutIndex, "penstock.v1.Coordinator/PutIndex", kByWorker, kWorker},
    {Rpc::kGetIndex, "penstock.v1.Coordinator/GetIndex", kByWorker, kWorker},
    {Rpc::kPutTrace, "penstock.v1.Coordinator/PutTrace", kByTrainer | kByWorker, kTrainer | kWorker},
    {Rpc::kPutSupport, "penstock.v1.Coordinator/PutSupport", kByWorker, kWorker},
    {Rpc::kOpenSession, "penstock.v1.Coordinator/OpenSession", kByTrainer, kTrainer},
    {Rpc::kReportSession, "penstock.v1.Coordinator/ReportSession", kByTrainer, kTrainer},
    {Rpc::kCloseSession, "penstock.v1.Coordinator/CloseSession", kByTrainer, kTrainer},
    {Rpc::kJudgeRecords, "penstock.v1.Coordinator/JudgeRecords", kByTrainer, kTrainer},
    {Rpc::kStream, "penstock.v1.Worker/Stream", kByTrainer, kNoRole},  // shows a ticket instead of a role
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kRpcTable); ++i) {
    if (static_cast<size_t>(kRpcTable[i].rpc) != i) return false;
  }
  return std::size(kRpcTable) == static_cast<size_t>(Rpc::kStream) + 1;
}
static_assert(IsInOrder());

void AddTo(Rejections* rejections, RejectionReason reason, const transport::Peer& peer, const absl::Status& status) {
  if (rejections != nullptr) rejections->Add({reason, peer.Host(), peer.name, std::string(status.message())});
}

// A flood of commands, such as a script that asks for the status without a pause, takes no calls of the workers and
// trainers on its host.
std::string_view KindOf(const RpcLine& rpc) {
  if (rpc.callers == kByWorker) return "worker";
  return (rpc.callers & kByTrainer) != 0 ? "trainer" : "command";
}

// Applies limits and rule. Adds a rejection to `rejections`.
absl::Status Admit(const RpcRule& rule, CallLimits* limits, Rejections* rejections, const RpcLine& rpc,
                   std::string_view credential, transport::Peer* peer) {
  if (rule != nullptr) {
    absl::Status status = rule(rpc, credential, peer);
    if (!status.ok()) {
      AddTo(rejections, ReasonOf(status), *peer, status);
      return status;
    }
  }
  absl::Status status = limits == nullptr ? absl::OkStatus() : limits->AdmitName(*peer, KindOf(rpc));
  if (!status.ok()) AddTo(rejections, RejectionReason::kLimit, *peer, status);
  return status;
}

// Checks the limit of the host, before anything else takes time.
absl::Status AdmitHost(CallLimits* limits, Rejections* rejections, const RpcLine& rpc, const transport::Peer& peer) {
  absl::Status status = limits == nullptr ? absl::OkStatus() : limits->AdmitHost(peer, KindOf(rpc));
  if (!status.ok()) AddTo(rejections, RejectionReason::kLimit, peer, status);
  return status;
}

}  // namespace

std::span<const RpcLine> RpcTable() { return kRpcTable; }

std::string_view DaemonOf(const RpcLine& rpc) { return rpc.rpc == Rpc::kStream ? "this worker" : "this coordinator"; }

absl::Status RpcGate::Check(Rpc rpc, const grpc::CallbackServerContext& context, transport::Peer* peer) const {
  *peer = transport::PeerOf(context);
  PS_RETURN_IF_ERROR(AdmitHost(limits_.get(), rejections_.get(), LineOf(rpc), *peer));
  absl::Status status = CommonProtocol(absl::StrCat("the caller at ", peer->ToString()),
                                       net::ReleaseIn(context.client_metadata()), "the coordinator")
                            .status();
  if (!status.ok()) {
    AddTo(rejections_.get(), RejectionReason::kProtocol, *peer, status);
    return status;
  }
  return Admit(rule_, limits_.get(), rejections_.get(), LineOf(rpc), net::TokenIn(context.client_metadata()), peer);
}

RpcRule RequireCertificate() {
  return [](const RpcLine& rpc, std::string_view, transport::Peer* peer) {
    if (peer->kind != transport::Peer::Kind::kNetwork || peer->has_certificate) return absl::OkStatus();
    return absl::UnauthenticatedError(
        absl::StrCat(std::string(DaemonOf(rpc)),
                     " accepts only clients with a certificate that its CA signs. Name yours with --tls-cert and "
                     "--tls-key (PENSTOCK_TLS_CERT and PENSTOCK_TLS_KEY, tls_cert= and tls_key= in Python)"));
  };
}

transport::AdmitPeer RpcGate::ForStreams(Rpc rpc) const {
  return [rule = rule_, limits = limits_, rejections = rejections_, line = LineOf(rpc)](
             std::string_view ticket, transport::Peer* peer) -> absl::Status {
    PS_RETURN_IF_ERROR(AdmitHost(limits.get(), rejections.get(), line, *peer));
    return Admit(rule, limits.get(), rejections.get(), line, ticket, peer);
  };
}

}  // namespace penstock::server
