#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/purge_text.h"

namespace penstock::cli {
namespace {

constexpr Nanos kPoll = 200 * kMillisecond;

bool IsTemporary(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

class Delete final : public Command {
 public:
  std::string name() const override { return "delete"; }
  std::string arguments() const override { return "JOB...|--ended [flags]"; }
  std::string summary() const override { return "remove failed and cancelled jobs from the coordinator"; }
  std::string description() const override {
    return "Removes the job and its quarantine. Data, indexes, caches and saved states stay. The same job may be\n"
           "submitted again. A job that is ready or being prepared needs --running; its readers then get an error.\n\n"
           "With --purge, the coordinator and all workers first free what they keep of the job's files, unless\n"
           "another job uses it: indexes, and cached records, images and rows, in memory and on disk. Indexes beside\n"
           "the data stay. The command waits, and prints the bytes of each process. If a worker does not answer, the\n"
           "command names it and exits with 1. The job then stays in the list as cancelled: repeat the command.\n\n"
           "  penstock delete train\n"
           "  penstock delete --ended\n"
           "  penstock delete train --running --purge";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("ended", &ended_, "all jobs that have failed or were cancelled");
    flags->AddSwitch("running", &running_, "also a job that is ready or being prepared");
    flags->AddSwitch("purge", &purge_, "free the job's indexes and cached records everywhere, then delete it");
    flags->AddUint("timeout", &timeout_, "SECONDS", "with --purge: how long to wait for the workers (default: 30)");
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
    if (purge_) return PurgeAll(client, jobs);
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
  absl::Status PurgeAll(ControlClient& client, const std::vector<std::string>& jobs) const {
    std::vector<std::string> results;
    absl::Status first;
    for (const std::string& job : jobs) {
      v1::PurgeReply reply;
      absl::Status done = Purge(client, job, &reply);
      if (reply.job_uid() != 0) {
        if (done.ok()) done = PurgeResult(job, reply);
        if (json_) {
          results.push_back(PurgeJson(job, reply));
        } else {
          std::printf("%s", PurgeText(job, reply).c_str());
        }
      }
      if (first.ok()) first = done;
    }
    if (json_) {
      std::printf("%s\n", Json().Raw("purged", Json::Array(results)).Object().c_str());
    } else if (jobs.empty()) {
      std::printf("no job has failed or was cancelled\n");
    }
    std::fflush(stdout);
    return first;
  }

  // Sets *reply to the last reply. Returns OK if the purge has ended or the time is over.
  absl::Status Purge(ControlClient& client, const std::string& job, v1::PurgeReply* reply) const {
    const Nanos end = Clock::Real()->Now() + static_cast<Nanos>(timeout_) * kSecond;
    v1::PurgeRequest request;
    request.set_job(job);
    request.set_running(running_);
    ProgressBar bar("purging");
    for (;;) {
      absl::StatusOr<v1::PurgeReply> next = client.Purge(request);
      if (next.ok()) {
        *reply = *std::move(next);
        request.set_job_uid(reply->job_uid());
        const auto waiting = std::count_if(reply->parts().begin(), reply->parts().end(), [](const v1::PurgePart& part) {
          return part.state() == v1::PurgePart::WAITING;
        });
        if (reply->deleted() || (waiting == 0 && reply->parts_size() > 0 && HasFailed(*reply))) return absl::OkStatus();
        const double parts = std::max(1, reply->parts_size());
        bar.Update(1 - static_cast<double>(waiting) / parts, absl::StrCat("waiting for ", waiting, " processes"));
      } else if (reply->job_uid() == 0 || !IsTemporary(next.status())) {
        // A coordinator that starts again meanwhile starts the purge again: the job is in its store.
        return next.status();
      }
      if (Clock::Real()->Now() >= end) return next.status();
      Clock::Real()->Pause(kPoll);
    }
  }

  static bool HasFailed(const v1::PurgeReply& reply) {
    return std::any_of(reply.parts().begin(), reply.parts().end(),
                       [](const v1::PurgePart& part) { return part.state() == v1::PurgePart::FAILED; });
  }

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
  bool ended_ = false, running_ = false, purge_ = false, json_ = false;
  uint64_t timeout_ = 30;
};

}  // namespace

std::unique_ptr<Command> NewDelete() { return std::make_unique<Delete>(); }

}  // namespace penstock::cli
