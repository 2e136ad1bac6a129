// `penstock pause` and `penstock resume`.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/host_name.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"

namespace penstock::cli {
namespace {

class Pause final : public Command {
 public:
  std::string name() const override { return "pause"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "make the readers of a job wait"; }
  std::string description() const override {
    return "Workers make no further rows of the job until `penstock resume JOB`. Its readers stay open, wait, and\n"
           "report the name that paused it. Rows in progress still arrive. The pause outlives restarts.\n\n"
           "  penstock pause train";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::PauseRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    const char* const user = getenv("USER");
    const std::string who = user != nullptr && *user != '\0' ? user : absl::StrCat("uid", getuid());
    request.set_by(absl::StrCat(who, "@", HostName()).substr(0, 256));
    PS_ASSIGN_OR_RETURN(const v1::PauseReply reply, ControlClient(coordinator_).Pause(request));
    if (json_) {
      std::printf("%s\n", Json().Field("job", request.job()).Field("paused_by", reply.paused_by()).Object().c_str());
    } else {
      std::printf("job '%s' is paused by %s: `penstock resume %s` lets it continue\n", request.job().c_str(),
                  reply.paused_by().c_str(), request.job().c_str());
    }
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
  CoordinatorFlags coordinator_;
};

class Resume final : public Command {
 public:
  std::string name() const override { return "resume"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "let a paused job continue"; }
  std::string description() const override {
    return "Workers make rows of the job again. Its readers continue where they were.\n\n"
           "  penstock resume train";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::ResumeRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    PS_ASSIGN_OR_RETURN(const v1::ResumeReply reply, ControlClient(coordinator_).Resume(request));
    if (json_) {
      std::printf("%s\n",
                  Json().Field("job", request.job()).Field("was_paused_by", reply.paused_by()).Object().c_str());
    } else if (reply.paused_by().empty()) {
      std::printf("job '%s' was not paused\n", request.job().c_str());
    } else {
      std::printf("job '%s' continues; %s had paused it\n", request.job().c_str(), reply.paused_by().c_str());
    }
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
  CoordinatorFlags coordinator_;
};

}  // namespace

std::unique_ptr<Command> NewPause() { return std::make_unique<Pause>(); }
std::unique_ptr<Command> NewResume() { return std::make_unique<Resume>(); }

}  // namespace penstock::cli
