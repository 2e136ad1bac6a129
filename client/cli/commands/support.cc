// `penstock support`: collects facts of all processes in one file.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/host_facts.h"
#include "base/runtime/clock.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/output.h"
#include "client/cli/support_archive.h"
#include "net/message_json.h"

namespace penstock::cli {
namespace {

constexpr Nanos kFetchEvery = 200 * kMillisecond;
// The whole command takes at most 30 s. A call may take the rest of kCollect and its own timeout.
constexpr Nanos kCollect = 21 * kSecond;
constexpr Nanos kFetch = 12 * kSecond;  // the part of it that is left to fetch files after the descriptions
constexpr absl::Duration kCallTimeout = absl::Seconds(4);
// Jobs, and workers, that are described.
constexpr int kMostDescribed = 200;

class Support final : public Command {
 public:
  std::string name() const override { return "support"; }
  std::string arguments() const override { return "FILE.tar.zst [flags]"; }
  std::string summary() const override {
    return "collect status, logs, settings and facts of all processes in one file";
  }
  std::string description() const override {
    return "Writes one file for the people who help you: status, descriptions, explanations, and of the coordinator\n"
           "and of each worker the last 1,000 log lines, metrics, configuration and facts about the host. It has\n"
           "the paths of keys and tokens, never their contents, and no records. Names of hosts, users, jobs and data\n"
           "files are in it. Takes at most 30 s and 50 MiB. A process that does not answer is named, in the file too;\n"
           "the exit code is then 1. Needs the role operator. docs/describe.md lists the contents.\n\n"
           "  penstock support support.tar.zst && tar -tf support.tar.zst";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("replace", &replace_, "replace FILE.tar.zst if it exists");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string path, OneArgument(arguments, "FILE.tar.zst"));
    if (!replace_ && access(path.c_str(), F_OK) == 0) {
      return absl::AlreadyExistsError(absl::StrCat(path, " exists; name another file, or use --replace"));
    }
    end_ = Clock::Real()->Now() + kCollect;
    contents_["command/host.txt"] = HostFacts();
    Collect();
    for (std::string& note : FitSupportContents(kMostSupportBytes, &contents_)) notes_.push_back(std::move(note));
    contents_["README.txt"] = Index();
    PS_ASSIGN_OR_RETURN(const std::string archive, SupportArchive(contents_, absl::ToUnixSeconds(absl::Now())));
    PS_RETURN_IF_ERROR(WritePrivateFile(path, archive, replace_));
    std::printf("%s: %s of %s, %s\n", path.c_str(), Count(contents_.size(), "file").c_str(), ProcessCount().c_str(),
                HumanBytes(archive.size()).c_str());
    for (const std::string& note : notes_) std::printf("  %s\n", note.c_str());
    if (missing_.empty()) return absl::OkStatus();
    std::fflush(stdout);
    return absl::UnavailableError(absl::StrCat(path, " is written, but it lacks ", absl::StrJoin(missing_, "; ")));
  }

 private:
  bool HasTime() const { return Clock::Real()->Now() < end_; }

  void Collect() {
    ControlClient client(coordinator_, kCallTimeout);
    const absl::StatusOr<v1::StatusReply> status = client.GetStatus();
    if (!status.ok()) {
      missing_.push_back(absl::StrCat("everything but this host: ", status.status().message()));
      return;
    }
    contents_["status.json"] = net::MessageToJson(*status);
    release_ = status->version();
    const absl::StatusOr<v1::StartSupportReply> started = client.StartSupport();
    if (!started.ok()) {
      missing_.push_back(absl::StrCat("the files of coordinator and workers: ", started.status().message()));
    }
    if (const absl::StatusOr<v1::ExplainReply> explained = client.Explain(v1::ExplainRequest()); explained.ok()) {
      contents_["explain.json"] = net::MessageToJson(*explained);
    } else {
      notes_.push_back(absl::StrCat("explain.json is missing: ", explained.status().message()));
    }
    Describe(client, *status);
    if (started.ok()) Fetch(client, started->id());
  }

