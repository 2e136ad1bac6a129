#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

class Delete final : public Command {
 public:
  std::string name() const override { return "delete"; }
  std::string arguments() const override { return "JOB...|--ended [flags]"; }
  std::string summary() const override { return "remove failed and cancelled jobs from the coordinator"; }
  std::string description() const override {
    return "Removes the job and its quarantine. Data, indexes and saved states stay. The same job may be submitted\n"
           "again. A job that is ready or being prepared needs --running; its readers then get an error.\n\n"
           "  penstock delete train\n"
           "  penstock delete --ended";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("ended", &ended_, "all jobs that have failed or were cancelled");
    flags->AddSwitch("running", &running_, "also a job that is ready or being prepared");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (arguments.empty() == !ended_)
      return UsageError(ended_ ? "--ended or names of jobs, not both" : "JOB is missing");
    ControlClient client(coordinator_);
    std::vector<std::string> jobs = arguments;
    if (ended_) {
      PS_ASSIGN_OR_RETURN(const v1::StatusReply status, client.GetStatus());
      for (const auto& job : status.jobs()) {
        if (job.state() == v1::FAILED || job.state() == v1::CANCELLED) jobs.push_back(job.name());
      }
    }
    std::vector<std::string> deleted;
    absl::Status first;
    for (const std::string& job : jobs) {
      v1::DeleteRequest request;
      request.set_job(job);
      request.set_running(running_);
      const absl::Status done = client.Delete(request).status();
      if (done.ok()) {
        deleted.push_back(job);
      } else if (first.ok()) {
        first = done;
      }
    }
    Report(deleted);
    return first;
  }

 private:
  void Report(const std::vector<std::string>& deleted) const {
    if (json_) {
      std::vector<std::string> quoted;
      for (const std::string& job : deleted) quoted.push_back(Json::Quote(job));
      std::printf("%s\n", Json().Raw("deleted", Json::Array(quoted)).Object().c_str());
    } else if (!deleted.empty()) {
      std::printf("deleted: %s\n", absl::StrJoin(deleted, ", ").c_str());
    } else if (ended_) {
      std::printf("no job has failed or was cancelled\n");
    }
  }

  CoordinatorFlags coordinator_;
  bool ended_ = false, running_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewDelete() { return std::make_unique<Delete>(); }

}  // namespace penstock::cli
