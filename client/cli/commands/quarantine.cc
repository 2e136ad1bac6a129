// `penstock quarantine`.
#include <cstdio>

#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/quarantine_text.h"
#include "net/message_json.h"

namespace penstock::cli {
namespace {

class Quarantine final : public Command {
 public:
  std::string name() const override { return "quarantine"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "the bad records of a job: file, record, offset and what is wrong"; }
  std::string description() const override {
    return "Lists the bad records of a job that readers have met so far. Each record is listed once, for all epochs\n"
           "and ranks. The list survives the end of the job and a restart of the coordinator. `penstock submit\n"
           "--replace` empties it. It holds the first 1,000 records; the number below it counts all. `penstock\n"
           "verify` reads whole files and lists records with a wrong CRC.\n\n"
           "  penstock quarantine train\n"
           "  penstock quarantine train --json | jq -r '.entries[] | [.path, .record, .reason] | @tsv'";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of a table");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::QuarantineRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    PS_ASSIGN_OR_RETURN(const v1::QuarantineReply reply, ControlClient(coordinator_).GetQuarantine(request));
    const std::string text = json_ ? net::MessageToJson(reply) + "\n" : QuarantineText(reply);
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  CoordinatorFlags coordinator_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewQuarantine() { return std::make_unique<Quarantine>(); }

}  // namespace penstock::cli
