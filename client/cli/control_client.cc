#include "client/cli/control_client.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/status_mark.h"
#include "base/version.h"
#include "client/cli/output.h"
#include "net/address.h"
#include "net/job_mirror.h"
#include "net/protocols_proto.h"
#include "net/tls/client_security.h"
#include "net/tls/handshake_fault.h"

namespace penstock::cli {
namespace {

constexpr uint32_t kWatchMs = 2000;
constexpr absl::Duration kLookTimeout = absl::Seconds(20);

// If the coordinator is unreachable, the error names it and the remedy.
absl::Status ErrorOfCommand(const absl::Status& error, const std::string& address) {
  if (HasMark(error, net::kHandshakeFault)) {
    return absl::Status(error.code(),
                        absl::StrCat("the coordinator at ", address, " cannot be reached: ", error.message()));
  }
  if (absl::IsUnimplemented(error)) {
    return absl::Status(error.code(), absl::StrCat("--coordinator ", address, ": ", error.message()));
  }
  if (!absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error)) return error;
  const char* const why = absl::StrContains(error.message(), "HTTP/2") ? "another program listens there"
                          : absl::StrContains(error.message(), "SETTINGS")
                              ? "it accepts connections and does not answer: does its process hang?"
                              : "is it running?";
  return absl::Status(error.code(),
                      absl::StrCat("the coordinator at ", address, " cannot be reached (", error.message(), "); ", why,
                                   " --coordinator HOST:PORT names another"));
}

}  // namespace

void CoordinatorFlags::AddTo(config::Flags* flags) {
  flags->AddString("coordinator", &address_, "HOST:PORT",
                   "the coordinator (default: $PENSTOCK_COORDINATOR, else localhost:7070)");
  flags->AddString(
      "tls-ca", &tls_.ca, "FILE",
      "use TLS; the authorities, in PEM, that sign the servers' certificates; system: those that this host "
      "trusts ($PENSTOCK_TLS_CA)");
  flags->AddString("tls-cert", &tls_.cert, "FILE",
                   "certificate of this client in PEM, where servers require one ($PENSTOCK_TLS_CERT)");
  flags->AddString("tls-key", &tls_.key, "FILE", "private key of that certificate ($PENSTOCK_TLS_KEY)");
  flags->AddString("token-file", &token_file_, "FILE",
                   "the token of this client, where servers ask for one; sent only by TLS or within this host "
                   "($PENSTOCK_TOKEN_FILE)");
}

std::string CoordinatorFlags::address() const {
  if (!address_.empty()) return address_;
  const char* from_environment = std::getenv("PENSTOCK_COORDINATOR");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment : "localhost:7070";
}

ControlClient::ControlClient(const CoordinatorFlags& coordinator, absl::Duration call_timeout)
    : call_timeout_(call_timeout) {
  const absl::StatusOr<net::Address> parsed = net::ParseAddress(coordinator.address(), net::kCoordinatorPort);
  if (!parsed.ok()) {
    unusable_ = absl::Status(parsed.status().code(), absl::StrCat("--coordinator: ", parsed.status().message()));
    return;
  }
  const absl::StatusOr<net::ClientSecurity> security =
      net::OpenClientSecurity(coordinator.tls(), coordinator.token_file());
  unusable_ = security.status();
  address_ = parsed->ToString();
  if (security.ok()) calls_.emplace(std::vector<std::string>{address_}, &ErrorOfCommand, *security);
}

template <typename Request, typename Reply>
absl::StatusOr<Reply> ControlClient::Ask(net::CoordinatorCalls::Rpc<Request, Reply> rpc, const Request& request,
                                         absl::Duration timeout) {
  PS_RETURN_IF_ERROR(unusable_);
  absl::StatusOr<Reply> reply = calls_->Wait(rpc, request, timeout);
  if (absl::IsUnimplemented(reply.status())) return ErrorOfUnknownCall(reply.status());
  return reply;
}

// The previous release lacks the RPCs that this one added.
absl::Status ControlClient::ErrorOfUnknownCall(const absl::Status& error) {
  const auto status = calls_->Wait(&net::CoordinatorCalls::Rpcs::GetStatus, v1::StatusRequest(), call_timeout_);
  if (!status.ok() || status->protocols().newest() >= kProtocols.newest) return error;
  const Release release{status->version(), net::ProtocolsOf(status->protocols())};
  return absl::Status(error.code(), absl::StrCat("the coordinator at ", address_, " is ", release.ToString(),
                                                 ", which lacks this call; this command is ", ThisRelease().ToString(),
                                                 ": upgrade the coordinator (docs/upgrading.md). Nothing has changed"));
}

