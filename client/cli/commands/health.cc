// `penstock health`: asks a daemon's HTTP port whether it is ready. For health checks of containers without curl.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/http_probe.h"
#include "net/address.h"
#include "net/tls/client_security.h"

namespace penstock::cli {
namespace {

constexpr uint16_t kHttpPort = 7072;
constexpr auto kTimeout = std::chrono::seconds(2);

// Returns the text without characters that control a terminal.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = '?';
  }
  return std::string(absl::StripAsciiWhitespace(text));
}

class Health final : public Command {
 public:
  std::string name() const override { return "health"; }
  std::string arguments() const override { return "[HOST:PORT] [flags]"; }
  std::string summary() const override { return "ask a daemon whether it is ready; exit code 0 if it is"; }
  std::string description() const override {
    return "Asks the HTTP port of a daemon (penstockd --http) whether it is ready to serve, prints the answer, and\n"
           "exits with 0 if it is, and with 1 otherwise. Takes at most 2 s. For health checks of containers.\n"
           "Without an address: localhost:7072.\n\n"
           "  penstockd worker --http 127.0.0.1:7072 ... &\n"
           "  penstock health";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddSwitch("live", &live_, "ask whether the daemon lives, not whether it is ready");
    flags->AddString("tls-ca", &tls_.ca, "FILE",
                     "use HTTPS; the authorities, in PEM, that sign the daemon's certificate; system: those that this "
                     "host trusts ($PENSTOCK_TLS_CA)");
    flags->AddString("tls-name", &tls_name_, "NAME", "the name in the daemon's certificate (the host)");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (arguments.size() > 1) return UsageError(absl::StrCat("unexpected argument: ", arguments[1]));
    const std::string text = arguments.empty() ? absl::StrCat("localhost:", kHttpPort) : arguments[0];
    const absl::StatusOr<net::Address> address = net::ParseAddress(text, kHttpPort);
    if (!address.ok()) return UsageError(std::string(address.status().message()));
    const std::string path = live_ ? "/healthz" : "/readyz";
    const absl::StatusOr<ProbeAnswer> answer = Probe(*address, path);
    if (absl::IsUnavailable(answer.status())) {
      return absl::UnavailableError(absl::StrCat("cannot reach ", address->ToString(), ": ", answer.status().message(),
                                                 "; start penstockd with --http ", address->ToString(),
                                                 ", or name the address of its --http"));
    }
    if (absl::IsDeadlineExceeded(answer.status())) {
      return absl::DeadlineExceededError(
          absl::StrCat(address->ToString(), " did not answer within ", kTimeout.count(), " s"));
    }
    if (!answer.ok()) {
      const bool tls = !net::WithEnvironment(tls_).ca.empty();
      return absl::FailedPreconditionError(
          absl::StrCat(address->ToString(), ": ", answer.status().message(),
                       "; name the address of the daemon's --http, not of its --listen, and with ",
                       tls ? "--tls-name the name in its certificate" : "--tls-ca its authority, if it serves HTTPS"));
    }
    if (answer->status == 200) {
      std::printf("%s\n", Printable(answer->body).c_str());
      return absl::OkStatus();
    }
    if (answer->status == 503) {
      return absl::UnavailableError(
          absl::StrCat(address->ToString(), live_ ? " is not healthy: " : " is not ready: ", Printable(answer->body)));
    }
    return absl::FailedPreconditionError(absl::StrCat(address->ToString(), " answers ", answer->status, " to ", path,
                                                      ": is this the --http port of a penstockd?"));
  }

 private:
  absl::StatusOr<ProbeAnswer> Probe(const net::Address& address, const std::string& path) const {
    net::TlsFiles files = net::WithEnvironment(tls_);
    files.cert = files.key = "";  // health checks need none
    if (files.empty()) return ProbeHttp(address, path, kTimeout);
    ProbeTls tls;
    PS_ASSIGN_OR_RETURN(tls.certificates, net::ReadCertificates(files, absl::Now()));
    tls.name = tls_name_;
    return ProbeHttp(address, path, kTimeout, &tls);
  }

  net::TlsFiles tls_;
  std::string tls_name_;
  bool live_ = false;
};

}  // namespace

std::unique_ptr<Command> NewHealth() { return std::make_unique<Health>(); }

}  // namespace penstock::cli
