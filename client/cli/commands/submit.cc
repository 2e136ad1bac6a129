#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/control_client.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "client/cli/output.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/plan/set_selections.h"

namespace penstock::cli {
namespace {

class Submit final : public Command {
 public:
  explicit Submit(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "submit"; }
  std::string arguments() const override { return "JOB.textproto [flags]"; }
  std::string summary() const override { return "register a job with the coordinator"; }
  std::string description() const override {
    return "Checks the job file, registers the job, and waits until the workers have found and indexed its files and\n"
           "made its first row. Submitting the same job again changes nothing, but prints whether its globs match\n"
           "other files now; --replace uses these. Another job with the same name needs --replace. The old job\n"
           "continues until the new one is ready, and stays if the new one fails. Its readers end when the new job\n"
           "is ready.\n"
           "JOB.textproto may be - for standard input.\n\n"
           "  penstock submit train.textproto";
  }
  void AddFlags(config::Flags* flags) override {
    coordinator_.AddTo(flags);
    flags->AddSwitch("replace", &replace_, "replace another job with this name as soon as this one is ready");
    flags->AddSwitch("allow-missing", &allow_missing_,
                     "keys that none of the first records has are meant: rows come empty");
    flags->AddSwitch("wait", &wait_, "wait until the job is ready (default; --no-wait returns at once)");
    flags->AddSwitch("json", &json_, "print one JSON object instead of text");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string path, OneArgument(arguments, "JOB.textproto"));
    v1::SubmitRequest request;
    PS_ASSIGN_OR_RETURN(*request.mutable_spec(), LoadJobFileOrInput(storage_, path));
    request.set_replace(replace_);
    request.set_allow_missing(allow_missing_);
    ControlClient client(coordinator_);
    v1::Job job;
    bool replaces = false;
    if (wait_) {
      PS_ASSIGN_OR_RETURN(job, SubmitAndWait(client, request, json_));
    } else {
      PS_ASSIGN_OR_RETURN(v1::SubmitReply reply, client.Submit(request));
      replaces = reply.replaces();
      job = std::move(*reply.mutable_job());
    }
    uint64_t records = 0, whole = 0, left_out = 0, bytes = 0;
    for (const v1::Shard& shard : job.snapshot().shards()) {
      records += shard.records();
      whole += shard.whole_records();
      left_out += shard.left_out();
      bytes += shard.data_bytes();
    }
    const bool ready = job.state() == v1::READY;
    std::shared_ptr<const plan::DataOrder> order;  // null before
    if (ready) {
      PS_ASSIGN_OR_RETURN(order, OrderOf(job));
    }
    const EpochFacts facts =
        EpochFactsOf(job.spec(), ready ? order->num_positions() : 0, ready ? order->batches() : nullptr);
    const bool selects = plan::SelectsRecords(job.spec());
    if (ready && selects && !plan::HasSelection(job.snapshot())) {
      return absl::FailedPreconditionError(
          absl::StrCat("job '", job.name(),
                       "' is ready, but its coordinator does not know dataset.select, so it would "
                       "serve all records: cancel the job, and upgrade the coordinator"));
    }
    if (!selects) whole = records;
    std::vector<std::string> warnings =
        WarningsOf(job.spec(), ready ? facts.rows : 0, ready ? order->batches() : nullptr);
    if (const std::string note = FilesNote(job); !note.empty()) warnings.push_back(note);
    if (left_out > 0) warnings.push_back(LeftOutText(left_out));
    if (json_) {
      std::printf("%s\n", AsJson(job, records, whole, bytes, facts, warnings).c_str());
      return absl::OkStatus();
    }
    PrintWarnings(warnings);
    if (!wait_) {
      std::printf("job '%s' is registered; `penstock jobs` shows when it is ready%s\n", job.name().c_str(),
                  replaces ? "; the present job continues until then" : "");
      return absl::OkStatus();
    }
    std::printf("job '%s' is ready: %s%s, %s in %s\n", job.name().c_str(),
                plan::MakesRows(job.spec()) ? absl::StrCat(Count(records, "row"), " of ").c_str()
                : selects                   ? absl::StrCat(Count(records), " of ").c_str()
                                            : "",
                Count(whole, "record").c_str(), HumanBytes(bytes).c_str(),
                Count(static_cast<uint64_t>(job.snapshot().shards_size()), "shard").c_str());
    std::printf("  %s\n%s%s", EpochLine(job.spec(), facts).c_str(), ShareLines(job.spec(), *order).c_str(),
                ColumnLines(job.spec(), SchemaOf(job.columns())).c_str());
    return absl::OkStatus();
  }

 private:
  static std::string AsJson(const v1::Job& job, uint64_t records, uint64_t whole, uint64_t bytes,
                            const EpochFacts& facts, const std::vector<std::string>& warnings) {
    return Json()
        .Field("job", job.name())
        .Field("state", v1::JobState_Name(job.state()))
        .Field("shards", static_cast<uint64_t>(job.snapshot().shards_size()))
        .Field("records", records)
        .Field("records_before_selection", whole)
        .Field("bytes", bytes)
        .Field("rows_per_epoch", facts.rows)
        .Field("steps_per_epoch", facts.steps)
        .Field("rows_dropped_per_epoch", facts.dropped)
        .Field("files_changed", job.files_look().changed())
        .Raw("warnings", Json::QuotedArray(warnings))
        .Object();
  }

  storage::Storage* const storage_;
  CoordinatorFlags coordinator_;
  bool replace_ = false, allow_missing_ = false, wait_ = true, json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSubmit(storage::Storage* storage) { return std::make_unique<Submit>(storage); }

}  // namespace penstock::cli
