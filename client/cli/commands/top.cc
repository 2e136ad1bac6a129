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

constexpr int kMostTopDatasets = 10;  // rows of the table for each job

class Top final : public Command {
 public:
  std::string name() const override { return "top"; }
  std::string arguments() const override { return "[flags]"; }
  std::string summary() const override {
    return "show jobs that are read, the limit of each, workers and readers, live";
  }
  std::string description() const override {
    return "A line for each job that is read: rows per second, the fraction of time that the\n"
           "trainer waits, workers (and the number that the job needs, if known), and the\n"
           "limit (`penstock explain JOB`). Then the largest data sets of each blend, workers\n"
           "and readers. Ctrl-C ends it. Prints once if standard output is no terminal.\n\n"
           "  penstock top";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddUint("every", &every_, "S", "seconds between updates (default: 2)");
    flags->AddSwitch("once", &once_, "print once and end");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    if (every_ == 0 || every_ > 3600) return UsageError(absl::StrCat("--every ", every_, ": 1 to 3600"));
    ControlClient client(coordinator_);
    const bool live = !once_ && IsTerminal(STDOUT_FILENO);
    for (;;) {
      PS_ASSIGN_OR_RETURN(const v1::ExplainReply reply, client.Explain(v1::ExplainRequest()));
      PS_ASSIGN_OR_RETURN(const v1::StatusReply status, client.GetStatus());
      std::string text = TopText(reply);
      if (const std::string sets = DatasetsTable(status, kMostTopDatasets, false); !sets.empty()) {
        absl::StrAppend(&text, "\n", sets);
      }
      absl::StrAppend(&text, "\n", WorkersTable(status));
      if (const std::string sessions = SessionsTable(status); !sessions.empty()) absl::StrAppend(&text, "\n", sessions);
      std::printf("%s%s", live ? "\033[H\033[2J" : "", text.c_str());
      std::fflush(stdout);
      if (!live) return absl::OkStatus();
      Clock::Real()->Pause(static_cast<Nanos>(every_) * kSecond);
    }
  }

 private:
  CoordinatorFlags coordinator_;
  uint64_t every_ = 2;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Command> NewTop() { return std::make_unique<Top>(); }

}  // namespace penstock::cli
