#include "server/common/rpc_gate.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "transport/grpc/grpc_peer.h"

namespace penstock::server {
namespace {

constexpr unsigned kByCommand = RpcLine::kCommand, kByTrainer = RpcLine::kTrainer, kByWorker = RpcLine::kWorker;

constexpr RpcLine kRpcTable[] = {
    {Rpc::kSubmit, "penstock.v1.Coordinator/Submit", kByCommand},
    {Rpc::kCancel, "penstock.v1.Coordinator/Cancel", kByCommand},
    {Rpc::kDelete, "penstock.v1.Coordinator/Delete", kByCommand},
    {Rpc::kGetStatus, "penstock.v1.Coordinator/GetStatus", kByCommand},
    {Rpc::kListShards, "penstock.v1.Coordinator/ListShards", kByCommand},
    {Rpc::kGetQuarantine, "penstock.v1.Coordinator/GetQuarantine", kByCommand},
    {Rpc::kExplain, "penstock.v1.Coordinator/Explain", kByCommand | kByTrainer},
    {Rpc::kStartTrace, "penstock.v1.Coordinator/StartTrace", kByCommand},
    {Rpc::kGetTrace, "penstock.v1.Coordinator/GetTrace", kByCommand},
    {Rpc::kDrain, "penstock.v1.Coordinator/Drain", kByCommand},
    {Rpc::kWatch, "penstock.v1.Coordinator/Watch", kByCommand | kByTrainer | kByWorker},
    {Rpc::kRegisterWorker, "penstock.v1.Coordinator/RegisterWorker", kByWorker},
    {Rpc::kHeartbeat, "penstock.v1.Coordinator/Heartbeat", kByWorker},
    {Rpc::kReportTask, "penstock.v1.Coordinator/ReportTask", kByWorker},
    {Rpc::kReportRecords, "penstock.v1.Coordinator/ReportRecords", kByWorker},
    {Rpc::kPutIndex, "penstock.v1.Coordinator/PutIndex", kByWorker},
    {Rpc::kGetIndex, "penstock.v1.Coordinator/GetIndex", kByWorker},
    {Rpc::kPutTrace, "penstock.v1.Coordinator/PutTrace", kByTrainer | kByWorker},
    {Rpc::kOpenSession, "penstock.v1.Coordinator/OpenSession", kByTrainer},
    {Rpc::kReportSession, "penstock.v1.Coordinator/ReportSession", kByTrainer},
    {Rpc::kCloseSession, "penstock.v1.Coordinator/CloseSession", kByTrainer},
    {Rpc::kJudgeRecords, "penstock.v1.Coordinator/JudgeRecords", kByTrainer},
    {Rpc::kStream, "penstock.v1.Worker/Stream", kByTrainer},
};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kRpcTable); ++i) {
    if (static_cast<size_t>(kRpcTable[i].rpc) != i) return false;
  }
  return std::size(kRpcTable) == static_cast<size_t>(Rpc::kStream) + 1;
}
static_assert(IsInOrder());

// Returns the status of a rule, and counts it if it rejects.
absl::Status Counted(absl::Status status, const std::shared_ptr<Rejections>& rejections) {
  if (!status.ok() && rejections != nullptr) rejections->Add(ReasonOf(status));
  return status;
}

}  // namespace

std::span<const RpcLine> RpcTable() { return kRpcTable; }

absl::Status RpcGate::Check(Rpc rpc, const grpc::CallbackServerContext& context) const {
  const transport::Peer peer = transport::PeerOf(context);
  absl::Status status = CommonProtocol(absl::StrCat("the caller at ", peer.ToString()),
                                       net::ReleaseIn(context.client_metadata()), "the coordinator")
                            .status();
  if (!status.ok()) {
    if (rejections_ != nullptr) rejections_->Add(RejectionReason::kProtocol);
    return status;
  }
  return rule_ == nullptr ? absl::OkStatus() : Counted(rule_(LineOf(rpc), peer), rejections_);
}

RpcRule RequireCertificate() {
  return [](const RpcLine& rpc, const transport::Peer& peer) {
    if (peer.kind != transport::Peer::Kind::kNetwork || peer.has_certificate) return absl::OkStatus();
    const bool to_worker = rpc.rpc == Rpc::kStream;
    return absl::UnauthenticatedError(absl::StrCat(
        to_worker ? "this worker" : "this coordinator",
        " accepts only clients with a certificate that its CA signs. Name yours with --tls-cert and --tls-key "
        "(PENSTOCK_TLS_CERT and PENSTOCK_TLS_KEY, tls_cert= and tls_key= in Python)"));
  };
}

transport::AdmitPeer RpcGate::ForStreams(Rpc rpc) const {
  if (rule_ == nullptr) return nullptr;
  return [rule = rule_, rejections = rejections_, line = LineOf(rpc)](const transport::Peer& peer) {
    return Counted(rule(line, peer), rejections);
  };
}

}  // namespace penstock::server
