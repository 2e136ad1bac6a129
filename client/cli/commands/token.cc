// `penstock token`: makes a token, and the line by which daemons know it.
#include "net/access/token.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/random_source.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "net/access/access_list.h"

namespace penstock::cli {
namespace {

class Token final : public Command {
 public:
  std::string name() const override { return "token"; }
  std::string arguments() const override { return "NAME --role ROLE [flags]"; }
  std::string summary() const override { return "make a token, by which a caller proves its name and role"; }
  std::string description() const override {
    return "Prints a new token, which is a secret: keep it in a file that only its user can read. Daemons store only\n"
           "its digest: the second line goes into the file of penstockd --tokens. With --file, the command appends\n"
           "it there, and prints only the token. A name may have two tokens: add the new one, distribute it, and\n"
           "remove the line of the old one. Roles: viewer, trainer, worker, operator (docs/security.md). A trainer "
           "with\n"
           "--submit also submits jobs, which it then owns.\n\n"
           "  penstock token alice --role trainer --jobs 'imagenet-*' --file /etc/penstock/tokens > alice.token\n"
           "  penstock read imagenet-1k --token-file alice.token";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString("role", &role_, "viewer|trainer|worker|operator", "what its user may do");
    flags->AddString("jobs", &jobs_, "GLOBS",
                     "trainer: the jobs that it may read, as globs with * and ?, separated by commas (*)");
    flags->AddSwitch("submit", &submit_,
                     "trainer: it may also submit jobs that match --jobs, and cancel, pause and delete its own ones");
    flags->AddString("file", &file_, "FILE", "append the line to this file; a new file gets mode 0600");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    net::Principal principal;
    PS_ASSIGN_OR_RETURN(principal.name, OneArgument(arguments, "NAME"));
    const std::optional<net::Role> role = net::ParseRole(role_);
    if (!role.has_value()) {
      return UsageError(role_.empty()
                            ? "--role is missing: viewer, trainer, worker or operator"
                            : absl::StrCat("--role: '", role_, "' is not viewer, trainer, worker or operator"));
    }
    if (submit_ && *role != net::Role::kTrainer) return UsageError("--submit is for --role trainer");
    principal.role = submit_ ? net::Role::kSubmitter : *role;
    principal.jobs = net::SplitJobs(jobs_);
    if (const absl::Status checked = net::CheckTokenPrincipal(principal); !checked.ok()) {
      return UsageError(std::string(checked.message()));
    }
    const std::string token = net::MakeToken(RandomSource::Real());
    const std::string line = net::TokenLineOf(principal, net::DigestOf(token));
    if (file_.empty()) {
      std::printf("%s\n%s\n", token.c_str(), line.c_str());
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(net::AppendTokenLine(file_, line));
    std::printf("%s\n", token.c_str());
    return absl::OkStatus();
  }

 private:
  std::string role_, jobs_ = "*", file_;
  bool submit_ = false;
};

}  // namespace

std::unique_ptr<Command> NewToken() { return std::make_unique<Token>(); }

}  // namespace penstock::cli
