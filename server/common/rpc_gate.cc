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

// A flood of commands, such as a script that asks for the status without a pause, takes no calls of the workers and
// trainers on its host.
std::string_view KindOf(const RpcLine& rpc) {
  if (rpc.callers == kByWorker) return "worker";
  return (rpc.callers & kByTrainer) != 0 ? "trainer" : "command";
}

}  // namespace

std::span<const RpcLine> RpcTable() { return kRpcTable; }

std::string_view DaemonOf(const RpcLine& rpc) { return rpc.rpc == Rpc::kStream ? "this worker" : "this coordinator"; }

absl::Status RpcGate::Reject(const RpcLine& rpc, RejectionReason reason, std::string_view object,
                             const transport::Peer& peer, absl::Status why) const {
  if (rejections_ != nullptr) rejections_->Add({reason, peer.Host(), peer.name, std::string(why.message())});
  if (record_ != nullptr) record_(peer, rpc.method, object, why);
  return why;
}

absl::Status RpcGate::AdmitHost(const RpcLine& rpc, std::string_view object, const transport::Peer& peer) const {
  absl::Status status = limits_ == nullptr ? absl::OkStatus() : limits_->AdmitHost(peer, KindOf(rpc));
  return status.ok() ? status : Reject(rpc, RejectionReason::kLimit, object, peer, std::move(status));
}

absl::Status RpcGate::AdmitName(const RpcLine& rpc, std::string_view credential, std::string_view object,
                                transport::Peer* peer) const {
  absl::Status status = rule_ == nullptr ? absl::OkStatus() : rule_(rpc, credential, peer);
  if (!status.ok()) return Reject(rpc, ReasonOf(status), object, *peer, status);
  if (limits_ != nullptr) status = limits_->AdmitName(*peer, KindOf(rpc));
  return status.ok() ? status : Reject(rpc, RejectionReason::kLimit, object, *peer, std::move(status));
}

absl::Status RpcGate::Check(Rpc rpc, const grpc::CallbackServerContext& context, std::string_view object,
                            transport::Peer* peer) const {
  const RpcLine& line = LineOf(rpc);
  *peer = transport::PeerOf(context);
  PS_RETURN_IF_ERROR(AdmitHost(line, object, *peer));
  absl::Status status = CommonProtocol(absl::StrCat("the caller at ", peer->ToString()),
                                       net::ReleaseIn(context.client_metadata()), "the coordinator")
                            .status();
  if (!status.ok()) return Reject(line, RejectionReason::kProtocol, object, *peer, std::move(status));
  return AdmitName(line, net::TokenIn(context.client_metadata()), object, peer);
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
  return [gate = *this, line = LineOf(rpc)](std::string_view ticket, transport::Peer* peer) -> absl::Status {
    PS_RETURN_IF_ERROR(gate.AdmitHost(line, "", *peer));
    return gate.AdmitName(line, ticket, "", peer);
  };
}

}  // namespace penstock::server
