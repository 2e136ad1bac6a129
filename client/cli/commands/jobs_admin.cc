// `penstock drain` and `penstock cancel`.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/status_notes.h"
#include "client/cli/status_tables.h"

namespace penstock::cli {
namespace {

class Cancel final : public Command {
 public:
  std::string name() const override { return "cancel"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "end a job and release its name"; }
  std::string description() const override {
    return "Readers of the job get an error that names the cancellation. Data and indexes stay. `penstock delete`\n"
           "removes the job from the list.\n\n"
           "  penstock cancel train";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::CancelRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    PS_RETURN_IF_ERROR(ControlClient(coordinator_).Cancel(request).status());
    if (json_) {
      std::printf("%s\n", Json().Field("job", request.job()).Field("state", "CANCELLED").Object().c_str());
    } else {
      std::printf("job '%s' is cancelled\n", request.job().c_str());
    }
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
  CoordinatorFlags coordinator_;
};

class Drain final : public Command {
 public:
  std::string name() const override { return "drain"; }
  std::string arguments() const override { return "WORKER [flags]"; }
  std::string summary() const override { return "shut down a worker without a stall of its readers"; }
  std::string description() const override {
    return "Moves the worker's ranges to other workers, lets it finish rows that trainers wait for, and waits until\n"
           "the worker has left. WORKER is its id, the beginning of its id, or its address (`penstock workers`). The\n"
           "worker of `penstockd standalone` ends together with its coordinator.\n\n"
           "  penstock drain 10.0.0.7:7071";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("wait", &wait_, "wait until the worker has left (default; --no-wait returns at once)");
    flags->AddUint("timeout", &timeout_, "SECONDS", "how long to wait (default: 120)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string word, OneArgument(arguments, "WORKER"));
    ControlClient client(coordinator_);
    v1::DrainRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_worker(), FindWorker(client, word));
    PS_RETURN_IF_ERROR(client.Drain(request).status());
    if (!wait_) {
      Report(request.worker(), "DRAINING", 0);
      return absl::OkStatus();
    }
    return WaitUntilGone(client, request.worker());
  }

 private:
  static absl::StatusOr<std::string> FindWorker(ControlClient& client, const std::string& word) {
    PS_ASSIGN_OR_RETURN(const v1::StatusReply status, client.GetStatus());
    std::vector<std::string> found;
    std::string all;
    for (const v1::WorkerStatus& worker : status.workers()) {
      if (!StillThere(worker)) continue;
      absl::StrAppend(&all, all.empty() ? "" : ", ", NameOf(worker), " (", worker.address(), ")");
      if (worker.id() == word || worker.address() == word || worker.name() == word) return worker.id();
      if (worker.id().rfind(word, 0) == 0 || worker.name().rfind(word, 0) == 0) found.push_back(worker.id());
    }
    if (found.size() == 1) return found[0];
    return absl::NotFoundError(absl::StrCat(found.empty() ? "there is no live worker '" : "more than one worker is '",
                                            word, "'; there are: ", all.empty() ? "none" : all));
  }

  void Report(const std::string& id, const std::string& state, double seconds) const {
    if (json_) {
      std::printf("%s\n", Json().Field("worker", id).Field("state", state).Field("seconds", seconds).Object().c_str());
    } else if (state == "LEFT") {
      std::printf("worker %s has left (%s)\n", id.c_str(), HumanSeconds(seconds).c_str());
    } else {
      std::printf("worker %s is draining\n", id.c_str());
    }
  }

  absl::Status WaitUntilGone(ControlClient& client, const std::string& id) const {
    constexpr Nanos kPoll = 200 * kMillisecond;
    const Nanos deadline = Clock::Real()->Now() + static_cast<Nanos>(timeout_) * kSecond;
    const Nanos start = Clock::Real()->Now();
    for (;;) {
      PS_ASSIGN_OR_RETURN(const v1::StatusReply status, client.GetStatus());
      bool there = false;
      for (const v1::WorkerStatus& worker : status.workers()) {
        there = there || (worker.id() == id && StillThere(worker));
      }
      const double seconds = static_cast<double>(Clock::Real()->Now() - start) / kSecond;
      if (!there) {
        Report(id, "LEFT", seconds);
        return absl::OkStatus();
      }
      if (Clock::Real()->Now() > deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("worker ", id, " is still draining after ", HumanSeconds(seconds), "; it continues to drain"));
      }
      Clock::Real()->Pause(kPoll);
    }
  }

  CoordinatorFlags coordinator_;
  bool wait_ = true, json_ = false;
  uint64_t timeout_ = 120;
};

}  // namespace

std::unique_ptr<Command> NewCancel() { return std::make_unique<Cancel>(); }
std::unique_ptr<Command> NewDrain() { return std::make_unique<Drain>(); }

}  // namespace penstock::cli
