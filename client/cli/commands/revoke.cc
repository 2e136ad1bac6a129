// `penstock revoke`: ends the sessions of a name.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

class Revoke final : public Command {
 public:
  std::string name() const override { return "revoke"; }
  std::string arguments() const override { return "NAME [flags]"; }
  std::string summary() const override { return "end the sessions of a name, whose token may be stolen"; }
  std::string description() const override {
    return "Ends all sessions of the name and makes its tickets void: workers close its streams within seconds, and\n"
           "its trainers get an error. To keep the name out, first remove its lines from the coordinator's file of\n"
           "--tokens (docs/security.md).\n\n"
           "  penstock revoke alice";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::RevokeRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_name(), OneArgument(arguments, "NAME"));
    ControlClient client(coordinator_);
    PS_ASSIGN_OR_RETURN(const v1::RevokeReply reply, client.Revoke(request));
    if (json_) {
      std::printf("%s\n", Json()
                              .Field("name", request.name())
                              .Field("sessions", uint64_t{reply.sessions()})
                              .Field("may_return", reply.may_return())
                              .Object()
                              .c_str());
      return absl::OkStatus();
    }
    std::printf("%u %s of '%s' ended, and its tickets are void\n", reply.sessions(),
                reply.sessions() == 1 ? "session" : "sessions", request.name().c_str());
    if (reply.sessions() == 0 && !reply.may_return()) {
      std::printf("'%s' has no line in the coordinator's file of --tokens: check the name if you have not removed it\n",
                  request.name().c_str());
    }
    if (reply.may_return()) {
      std::printf("'%s' is still in the coordinator's file of --tokens, so it can open new sessions\n",
                  request.name().c_str());
    }
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
  CoordinatorFlags coordinator_;
};

}  // namespace

std::unique_ptr<Command> NewRevoke() { return std::make_unique<Revoke>(); }

}  // namespace penstock::cli
