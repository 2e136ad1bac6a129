// `penstock continue`.
#include <cstdio>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/blend_start_text.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "client/cli/local_job.h"
#include "client/cli/output.h"
#include "client/cli/state_file.h"
#include "config/job_file.h"
#include "net/job_mirror.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/plan/state.h"
#include "pipeline/sources/blend_start.h"
#include "pipeline/sources/snapshot_proto.h"

namespace penstock::cli {
namespace {

class Continue final : public Command {
 public:
  explicit Continue(storage::Storage* storage) : local_(storage) {}

  std::string name() const override { return "continue"; }
  std::string arguments() const override { return "NEW.textproto --of OLD --state FILE [flags]"; }
  std::string summary() const override { return "a blend that continues a run with other weights or data sets"; }
  std::string description() const override {
    return "Writes the job NEW with a place (blend.start) from which it continues the run of the job OLD: that of the\n"
           "saved state. From there on, the rows have the weights and data sets of NEW. A data set of both gives\n"
           "its next row, so no row is lost or comes twice. A data set that OLD lacks begins with its first row.\n"
           "A trainer then reads the written job from the same state.\n"
           "OLD is a job file, or the name of a job at the coordinator, before another one replaces it.\n\n"
           "  penstock continue new.textproto --of train --state train.state --out second.textproto\n"
           "  penstock submit second.textproto --replace";
  }
  void AddFlags(config::Flags* flags) override {
    local_.AddFlags(flags);
    coordinator_.AddTo(flags);
    flags->AddString("of", &old_, "OLD",
                     "the job of the run: a .textproto or a path, otherwise a name at the coordinator; required");
    flags->AddString("state", &state_, "FILE", "a state of the run, as a reader saved it; required");
    flags->AddString("out", &out_, "FILE", "where to write the job (default: standard output)");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string path, OneArgument(arguments, "NEW.textproto"));
    if (old_.empty()) return UsageError("--of OLD is missing: the job of the run");
    if (state_.empty()) return UsageError("--state FILE is missing: a state of the run");
    PS_ASSIGN_OR_RETURN(const std::string text, ReadFileOrInput(local_.data().storage(), path));
    v1::JobSpec job;
    PS_RETURN_IF_ERROR(config::MistakesToStatus(path, config::CheckJobText(text, augment::CheckPipeline, &job)));
    if (!job.has_blend()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the job has no blend; add blend { }, and a name and a weight for each data set"));
    }
    const bool repeats = job.dataset(0).repeats() != 0;  // then so have all data sets
    if (repeats || job.order().repeats() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(path, repeats ? ": dataset.repeats" : ": order.repeats",
                                                     ": the length of an epoch is that of the run; ",
                                                     repeats ? "give weights" : "leave it out"));
    }
    PS_ASSIGN_OR_RETURN(const std::optional<SavedState> saved, LoadStateFile(state_));
    if (!saved.has_value()) return absl::NotFoundError(absl::StrCat("--state ", state_, ": there is no such file"));
    PS_ASSIGN_OR_RETURN(const plan::SessionState state, plan::ParseState(saved->text));
    PS_ASSIGN_OR_RETURN(const v1::BlendStart start, StartOf(state));
    const uint64_t rows = job.blend().epoch_rows();
    if (rows != 0 && rows != start.epoch_rows()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": blend.epoch_rows: ", rows, "; an epoch of ", old_,
                                                     " has ", start.epoch_rows(),
                                                     " rows, and keeps this length for the whole run"));
    }
    const std::optional<std::string> made = WithBlendStart(text, start, rows == 0);
    if (!made.has_value()) return absl::InvalidArgumentError(absl::StrCat(path, ": write blend { } with its braces"));
    v1::JobSpec checked;
    PS_RETURN_IF_ERROR(config::MistakesToStatus("the job that would be written",
                                                config::CheckJobText(*made, augment::CheckPipeline, &checked)));
    if (out_.empty()) {
      std::fputs(made->c_str(), stdout);
    } else {
      PS_RETURN_IF_ERROR(WriteFileAtomically(out_, *made));
    }
    Report(start, checked);
    return absl::OkStatus();
  }

 private:
  // Returns the start of a blend that continues the old job.
  absl::StatusOr<v1::BlendStart> StartOf(const plan::SessionState& state) const {
    if (absl::EndsWith(old_, ".textproto") || absl::StrContains(old_, "/")) {
      PS_ASSIGN_OR_RETURN(const v1::JobSpec spec, local_.Load(old_));
      PS_ASSIGN_OR_RETURN(const auto job, local_.Open(spec, AvailableCpus()));
      return sources::MakeBlendStart(spec, job->reader().snapshot(), job->order(), state);
    }
    PS_ASSIGN_OR_RETURN(const v1::Job job, ServedJob());
    PS_ASSIGN_OR_RETURN(const auto order, OrderOf(job));
    PS_ASSIGN_OR_RETURN(const sources::Snapshot snapshot, sources::SnapshotOf(job.snapshot()));
    return sources::MakeBlendStart(job.spec(), snapshot, *order, state);
  }

  // Returns the old job with its snapshot, from the coordinator.
  absl::StatusOr<v1::Job> ServedJob() const {
    ControlClient client(coordinator_);
    PS_RETURN_IF_ERROR(client.GetStatus(old_).status());  // an error names a job that is not there
    net::JobMirror mirror(old_);
    PS_ASSIGN_OR_RETURN(const v1::WatchReply reply, client.Watch(mirror.NextRequest(0)));
    PS_RETURN_IF_ERROR(mirror.Apply(reply).status());
    const net::WatchedJob* const job = mirror.Find(old_);
    if (job == nullptr || job->metadata == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("the coordinator has no records of job '", old_,
                                                        "' now; `penstock status ", old_,
                                                        "` shows its state; give its file in the place of its name"));
    }
    return net::ToJob(*job);
  }

  // Prints what becomes of each data set. Standard output may be the job.
  void Report(const v1::BlendStart& start, const v1::JobSpec& job) const {
    std::FILE* const out = out_.empty() ? stderr : stdout;
    std::fprintf(out, "%s%scontinues at epoch %s, position %s:\n", out_.c_str(), out_.empty() ? "" : " ",
                 Count(start.epoch()).c_str(), Count(start.position()).c_str());
    std::map<std::string, uint64_t> rows;
    for (const v1::SetStart& set : start.sets()) rows[set.key()] = set.rows();
    for (const v1::Dataset& dataset : job.dataset()) {
      const auto found = rows.find(dataset.name());
      if (found == rows.end()) {
        std::fprintf(out, "  %s is new: it begins with its first row\n", dataset.name().c_str());
      } else {
        std::fprintf(out, "  %s continues after %s\n", dataset.name().c_str(), Count(found->second, "row").c_str());
        rows.erase(found);
      }
    }
    for (const auto& [name, count] : rows) {
      std::fprintf(out, "  %s has no more rows after %s\n", name.c_str(), Count(count, "row").c_str());
    }
    const uint64_t place = start.epoch() * start.epoch_rows() + start.position();
    for (int i = job.blend().change_size() - 1; i >= 0; --i) {
      if (job.blend().change(i).at_rows() > place) continue;
      PrintWarning(absl::StrCat("blend.change[", i, "] begins at row ", job.blend().change(i).at_rows(),
                                ", before this place, so its weights hold, and not those of `dataset`"));
      break;
    }
  }

  LocalJob local_;
  CoordinatorFlags coordinator_;
  std::string old_, state_, out_;
};

}  // namespace

std::unique_ptr<Command> NewContinue(storage::Storage* storage) { return std::make_unique<Continue>(storage); }

}  // namespace penstock::cli
