// `penstock trace`: writes the activity of the threads of a job's workers and trainers to a file for ui.perfetto.dev.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "base/temporaries.h"
#include "base/version.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/trace/trace_json.h"

namespace penstock::cli {
namespace {

constexpr uint64_t kMostSeconds = 60;
constexpr Nanos kAskEvery = 200 * kMillisecond;

// The file of each record of a job's snapshot.
class Places {
 public:
  explicit Places(const v1::ListShardsReply& shards) {
    uint64_t records = 0;
    for (const v1::ListShardsReply::ShardStatus& shard : shards.shards()) {
      begins_.push_back(records);
      paths_.push_back(shard.shard().path());
      records += shard.shard().records();
    }
    records_ = records;
  }
  bool Find(uint64_t record, std::string* file, uint64_t* number) const {
    if (record >= records_) return false;
    // An empty shard begins at the same record as the next one.
    const auto shard = std::upper_bound(begins_.begin(), begins_.end(), record) - begins_.begin() - 1;
    *file = paths_[static_cast<size_t>(shard)];
    *number = record - begins_[static_cast<size_t>(shard)];
    return true;
  }

 private:
  std::vector<uint64_t> begins_;
  std::vector<std::string> paths_;
  uint64_t records_ = 0;
};

class Trace final : public Command {
 public:
  std::string name() const override { return "trace"; }
  std::string arguments() const override { return "JOB [flags]"; }
  std::string summary() const override { return "what a job's threads do when, as a file for ui.perfetto.dev"; }
  std::string description() const override {
    return "Has the workers and trainers of a job record for some seconds what their threads\n"
           "do: each row's reading, parsing, decoding and ops, sending, receiving, copying\n"
           "into the batch, and the trainer's waiting, all on one clock. Writes a file in\n"
           "Chrome's trace format: open it at https://ui.perfetto.dev (it stays on your\n"
           "machine). docs/trace.md explains it. Run the command while the job is read.\n\n"
           "  penstock trace train --seconds 5 --out train-trace.json";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddUint("seconds", &seconds_, "N", "record for so long, 1 to 60 (default: 5)");
    flags->AddString("out", &out_, "FILE", "the file to write (default: JOB-trace.json)");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    v1::StartTraceRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_job(), OneArgument(arguments, "JOB"));
    if (seconds_ == 0 || seconds_ > kMostSeconds) {
      return UsageError(absl::StrCat("--seconds ", seconds_, ": 1 to ", kMostSeconds));
    }
    request.set_seconds(static_cast<uint32_t>(seconds_));
    const std::string out = out_.empty() ? absl::StrCat(request.job(), "-trace.json") : out_;
    PS_ASSIGN_OR_RETURN(TraceInput input, Take(request));
    ControlClient client(coordinator_);
    v1::ListShardsRequest ask_shards;
    ask_shards.set_job(request.job());
    const absl::StatusOr<v1::ListShardsReply> shards = client.ListShards(ask_shards);
    if (!shards.ok()) {
      std::fprintf(stderr, "penstock: the trace has no file names of rows: %s\n",
                   std::string(shards.status().message()).c_str());
    }
    const Places places(shards.ok() ? *shards : v1::ListShardsReply());
    input.place = [&places](uint64_t record, std::string* file, uint64_t* number) {
      return places.Find(record, file, number);
    };
    TraceSummary summary;
    const std::string json = TraceJson(input, &summary);
    // Until the file is written, ignore Ctrl-C: the file is complete or does not exist.
    std::signal(SIGINT, SIG_IGN);
    RemoveTemporariesOf(out);
    PS_RETURN_IF_ERROR(WriteFileAtomically(out, json));
    std::signal(SIGINT, SIG_DFL);
    Say(input, summary, out, json.size());
    return absl::OkStatus();
  }

 private:
  // Starts the trace and waits until all parts have arrived.
  absl::StatusOr<TraceInput> Take(const v1::StartTraceRequest& request) {
    ControlClient client(coordinator_);
    PS_ASSIGN_OR_RETURN(const v1::StartTraceReply started, client.StartTrace(request));
    TraceInput input;
    input.job = request.job();
    input.version = std::string(Version());
    ProgressBar bar(absl::StrCat("tracing ", request.job()));
    const double length = static_cast<double>(started.begin_in_ms()) / 1000 + static_cast<double>(seconds_);
    const Nanos begun = Clock::Real()->Now();
    v1::GetTraceRequest get;
    get.set_trace(started.trace());
    for (;;) {
      PS_ASSIGN_OR_RETURN(v1::GetTraceReply reply, client.GetTrace(get));
      for (v1::TracePart& part : *reply.mutable_parts()) input.parts.push_back(std::move(part));
      input.refused_parts = reply.refused_parts();
      if (reply.complete()) {
        input.missing.assign(reply.missing().begin(), reply.missing().end());
        break;
      }
      const double passed = static_cast<double>(Clock::Real()->Now() - begun) / kSecond;
      bar.Update(std::min(1.0, passed / length), absl::StrFormat("%.0f of %.0f s", std::min(passed, length), length));
      if (reply.parts().empty()) Clock::Real()->Pause(kAskEvery);
    }
    bar.Finish();
    if (std::none_of(input.parts.begin(), input.parts.end(), [](const auto& part) { return part.worker(); })) {
      std::string why;
      for (const v1::MissingProcess& missing : input.missing) {
        if (missing.worker()) absl::StrAppend(&why, "; worker ", missing.process(), ": ", missing.why());
      }
      return absl::UnavailableError(
          absl::StrCat("job ", request.job(), " was not traced: none of its workers uploaded events", why));
    }
    return input;
  }

  static void Say(const TraceInput& input, const TraceSummary& summary, const std::string& out, size_t bytes) {
    for (const v1::MissingProcess& missing : input.missing) {
      std::fprintf(stderr, "penstock: the trace lacks %s %s: %s\n",
                   missing.worker() ? "worker" : "the trainer with session", missing.process().c_str(),
                   missing.why().c_str());
    }
    if (summary.trainers == 0) std::fprintf(stderr, "penstock: the trace has no trainer\n");
    if (summary.dropped + input.refused_parts > 0) {
      std::fprintf(stderr,
                   "penstock: %s did not fit, the oldest of their threads; a trace of fewer --seconds has all\n",
                   Count(summary.dropped, "event").c_str());
    }
    std::printf("%s: %.1f s of job %s, %s of %s and %s, %s (%s)\nopen it at https://ui.perfetto.dev\n", out.c_str(),
                summary.seconds, input.job.c_str(), Count(summary.rows, "row").c_str(),
                Count(static_cast<uint64_t>(summary.workers), "worker").c_str(),
                Count(static_cast<uint64_t>(summary.trainers), "trainer").c_str(),
                Count(summary.events, "event").c_str(), HumanBytes(bytes).c_str());
  }

  CoordinatorFlags coordinator_;
  uint64_t seconds_ = 5;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> NewTrace() { return std::make_unique<Trace>(); }

}  // namespace penstock::cli
