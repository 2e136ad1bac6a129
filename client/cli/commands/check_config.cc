#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "config/daemon_config.h"
#include "config/job_file.h"
#include "net/message_json.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/sources/dataset_files.h"

namespace penstock::cli {
namespace {

class CheckConfig final : public Command {
 public:
  explicit CheckConfig(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "check-config"; }
  std::string arguments() const override { return "FILE [flags]"; }
  std::string summary() const override { return "list all mistakes in a job or configuration file, by line"; }
  std::string description() const override {
    return "Checks a whole job file, or a daemon's configuration file, and lists each mistake with its line.\n"
           "FILE may be - for standard input. The `# proto-message:` comment of the file decides which of the two it\n"
           "is. In a file without one, the kind with fewer mistakes counts. --kind overrides both.\n\n"
           "  penstock check-config train.textproto";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString("kind", &kind_, "job|daemon", "the kind of the file");
    flags->AddStrings("data-root", &roots_, "[NAME=]DIR", "check that jobs can be read below this folder, too");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string path, OneArgument(arguments, "FILE"));
    const absl::StatusOr<std::string> read = ReadFileOrInput(storage_, path);
    if (absl::IsNotFound(read.status())) return NoJobFile(path);
    if (!read.ok()) return read.status();
    const std::string& text = *read;
    v1::JobSpec job;
    v1::DaemonConfig daemon;
    std::vector<config::Mistake> renamed_of_job, renamed_of_daemon;
    const auto as_job =
        config::CheckJobText(text, augment::CheckPipeline, &job, &renamed_of_job, NameCheckOf(storage_));
    const auto as_daemon = config::CheckDaemonConfigText(text, &daemon, &renamed_of_daemon);
    bool is_job = as_job.size() <= as_daemon.size();
    if (absl::StrContains(text, "proto-message: penstock.v1.JobSpec")) is_job = true;
    if (absl::StrContains(text, "proto-message: penstock.v1.DaemonConfig")) is_job = false;
    if (!kind_.empty()) {
      if (kind_ != "job" && kind_ != "daemon") return UsageError("--kind is job or daemon");
      is_job = kind_ == "job";
    }
    const auto& mistakes = is_job ? as_job : as_daemon;
    if (mistakes.empty()) PS_RETURN_IF_ERROR(LocalData(storage_, roots_).Roots().status());
    std::vector<std::string> warnings = config::MistakeLines(path, is_job ? renamed_of_job : renamed_of_daemon);
    if (is_job && mistakes.empty()) {
      for (std::string& warning : WarningsOf(job, 0)) warnings.push_back(std::move(warning));
    }
    if (json_) {
      PrintJson(path, is_job, mistakes, warnings, job);
    } else if (mistakes.empty()) {
      PrintWarnings(warnings);
      std::printf("%s: a correct %s\n", path == "-" ? "standard input" : path.c_str(),
                  is_job ? "job file" : "daemon configuration");
    } else {
      std::printf("%s\n", std::string(config::MistakesToStatus(path, mistakes).message()).c_str());
    }
    if (mistakes.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(mistakes.size(), mistakes.size() == 1 ? " mistake" : " mistakes",
                                                   " in ", path, ", read as a ",
                                                   is_job ? "job file" : "daemon configuration"));
  }

 private:
  static void PrintJson(const std::string& path, bool is_job, const std::vector<config::Mistake>& mistakes,
                        const std::vector<std::string>& warnings, const v1::JobSpec& job) {
    std::vector<std::string> items;
    for (const config::Mistake& mistake : mistakes) {
      items.push_back(
          Json().Field("line", mistake.line).Field("field", mistake.field).Field("message", mistake.message).Object());
    }
    Json json;
    json.Field("file", path)
        .Field("kind", is_job ? "job" : "daemon")
        .Field("ok", mistakes.empty())
        .Raw("mistakes", Json::Array(items))
        .Raw("warnings", Json::QuotedArray(warnings));
    if (is_job && mistakes.empty()) json.Raw("job", net::MessageToJson(job));
    std::printf("%s\n", json.Object().c_str());
  }

  storage::Storage* const storage_;
  bool json_ = false;
  std::string kind_;
  std::vector<std::string> roots_;
};

}  // namespace

std::unique_ptr<Command> NewCheckConfig(storage::Storage* storage) { return std::make_unique<CheckConfig>(storage); }

}  // namespace penstock::cli
