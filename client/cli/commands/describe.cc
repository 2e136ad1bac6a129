// `penstock describe`.
#include <cstdio>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/describe_text.h"
#include "net/message_json.h"

namespace penstock::cli {
namespace {

class Describe final : public Command {
 public:
  std::string name() const override { return "describe"; }
  std::string arguments() const override { return "JOB|WORKER [flags]"; }
  std::string summary() const override { return "everything about one job or worker, and its events"; }
  std::string description() const override {
    return "Prints the state, the settings and the parts of a job or worker, and its last events: submitted, ready,\n"
           "views, drains, losses with the reason, changes of the limit, tuning, bad files, rejected callers, "
           "readers.\n"
           "The coordinator stores events, so they survive its restarts. WORKER is its id, name, address or host\n"
           "(`penstock workers`). docs/describe.md explains the output.\n\n"
           "  penstock describe train\n"
           "  penstock describe gpu7 --json";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::DescribeRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_name(), OneArgument(arguments, "JOB|WORKER"));
    PS_ASSIGN_OR_RETURN(const v1::DescribeReply reply, ControlClient(coordinator_).Describe(request));
    const std::string text =
        json_ ? net::MessageToJson(reply) + "\n" : DescribeText(reply, absl::Now(), absl::LocalTimeZone());
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  CoordinatorFlags coordinator_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewDescribe() { return std::make_unique<Describe>(); }

}  // namespace penstock::cli
