// `penstock status`, `jobs`, `workers`, `shards`.
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/status_notes.h"
#include "client/cli/status_tables.h"
#include "net/message_json.h"
#include "net/protocols_proto.h"

namespace penstock::cli {
namespace {

constexpr int kMostDatasets = 10, kMostDatasetsOfOneJob = 20;

// Shows one job without workers if `job` is not empty.
std::string Overview(const v1::StatusReply& status, const std::string& address, const std::string& job) {
  std::string out = absl::StrFormat("coordinator %s, penstock %s, protocol %s, up %s\n\n", address, status.version(),
                                    net::ProtocolsOf(status.protocols()).ToString(),
                                    HumanSeconds(static_cast<double>(status.uptime_seconds())));
  const bool one = !job.empty();
  absl::StrAppend(&out, JobsTable(status));
  const std::string sets = DatasetsTable(status, one ? kMostDatasetsOfOneJob : kMostDatasets, one);
  if (!sets.empty()) absl::StrAppend(&out, "\n", sets);
  if (!one) absl::StrAppend(&out, "\n", WorkersTable(status));
  const std::string sessions = SessionsTable(status);
  if (!sessions.empty()) absl::StrAppend(&out, "\n", sessions);
  return out;
}

std::string JobNames(const v1::StatusReply& status) {
  std::string names;
  for (const auto& job : status.jobs()) absl::StrAppend(&names, job.name(), "\n");
  return names;
}

std::string WorkerNames(const v1::StatusReply& status) {
  std::string names;
  for (const auto& worker : status.workers()) {
    if (StillThere(worker)) absl::StrAppend(&names, NameOf(worker), "\n");
  }
  return names;
}

using Show = std::function<std::string(const v1::StatusReply&, const std::string& address, const std::string& job)>;
using ShowJson = std::function<std::string(const v1::StatusReply&)>;
using ShowNames = std::function<std::string(const v1::StatusReply&)>;

// The commands that show parts of one reply.
class StatusCommand final : public Command {
 public:
  // Without `show_names` there is no flag --names, and the command takes the name of a job.
  StatusCommand(std::string name, std::string summary, std::string description, Show show, ShowJson show_json,
                ShowNames show_names = nullptr)
      : name_(std::move(name)),
        summary_(std::move(summary)),
        description_(std::move(description)),
        show_(std::move(show)),
        show_json_(std::move(show_json)),
        show_names_(std::move(show_names)) {}
  std::string name() const override { return name_; }
  std::string arguments() const override { return show_names_ ? "[flags]" : "[JOB] [flags]"; }
  std::string summary() const override { return summary_; }
  std::string description() const override { return description_; }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of a table");
    if (show_names_) flags->AddSwitch("names", &names_, "print only the names, one a line");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    const size_t most = show_names_ ? 0 : 1;
    if (arguments.size() > most) return UsageError(absl::StrCat("unexpected argument: ", arguments[most]));
    const std::string job = arguments.empty() ? "" : arguments[0];
    PS_ASSIGN_OR_RETURN(const v1::StatusReply status, ControlClient(coordinator_).GetStatus(job));
    const std::string text = names_  ? show_names_(status)
                             : json_ ? show_json_(status) + "\n"
                                     : show_(status, coordinator_.address(), job);
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  const std::string name_, summary_, description_;
  const Show show_;
  const ShowJson show_json_;
  const ShowNames show_names_;
  CoordinatorFlags coordinator_;
  bool json_ = false, names_ = false;
};

class Shards final : public Command {
 public:
  std::string name() const override { return "shards"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "the shards of a job: records, bytes, which workers own them"; }
  std::string description() const override {
    return "Shards are numbered in the order that ids use: sorted by data root and path.\n\n  penstock shards train";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of a table");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::ListShardsRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    PS_ASSIGN_OR_RETURN(const v1::ListShardsReply reply, ControlClient(coordinator_).ListShards(request));
    if (json_) {
      std::printf("%s\n", net::MessageToJson(reply).c_str());
      return absl::OkStatus();
    }
    Table table({"SHARD", "PATH", "RECORDS", "BYTES", "OWNERS"}, {0, 2, 3});
    for (int i = 0; i < reply.shards_size(); ++i) {
      const auto& s = reply.shards(i);
      table.Add({absl::StrCat(i), absl::StrCat(s.shard().root(), ":", s.shard().path()),
                 s.indexed() ? Count(s.shard().records()) : "-", HumanBytes(s.shard().size()),
                 absl::StrJoin(s.owners(), ", ")});
    }
    std::fputs(table.Text().c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  CoordinatorFlags coordinator_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewStatus() {
  return std::make_unique<StatusCommand>(
      "status", "jobs, workers and readers at one look",
      "With JOB: one job and its readers, and the data sets of a blend: rows from the start of\n"
      "epoch 0 to the position that each rank has passed, wanted and actual share, and passes.\n\n"
      "  penstock status\n"
      "  penstock status train",
      Overview, [](const v1::StatusReply& s) { return net::MessageToJson(s); });
}

std::unique_ptr<Command> NewJobs() {
  return std::make_unique<StatusCommand>(
      "jobs", "the jobs and their states", "A job is preparing, ready, failed (with the reason) or cancelled.",
      [](const v1::StatusReply& s, const std::string&, const std::string&) { return JobsTable(s); },
      [](const v1::StatusReply& s) {
        std::vector<std::string> items;
        for (const auto& job : s.jobs()) items.push_back(net::MessageToJson(job));
        return Json::Array(items);
      },
      JobNames);
}

std::unique_ptr<Command> NewWorkers() {
  return std::make_unique<StatusCommand>(
      "workers", "the workers: load, memory, what they own", "A worker is live, suspect, draining, lost or left.",
      [](const v1::StatusReply& s, const std::string&, const std::string&) { return WorkersTable(s); },
      [](const v1::StatusReply& s) {
        std::vector<std::string> items;
        for (const auto& worker : s.workers()) items.push_back(net::MessageToJson(worker));
        return Json::Array(items);
      },
      WorkerNames);
}

std::unique_ptr<Command> NewShards() { return std::make_unique<Shards>(); }

}  // namespace penstock::cli
