// `penstock status`, `jobs`, `workers`, `shards`.
#include <cstdio>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/status_notes.h"

namespace penstock::cli {
namespace {

std::string Lower(const std::string& name) { return absl::AsciiStrToLower(name); }

std::string JobsTable(const v1::StatusReply& status) {
  if (status.jobs().empty()) return "no jobs: `penstock submit JOB.textproto` registers one\n";
  Table table({"JOB", "STATE", "RECORDS", "BYTES", "SHARDS", "BATCH", "VIEW", ""}, {2, 3, 4, 5, 6});
  for (const auto& job : status.jobs()) {
    table.Add({job.name(), Lower(v1::JobState_Name(job.state())), Count(job.records()), HumanBytes(job.bytes()),
               Count(job.shards()), Count(job.batch_size()), absl::StrCat(job.view_number()), JobNote(job)});
  }
  return table.Text();
}

std::string SessionsTable(const v1::StatusReply& status) {
  Table table({"READER", "RANK", "EPOCH", "DONE", "ROWS/S", "WAITED", "HOST"}, {3, 4, 5});
  bool any = false;
  for (const auto& job : status.jobs()) {
    for (const auto& s : job.sessions()) {
      any = true;
      const double done =
          s.epoch_positions() == 0 ? 0 : static_cast<double>(s.position()) / static_cast<double>(s.epoch_positions());
      table.Add({absl::StrCat(job.name(), "/", s.id()), absl::StrFormat("%d of %d", s.rank(), s.world_size()),
                 absl::StrCat(s.epoch()), absl::StrFormat("%.1f %%", done * 100),
                 absl::StrFormat("%.0f", s.rows_per_second()), absl::StrFormat("%.0f %%", s.wait_fraction() * 100),
                 s.host()});
    }
  }
  return any ? table.Text() + WaitLines(status) : "";
}

std::string WorkersTable(const v1::StatusReply& status) {
  if (status.workers().empty()) return "no workers: start some with `penstockd worker --coordinator HOST:PORT`\n";
  Table table(
      {"WORKER", "ADDRESS", "STATE", "THREADS", "ROWS/S", "ROWS", "OWNS", "MEMORY", "CACHE HITS", "READERS", ""},
      {3, 4, 5, 6, 7, 8, 9});
  for (const auto& worker : status.workers()) {
    const auto& load = worker.load();
    const uint64_t lookups = load.record_cache_hits() + load.record_cache_misses();
    table.Add({worker.id(), worker.address(), Lower(v1::WorkerStatus::State_Name(worker.state())),
               absl::StrCat(worker.threads()), absl::StrFormat("%.0f", load.rows_per_second()), Count(load.rows()),
               Count(worker.owned_records()),
               absl::StrCat(HumanBytes(load.memory_bytes()), " of ", HumanBytes(worker.memory_budget_bytes())),
               lookups == 0 ? "-"
                            : absl::StrFormat("%.0f %%", 100.0 * static_cast<double>(load.record_cache_hits()) /
                                                             static_cast<double>(lookups)),
               absl::StrCat(load.sessions()), worker.note()});
  }
  return table.Text() + TroubleLines(status);
}

std::string Overview(const v1::StatusReply& status, const std::string& address) {
  std::string out = absl::StrFormat("coordinator %s, penstock %s, up %s\n\n", address, status.version(),
                                    HumanSeconds(static_cast<double>(status.uptime_seconds())));
  absl::StrAppend(&out, JobsTable(status), "\n", WorkersTable(status));
  const std::string sessions = SessionsTable(status);
  if (!sessions.empty()) absl::StrAppend(&out, "\n", sessions);
  return out;
}

using Show = std::function<std::string(const v1::StatusReply&, const std::string& address)>;
using ShowJson = std::function<std::string(const v1::StatusReply&)>;

// The three commands that show parts of one reply.
class StatusCommand final : public Command {
 public:
  StatusCommand(std::string name, std::string summary, std::string description, Show show, ShowJson show_json)
      : name_(std::move(name)),
        summary_(std::move(summary)),
        description_(std::move(description)),
        show_(std::move(show)),
        show_json_(std::move(show_json)) {}
  std::string name() const override { return name_; }
  std::string arguments() const override { return "[flags]"; }
  std::string summary() const override { return summary_; }
  std::string description() const override { return description_; }
  void AddFlags(Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of a table");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    PS_ASSIGN_OR_RETURN(const v1::StatusReply status, ControlClient(coordinator_.address()).GetStatus());
    const std::string text = json_ ? show_json_(status) + "\n" : show_(status, coordinator_.address());
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }

 private:
  const std::string name_, summary_, description_;
  const Show show_;
  const ShowJson show_json_;
  CoordinatorFlag coordinator_;
  bool json_ = false;
};

class Shards final : public Command {
 public:
  std::string name() const override { return "shards"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "the shards of a job: records, bytes, which workers own them"; }
  std::string description() const override {
    return "Shards are numbered in the order that ids use: sorted by data root and path.\n\n  penstock shards train";
  }
  void AddFlags(Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("json", &json_, "print JSON instead of a table");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::ListShardsRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    PS_ASSIGN_OR_RETURN(const v1::ListShardsReply reply, ControlClient(coordinator_.address()).ListShards(request));
    if (json_) {
      std::printf("%s\n", MessageToJson(reply).c_str());
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
  CoordinatorFlag coordinator_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewStatus() {
  return std::make_unique<StatusCommand>("status", "jobs, workers and readers at one look", "  penstock status",
                                         Overview, [](const v1::StatusReply& s) { return MessageToJson(s); });
}

std::unique_ptr<Command> NewJobs() {
  return std::make_unique<StatusCommand>(
      "jobs", "the jobs and their states", "A job is preparing, ready, failed (with the reason) or cancelled.",
      [](const v1::StatusReply& s, const std::string&) { return JobsTable(s); },
      [](const v1::StatusReply& s) {
        std::vector<std::string> items;
        for (const auto& job : s.jobs()) items.push_back(MessageToJson(job));
        return Json::Array(items);
      });
}

std::unique_ptr<Command> NewWorkers() {
  return std::make_unique<StatusCommand>(
      "workers", "the workers: load, memory, what they own", "A worker is live, draining, dead or left.",
      [](const v1::StatusReply& s, const std::string&) { return WorkersTable(s); },
      [](const v1::StatusReply& s) {
        std::vector<std::string> items;
        for (const auto& worker : s.workers()) items.push_back(MessageToJson(worker));
        return Json::Array(items);
      });
}

std::unique_ptr<Command> NewShards() { return std::make_unique<Shards>(); }

}  // namespace penstock::cli