  void Describe(ControlClient& client, const v1::StatusReply& status) {
    std::vector<std::pair<std::string, std::string>> names;  // to describe, and the path
    for (int i = 0; i < std::min(status.jobs_size(), kMostDescribed); ++i) {
      names.emplace_back(status.jobs(i).name(), absl::StrCat("jobs/", ComponentOf(status.jobs(i).name()), ".json"));
    }
    for (int i = 0; i < std::min(status.workers_size(), kMostDescribed); ++i) {
      const v1::WorkerStatus& worker = status.workers(i);
      names.emplace_back(worker.id(), absl::StrCat("workers/", ComponentOf(worker.id()), ".json"));
    }
    size_t described = 0;
    const int all = status.jobs_size() + status.workers_size();
    for (const auto& [name, path] : names) {
      if (Clock::Real()->Now() > end_ - kFetch) break;
      v1::DescribeRequest request;
      request.set_name(name);
      const absl::StatusOr<v1::DescribeReply> reply = client.Describe(request);
      if (absl::IsUnimplemented(reply.status())) break;
      if (!reply.ok()) continue;
      contents_[path] = net::MessageToJson(*reply);
      ++described;
    }
    if (described < static_cast<size_t>(all)) {
      notes_.push_back(absl::StrCat(described, " of ", all, " jobs and workers are described"));
    }
  }

  void Fetch(ControlClient& client, uint64_t id) {
    v1::GetSupportRequest request;
    request.set_id(id);
    ProgressBar bar("collecting");
    for (;;) {
      absl::StatusOr<v1::GetSupportReply> reply = client.GetSupport(request);
      if (!reply.ok()) {
        missing_.push_back(absl::StrCat("files of some processes: ", reply.status().message()));
        return;
      }
      for (v1::SupportPart& part : *reply->mutable_parts()) Take(&part);
      bar.Update(reply->done() ? 1 : 0.5, ProcessCount());
      if (reply->done()) {
        missing_.insert(missing_.end(), reply->missing().begin(), reply->missing().end());
        return;
      }
      if (!HasTime()) {
        missing_.push_back("files of some processes: the coordinator took too long");
        return;
      }
      if (reply->parts().empty()) Clock::Real()->Pause(kFetchEvery);
    }
  }

  void Take(v1::SupportPart* part) {
    std::string folder = ComponentOf(part->process());
    while (!folders_.insert(folder).second) folder += "_";  // two names that differ in other characters only
    processes_.push_back(part->process());
    for (v1::SupportFile& file : *part->mutable_files()) {
      contents_[absl::StrCat(folder.substr(0, 70), "/", ComponentOf(file.name()).substr(0, 28))] =
          std::move(*file.mutable_content());
    }
  }

  std::string ProcessCount() const {
    return absl::StrCat(processes_.size(), processes_.size() == 1 ? " process" : " processes");
  }

  std::string Index() const {
    std::string out = absl::StrCat(
        "Support file of Penstock, ", absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()),
        "\ncoordinator ", coordinator_.address(), ": penstock ", release_.empty() ? "unknown" : release_,
        "\nthis command: penstock ", std::string(Version()), "\n\nProcesses with files:\n");
    for (const std::string& process : processes_) absl::StrAppend(&out, "  ", process, "\n");
    absl::StrAppend(&out, "Missing:\n", missing_.empty() ? "  nothing\n" : "");
    for (const std::string& missing : missing_) absl::StrAppend(&out, "  ", missing, "\n");
    for (const std::string& note : notes_) absl::StrAppend(&out, "Note: ", note, "\n");
    return out;
  }

  CoordinatorFlags coordinator_;
  bool replace_ = false;
  Nanos end_ = 0;
  std::string release_;  // the coordinator's; "": unknown
  SupportContents contents_;
  std::set<std::string> folders_;
  std::vector<std::string> processes_, missing_, notes_;
};

}  // namespace

std::unique_ptr<Command> NewSupport() { return std::make_unique<Support>(); }

}  // namespace penstock::cli
