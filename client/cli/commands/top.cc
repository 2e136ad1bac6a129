// `penstock top`: shows repeatedly what limits each job.
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/explain_text.h"
#include "client/cli/output.h"
#include "client/cli/status_tables.h"

namespace penstock::cli {
namespace {

class Top final : public Command {
 public:
  std::string name() const override { return "top"; }
  std::string arguments() const override { return "[flags]"; }
  std::string summary() const override { return "jobs that are read, what holds each back, workers and readers, live"; }
  std::string description() const override {
    return "A line for each job that is read: rows a second, the part of its time that the\n"
           "trainer waits, workers (of as many as it would take, where that can be told) and\n"
           "the limit, as `penstock explain JOB` says it; then workers and readers. Ctrl-C\n"
           "ends it. Where standard output is no terminal it prints once.\n\n"
           "  penstock top";
  }
  void AddFlags(Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddUint("every", &every_, "S", "look again after so many seconds (default: 2)");
    flags->AddSwitch("once", &once_, "print once and end");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    if (every_ == 0 || every_ > 3600) return UsageError(absl::StrCat("--every ", every_, ": 1 to 3600"));
    ControlClient client(coordinator_.address());
    const bool live = !once_ && IsTerminal(STDOUT_FILENO);
    for (;;) {
      PS_ASSIGN_OR_RETURN(const v1::ExplainReply reply, client.Explain(v1::ExplainRequest()));
      PS_ASSIGN_OR_RETURN(const v1::StatusReply status, client.GetStatus());
      std::string text = TopText(reply);
      absl::StrAppend(&text, "\n", WorkersTable(status));
      if (const std::string sessions = SessionsTable(status); !sessions.empty()) absl::StrAppend(&text, "\n", sessions);
      std::printf("%s%s", live ? "\033[H\033[2J" : "", text.c_str());
      std::fflush(stdout);
      if (!live) return absl::OkStatus();
      Clock::Real()->Pause(static_cast<Nanos>(every_) * kSecond);
    }
  }

 private:
  CoordinatorFlag coordinator_;
  uint64_t every_ = 2;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Command> NewTop() { return std::make_unique<Top>(); }

}  // namespace penstock::cli
