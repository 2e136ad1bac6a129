// `penstock doctor`: checks this host, the coordinator and the workers.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/host_name.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/doctor/check_line.h"
#include "client/cli/doctor/diagnosis.h"
#include "client/cli/doctor/worker_probe.h"
#include "client/cli/output.h"
#include "net/address.h"
#include "net/checks/host_checks.h"
#include "net/checks/security_checks.h"
#include "net/tls/client_security.h"

namespace penstock::cli {
namespace {

constexpr absl::Duration kCoordinatorTimeout = absl::Seconds(5), kWorkerTimeout = absl::Seconds(3);

class Doctor final : public Command {
 public:
  std::string name() const override { return "doctor"; }
  std::string arguments() const override { return "[flags]"; }
  std::string summary() const override { return "check this host, the coordinator and all workers, and name remedies"; }
  std::string description() const override {
    return "Checks this host, the coordinator and each worker, and prints a line for each check: `ok`, or\n"
           "`FAULT` with what to do. `?` is a check that cannot be made. Run it on a trainer's host to see which\n"
           "transport its rows take. Exits with 1 if there is a fault. The findings of daemons are at most a\n"
           "minute old (docs/doctor.md).\n\n"
           "  penstock doctor --coordinator coordinator.example:7070";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    CheckLines lines;
    const absl::StatusOr<net::ClientSecurity> security = CheckHost(&lines);
    if (security.ok()) {
      CheckCluster(*security, &lines);
    } else {
      lines.Begin("coordinator");
      lines.Unchecked("address", "not asked, because of the fault on this host");
    }
    std::fputs((json_ ? lines.AsJson() + "\n" : lines.Text()).c_str(), stdout);
    if (lines.CountFaults() == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(Count(lines.CountFaults(), "fault"));
  }

 private:
  // Returns how this host protects its connections, or an error that `lines` has.
  absl::StatusOr<net::ClientSecurity> CheckHost(CheckLines* lines) const {
    lines->Begin("this host");
    lines->Add(net::kOpenFilesCheck, net::CheckOpenFiles());
    lines->Add(net::kLimitsCheck, net::CheckGroupLimits(net::GroupLimits::OfThisProcess(), 0, 0));
    lines->Add(net::kSocketBuffersCheck, net::CheckSocketBuffers());
    absl::StatusOr<net::ClientSecurity> security =
        net::OpenClientSecurity(coordinator_.tls(), coordinator_.token_file());
    if (!security.ok()) {
      const std::string token_file = net::TokenFileOr(coordinator_.token_file());
      const bool bad_token = !token_file.empty() && !net::ReadToken(token_file).ok();
      lines->Fault(bad_token ? net::kTokenCheck : net::kCertificateCheck,
                   absl::StrCat(std::string(security.status().message()),
                                bad_token ? ". Name the right file with --token-file (PENSTOCK_TOKEN_FILE)" : ""));
      return security;
    }
    if (const auto& live = security->certificates; live != nullptr) {
      lines->Add(net::kCertificateCheck,
                 net::CheckCertificates(live->files(), *live->current(), live->fault(), absl::Now()));
    }
    if (security->token != nullptr) {
      lines->Add(net::kTokenCheck, net::CheckFollowedFile(net::TokenFileOr(coordinator_.token_file()),
                                                          "its token is in use", security->token->fault()));
    }
    return security;
  }

  void CheckCluster(const net::ClientSecurity& security, CheckLines* lines) const {
    ReceivedStatus received;
    const absl::StatusOr<net::Address> address = net::ParseAddress(coordinator_.address(), net::kCoordinatorPort);
    received.address = address.ok() ? address->ToString() : coordinator_.address();
    received.tls = security.tls();
    received.token = security.token != nullptr;
    received.asked = absl::Now();
    absl::StatusOr<v1::StatusReply> status = ControlClient(coordinator_, kCoordinatorTimeout).GetStatus();
    received.received = absl::Now();
    if (!status.ok()) {
      lines->Begin("coordinator");
      const bool answers = absl::IsUnauthenticated(status.status()) || absl::IsPermissionDenied(status.status());
      return lines->Fault(answers ? "caller" : "address", std::string(status.status().message()));
    }
    received.status = *std::move(status);
    DiagnoseCoordinator(received, lines);
    const std::vector<WorkerProbe> probes = ProbeWorkers(received.status, security, kWorkerTimeout);
    for (size_t i = 0; i < probes.size(); ++i) {
      DiagnoseWorker(received, received.status.workers(static_cast<int>(i)), probes[i], HostName(), lines);
    }
  }

  bool json_ = false;
  CoordinatorFlags coordinator_;
};

}  // namespace

std::unique_ptr<Command> NewDoctor() { return std::make_unique<Doctor>(); }

}  // namespace penstock::cli
