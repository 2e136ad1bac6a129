// `penstock explain`: shows which resource limits a job.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/explain_text.h"
#include "net/message_json.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kLeastSeconds = 3, kMostSeconds = 60;

class Explain final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "what a job's trainers wait for, and what would help"; }
  std::string description() const override {
    return "Prints the resource that limits the job now: the trainer itself, the CPU of a\n"
           "worker, storage, the network, memory, too few requested rows, files that fail, ...\n"
           "Then the time of each stage of a row, the estimated gain of changes, and how many\n"
           "workers would feed the trainer. The figures are of the last seconds, so run it\n"
           "while the job is read. docs/explain.md explains each verdict and the remedies.\n\n"
           "  penstock explain train\n"
           "  penstock explain train --seconds 60 --json";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddUint("seconds", &seconds_, "N",
                   "length of the period, 3 to 60. The real one may differ by a third and is printed (default: 10)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::ExplainRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    if (seconds_ < kLeastSeconds || seconds_ > kMostSeconds) {
      return UsageError(absl::StrCat("--seconds ", seconds_, ": ", kLeastSeconds, " to ", kMostSeconds));
    }
    request.set_seconds(static_cast<uint32_t>(seconds_));
    PS_ASSIGN_OR_RETURN(const v1::ExplainReply reply, ControlClient(coordinator_).Explain(request));
    if (reply.jobs().empty()) return absl::InternalError("the coordinator explained nothing");
    std::fputs(json_ ? (net::MessageToJson(reply.jobs(0)) + "\n").c_str() : ExplainText(reply.jobs(0)).c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  CoordinatorFlags coordinator_;
  uint64_t seconds_ = 10;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewExplain() { return std::make_unique<Explain>(); }

}  // namespace penstock::cli