absl::StatusOr<v1::SubmitReply> ControlClient::Submit(const v1::SubmitRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Submit, request, call_timeout_);
}
absl::StatusOr<v1::CancelReply> ControlClient::Cancel(const v1::CancelRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Cancel, request, call_timeout_);
}
absl::StatusOr<v1::DeleteReply> ControlClient::Delete(const v1::DeleteRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Delete, request, call_timeout_);
}
absl::StatusOr<v1::PurgeReply> ControlClient::Purge(const v1::PurgeRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Purge, request, call_timeout_);
}
absl::StatusOr<v1::PauseReply> ControlClient::Pause(const v1::PauseRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Pause, request, call_timeout_);
}
absl::StatusOr<v1::ResumeReply> ControlClient::Resume(const v1::ResumeRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Resume, request, call_timeout_);
}
absl::StatusOr<v1::StatusReply> ControlClient::GetStatus(const std::string& job) {
  v1::StatusRequest request;
  request.set_job(job);
  PS_ASSIGN_OR_RETURN(v1::StatusReply reply, Ask(&net::CoordinatorCalls::Rpcs::GetStatus, request, call_timeout_));
  if (job.empty()) return reply;
  // A coordinator of 0.3.0 ignores the name.
  auto* const jobs = reply.mutable_jobs();
  jobs->erase(std::remove_if(jobs->begin(), jobs->end(), [&](const auto& other) { return other.name() != job; }),
              jobs->end());
  reply.clear_workers();
  if (jobs->empty()) return absl::NotFoundError(absl::StrCat("no job \"", job, "\"; `penstock jobs` lists them"));
  return reply;
}
absl::StatusOr<v1::ListShardsReply> ControlClient::ListShards(const v1::ListShardsRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::ListShards, request, call_timeout_);
}
absl::StatusOr<v1::QuarantineReply> ControlClient::GetQuarantine(const v1::QuarantineRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::GetQuarantine, request, call_timeout_);
}
absl::StatusOr<v1::StartTraceReply> ControlClient::StartTrace(const v1::StartTraceRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::StartTrace, request, call_timeout_);
}

absl::StatusOr<v1::GetTraceReply> ControlClient::GetTrace(const v1::GetTraceRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::GetTrace, request, call_timeout_);
}

absl::StatusOr<v1::DescribeReply> ControlClient::Describe(const v1::DescribeRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Describe, request, call_timeout_);
}

absl::StatusOr<v1::ExplainReply> ControlClient::Explain(const v1::ExplainRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Explain, request, call_timeout_);
}
absl::StatusOr<v1::RevokeReply> ControlClient::Revoke(const v1::RevokeRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Revoke, request, call_timeout_);
}

absl::StatusOr<v1::StartSupportReply> ControlClient::StartSupport() {
  return Ask(&net::CoordinatorCalls::Rpcs::StartSupport, v1::StartSupportRequest(), call_timeout_);
}
absl::StatusOr<v1::GetSupportReply> ControlClient::GetSupport(const v1::GetSupportRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::GetSupport, request, call_timeout_);
}
absl::StatusOr<v1::DrainReply> ControlClient::Drain(const v1::DrainRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Drain, request, call_timeout_);
}
absl::StatusOr<v1::WatchReply> ControlClient::Watch(const v1::WatchRequest& request) {
  return Ask(&net::CoordinatorCalls::Rpcs::Watch, request, call_timeout_ + absl::Milliseconds(request.wait_ms()));
}

absl::StatusOr<v1::Job> SubmitAndWait(ControlClient& client, const v1::SubmitRequest& request, bool quiet) {
  PS_ASSIGN_OR_RETURN(v1::SubmitReply reply, client.Submit(request));
  v1::Job job = std::move(*reply.mutable_job());
  ProgressBar bar("preparing");
  net::JobMirror watched(job.name());
  bool replaces = reply.replaces();
  const absl::Time looked_until = absl::Now() + kLookTimeout;
  const auto looking = [&] {
    return job.state() == v1::READY && job.files_look().number() < reply.files_look() && absl::Now() < looked_until;
  };
  while (job.state() == v1::PREPARING || looking()) {
    PS_ASSIGN_OR_RETURN(const v1::WatchReply reply_of_watch, client.Watch(watched.NextRequest(kWatchMs)));
    PS_ASSIGN_OR_RETURN(const net::JobChanges changes, watched.Apply(reply_of_watch));
    for (const net::WatchedJob& changed : changes.jobs) {
      if (changed.record.uid() == job.uid()) {
        job = net::ToJob(changed);
        replaces = false;
      } else if (changed.record.next().uid() == job.uid()) {
        job = net::ToJob({changed.record.next(), nullptr, nullptr, nullptr});
      } else {
        return absl::CancelledError(
            absl::StrCat("another client submitted job '", job.name(), "' again in the meantime"));
      }
    }
    if (!changes.removed.empty()) {
      return absl::CancelledError(absl::StrCat("job '", job.name(), "' was cancelled while it was prepared"));
    }
    if (quiet || job.state() == v1::READY) continue;
    const uint32_t total = job.shards_total();
    bar.Update(total == 0 ? 0 : static_cast<double>(job.shards_indexed()) / total,
               job.waiting().empty() ? absl::StrCat(job.shards_indexed(), " of ", total, " shards") : job.waiting());
  }
  bar.Finish();
  if (job.state() == v1::FAILED) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job '", job.name(), replaces ? "' continues unchanged; its replacement failed: " : "' failed: ", job.error()));
  }
  if (job.state() == v1::CANCELLED) {
    return absl::CancelledError(absl::StrCat("job '", job.name(), "' was cancelled"));
  }
  if (job.files_look().number() < reply.files_look()) {
    job.mutable_files_look()->set_failed(
        job.waiting().empty() ? absl::StrCat("no worker looked at them within ", absl::FormatDuration(kLookTimeout))
                              : job.waiting());
  }
  return job;
}

std::string FilesNote(const v1::Job& job) {
  const v1::FilesLook& look = job.files_look();
  if (!look.changed().empty()) {
    return absl::StrCat("the files have changed; --replace uses the new ones. Since job '", job.name(),
                        "' was submitted: ", look.changed());
  }
  if (look.failed().empty()) return "";
  return absl::StrCat("whether the files of job '", job.name(), "' have changed is not known: ", look.failed());
}

}  // namespace penstock::cli
