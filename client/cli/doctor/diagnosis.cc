#include "client/cli/doctor/diagnosis.h"

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_mark.h"
#include "base/version.h"
#include "client/cli/output.h"
#include "client/cli/status_notes.h"
#include "net/protocols_proto.h"
#include "net/tls/handshake_fault.h"
#include "transport/shared_memory/local_address.h"
#include "transport/shared_memory/shared_memory_transport.h"

namespace penstock::cli {
namespace {

constexpr int64_t kMostHostSkewMs = 2000;
// A heartbeat may wait for a busy coordinator.
constexpr int64_t kMostWorkerSkewMs = 5000;
// A caller with a lasting fault tries again sooner. An older rejection may have been corrected.
constexpr uint64_t kRejectedWithinSeconds = 15;

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;
using Callers = google::protobuf::RepeatedPtrField<v1::RejectedCaller>;

std::string ReleaseText(const std::string& version, const v1::Protocols& protocols) {
  return absl::StrCat("penstock ", version.empty() ? "0.2 or older" : version, ", protocol ",
                      net::ProtocolsOf(protocols).ToString());
}

// `whose`: "this host's". `ahead_ms` may be wrong by `error_ms`.
void AddClock(int64_t ahead_ms, int64_t error_ms, int64_t most_ms, const std::string& whose, CheckLines* lines) {
  const int64_t apart = std::abs(ahead_ms);
  if (apart <= most_ms + error_ms) {
    lines->Fine("clock", absl::StrCat("agrees with ", whose, ", except for at most ", apart + error_ms, " ms"));
    return;
  }
  lines->Fault("clock",
               absl::StrFormat("is %.1f s %s %s. Synchronize both clocks: timedatectl set-ntp true",
                               static_cast<double>(apart) / 1000, ahead_ms > 0 ? "ahead of" : "behind", whose));
}

void AddFindings(const ReceivedStatus& received, const std::string& version, bool reports, const Findings& findings,
                 CheckLines* lines) {
  for (const v1::Finding& finding : findings) lines->Add(finding);
  if (!findings.empty()) return;
  const v1::StatusReply& status = received.status;
  lines->Unchecked("self-checks",
                   status.caller_role() == "trainer" ? "viewers and operators see them, trainers do not"
                   : !reports ? absl::StrCat("penstock ", version, " makes none, or the coordinator of penstock ",
                                             status.version(), " does not show them")
                              : "the first ones have not ended yet; ask again in a few seconds");
}

void AddRejected(const Callers& callers, CheckLines* lines) {
  for (const v1::RejectedCaller& caller : callers) {
    if (caller.seconds_since_last() <= kRejectedWithinSeconds) lines->Fault("callers", RejectedText(caller));
  }
}

void AddCaller(const ReceivedStatus& received, CheckLines* lines) {
  const v1::StatusReply& status = received.status;
  if (!status.caller_role().empty()) {
    lines->Fine("caller", absl::StrCat("this is '", status.caller_name(), "' with the role ", status.caller_role(),
                                       received.token ? "; its token has no end" : ", by its certificate"));
  } else if (status.unix_ms() == 0) {
    lines->Unchecked("caller", absl::StrCat("penstock ", status.version(), " does not name its callers"));
  } else {
    lines->Fine("caller", received.token ? "every caller may do everything, so this host's token is not used"
                                         : "every caller may do everything, without a token");
  }
}

bool IsGone(const v1::WorkerStatus& worker) {
  return worker.state() == v1::WorkerStatus::DEAD || worker.state() == v1::WorkerStatus::LEFT;
}

void AddState(const v1::WorkerStatus& worker, const WorkerProbe& probe, CheckLines* lines) {
  const std::string& note = worker.note();
  switch (worker.state()) {
    case v1::WorkerStatus::DEAD:
      lines->Fault("state",
                   probe.network.ok()
                       ? absl::StrCat(note, ", although ", worker.address(),
                                      " answers. Its log has the reason: check its --coordinator, --token-file and "
                                      "--tls-ca")
                   : absl::StrContains(probe.network.message(), "Connection refused")
                       ? absl::StrCat(note, ", and nothing listens at ", worker.address(),
                                      ". Start it again; otherwise it is forgotten within an hour")
                       : absl::StrCat(note, ", and ", worker.address(),
                                      " does not answer. If its process hangs, kill it and start it again; otherwise "
                                      "check its host and the network"));
      return;
    case v1::WorkerStatus::SUSPECT:
      return lines->Fault("state", absl::StrCat(note, ". Check its log, and the network between it and the trainers"));
    case v1::WorkerStatus::DRAINING:
      return lines->Fine("state", "it drains, and then leaves");
    default:
      break;
  }
  if (!note.empty()) return lines->Fault("state", absl::StrCat(note, ". Run one build of Penstock on all workers"));
  lines->Fine("state",
              absl::StrCat("live, its last heartbeat was ",
                           HumanSeconds(static_cast<double>(worker.milliseconds_since_heartbeat()) / 1000), " ago"));
}

void AddRelease(const v1::StatusReply& status, const v1::WorkerStatus& worker, const std::string& name,
                CheckLines* lines) {
  const auto common =
      CommonProtocol(name, {worker.version(), net::ProtocolsOf(worker.protocols())}, "the command on this host");
  if (!common.ok()) return lines->Fault("release", std::string(common.status().message()));
  std::string text = ReleaseText(worker.version(), worker.protocols());
  if (worker.version() != status.version()) {
    absl::StrAppend(&text, "; the coordinator has ", status.version(), ": finish the upgrade (docs/upgrading.md)");
  }
  lines->Fine("release", text);
}

void AddAddress(const v1::WorkerStatus& worker, const WorkerProbe& probe, CheckLines* lines) {
  const absl::Status& network = probe.network;
  if (network.ok()) {
    return lines->Fine(
        "address",
        absl::StrCat("answers at ", worker.address(),
                     worker.tls_name().empty() ? " in plaintext" : absl::StrCat(" over TLS as ", worker.tls_name())));
  }
  // These messages name the address or the flag, and the remedy.
  if (absl::IsFailedPrecondition(network)) return lines->Fault("address", std::string(network.message()));
  lines->Fault("address",
               absl::StrCat("this host cannot reach ", worker.address(),
                            worker.tls_name().empty() ? "" : absl::StrCat(" (", worker.tls_name(), ")"), ": ",
                            std::string(network.message()),
                            HasMark(network, net::kHandshakeFault)
                                ? ""
                                : ". Open its port, or start the worker with an --advertise that trainers reach"));
}

void AddTransport(const ReceivedStatus& received, const v1::WorkerStatus& worker, const WorkerProbe& probe,
                  const std::string& host, CheckLines* lines) {
  if (!probe.local.has_value()) {
    if (worker.host() == host && received.status.unix_ms() == 0) {
      return lines->Unchecked("transport", absl::StrCat("the coordinator of penstock ", received.status.version(),
                                                        " does not name the sockets of workers"));
    }
    return lines->Fine("transport",
                       absl::StrCat("trainers here read over the network, because the worker ",
                                    worker.host() == host && worker.local().empty() ? "has no socket for shared memory"
                                                                                    : "is on another host"));
  }
  const bool tickets = !received.status.caller_role().empty();
  absl::Status why = probe.local->status();
  if (why.ok() && **probe.local == transport::LocalAnswer::kSilence && !tickets) {
    why = absl::UnavailableError("the worker does not answer on its socket");
  }
  if (why.ok()) return lines->Fine("transport", "trainers here read through shared memory");
  const auto local = transport::LocalAddress::Parse(worker.local());
  lines->Fault("transport",
               absl::StrCat(transport::WhyNotShared(local.value_or(transport::LocalAddress()), why),
                            absl::IsPermissionDenied(why)
                                ? ""
                                : ". Mount the folder of the socket under the same path, restart the worker, or turn "
                                  "shared memory off with --socket-dir ''"));
}

}  // namespace

void DiagnoseCoordinator(const ReceivedStatus& received, CheckLines* lines) {
  const v1::StatusReply& status = received.status;
  lines->Begin("coordinator");
  lines->Fine("address", absl::StrCat("answers at ", received.address, received.tls ? " over TLS" : " in plaintext"));
  const auto common = CommonProtocol("the coordinator", {status.version(), net::ProtocolsOf(status.protocols())},
                                     "the command on this host");
  if (common.ok()) {
    lines->Fine("release", ReleaseText(status.version(), status.protocols()));
  } else {
    lines->Fault("release", std::string(common.status().message()));
  }
  AddCaller(received, lines);
  const bool reports = status.unix_ms() != 0;
  if (reports) {
    const absl::Duration half = (received.received - received.asked) / 2;
    AddClock(status.unix_ms() - absl::ToUnixMillis(received.asked + half), absl::ToInt64Milliseconds(half) + 1,
             kMostHostSkewMs, "this host's", lines);
  } else {
    lines->Unchecked("clock", absl::StrCat("penstock ", status.version(), " does not send its time"));
  }
  AddFindings(received, status.version(), reports, status.findings(), lines);
  AddRejected(status.rejected(), lines);
  size_t present = 0;
  for (const v1::WorkerStatus& worker : status.workers()) present += IsGone(worker) ? 0 : 1;
  if (present > 0) {
    lines->Fine("workers",
                absl::StrCat(Count(present, "worker"), present == 1 ? " sends heartbeats" : " send heartbeats"));
  } else {
    lines->Fault("workers", absl::StrCat("none sends heartbeats. Start one: penstockd worker --coordinator ",
                                         received.address, " --data-root DIR"));
  }
}

void DiagnoseWorker(const ReceivedStatus& received, const v1::WorkerStatus& worker, const WorkerProbe& probe,
                    const std::string& host, CheckLines* lines) {
  if (worker.state() == v1::WorkerStatus::LEFT) return;
  const std::string name = absl::StrCat("worker ", NameOf(worker));
  lines->Begin(name);
  AddState(worker, probe, lines);
  if (IsGone(worker)) return;
  AddRelease(received.status, worker, name, lines);
  AddAddress(worker, probe, lines);
  AddTransport(received, worker, probe, host, lines);
  if (!worker.findings().empty() || worker.clock_ahead_ms() != 0) {
    AddClock(worker.clock_ahead_ms(), 0, kMostWorkerSkewMs, "the coordinator's", lines);
  }
  const bool reports = received.status.unix_ms() != 0 && worker.version() == received.status.version();
  AddFindings(received, worker.version(), reports, worker.findings(), lines);
  for (const std::string& trouble : worker.load().troubles()) {
    lines->Fault("files", absl::StrCat(trouble, ". Restore the file or its storage"));
  }
  AddRejected(worker.rejected(), lines);
}

}  // namespace penstock::cli
