#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_report.h"
#include "client/cli/local_job.h"
#include "client/cli/mix_partners.h"
#include "client/cli/output.h"
#include "client/cli/row_text.h"
#include "pipeline/augment/contact_sheet.h"
#include "pipeline/batch/mix_job.h"
#include "pipeline/plan/job_dataset.h"

namespace penstock::cli {
namespace {

class Preview final : public Command {
 public:
  explicit Preview(storage::Storage* storage) : local_(storage) {}

  std::string name() const override { return "preview"; }
  std::string arguments() const override { return "JOB.textproto|GLOB [--out X.png] [flags]"; }
  std::string summary() const override {
    return "what a job's pipeline really makes: a contact sheet, or rows as text";
  }
  std::string description() const override {
    return "No daemon is needed. Each line of the sheet is a record of the job's own order: the picture as it is, "
           "then\n"
           "what the pipeline makes of it in this epoch and the next ones. What you see is what trainers get.\n"
           "The rows of a job without pictures are shown as text, on standard output or in a .txt file.\n\n"
           "  penstock preview train.textproto --out sheet.png --records 6 --draws 8";
  }
  void AddFlags(config::Flags* flags) override {
    local_.AddFlags(flags);
    flags->AddString(
        "out", &out_, "X.png",
        "where to write the sheet, or X.txt for rows as text (default for jobs without pictures: standard output)");
    flags->AddUint("records", &records_, "N", "lines of the sheet (default: 6)");
    flags->AddUint("draws", &draws_, "K", "draws of each record (default: 6)");
    flags->AddUint("position", &position_, "P", "begin at this position of the epoch (default: 0)");
    flags->AddUint("epoch", &epoch_, "E", "the epoch of the first draw (default: 0)");
    flags->AddString("dataset", &set_, "NAME", "show only this data set of a blend");
    flags->AddUint("cell", &cell_, "PIXELS", "side of a cell (default: 160)");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string argument, OneArgument(arguments, "JOB.textproto or GLOB"));
    const bool as_text = absl::EndsWith(out_, ".txt"), as_sheet = absl::EndsWith(out_, ".png");
    if (!out_.empty() && !as_text && !as_sheet) {
      return UsageError(absl::StrCat("--out ", out_, ": a sheet is a .png, rows of text a .txt"));
    }
    if (records_ == 0 || draws_ == 0 || cell_ == 0)
      return UsageError("--records, --draws and --cell must be at least 1");
    PS_ASSIGN_OR_RETURN(v1::JobSpec spec, local_.Load(argument));
    const bool pictures = augment::HasPictures(plan::JobOfSet(spec, 0));
    if (out_.empty() && pictures) return UsageError("--out X.png is missing");
    PS_ASSIGN_OR_RETURN(spec, ChosenOf(spec, argument));
    PS_ASSIGN_OR_RETURN(const auto job, local_.Open(spec, AvailableCpus()));
    // A sheet shows the ops of one pipeline.
    if (pictures && !as_text && !job->pipelines().are_one()) return DataSetOf(spec, argument, set_).status();
    const sources::Snapshot& snapshot = job->reader().snapshot();
    // The rows before the start of a blend that continues another one are those of no run.
    if (const plan::BlendStart* const start = job->order().start(); start != nullptr && epoch_ + position_ == 0) {
      epoch_ = start->at.epoch + (start->at.position == start->epoch_rows ? 1 : 0);
      position_ = start->at.position % start->epoch_rows;
    }
    const plan::EpochOrder plan = job->PlanOf(epoch_);
    if (position_ >= plan.num_positions()) {
      return UsageError(absl::StrCat("--position ", position_, ": an epoch has ", plan.num_positions(), " positions"));
    }
    PrintWarnings(WarningsOf(job->spec(), plan.num_positions(), job->order().batches()));
    const uint64_t count = std::min(records_, plan.num_positions() - position_);
    std::vector<std::string> bytes(count);
    std::vector<augment::SheetRecord> sheet(count);
    std::vector<uint64_t> numbers;  // in the snapshot
    for (uint64_t i = 0; i < count; ++i) {
      const plan::PlannedRow row = plan.RowAt(position_ + i);
      PS_RETURN_IF_ERROR(job->reader().ReadRecord(row.record, &bytes[i]));
      const sources::RecordRef ref = snapshot.ToShard(row.record);
      PS_ASSIGN_OR_RETURN(const uint64_t number, job->reader().NumberInShard(row.record));
      numbers.push_back(row.record);
      sheet[i].bytes = bytes[i];
      sheet[i].key = loader::SampleKeyOf(row);
      PS_ASSIGN_OR_RETURN(sheet[i].partners, MixPartners(*job, row, static_cast<int>(draws_)));
      sheet[i].caption = absl::StrCat(ShortName(snapshot.shards()[ref.shard].relative_path), " #", number);
    }
    if (as_text || !pictures) {
      PS_ASSIGN_OR_RETURN(const std::string text, RowsText(*job, numbers, sheet));
      if (as_text) return WriteFileAtomically(out_, text);
      std::fputs(text.c_str(), stdout);
      if (out_.empty()) return absl::OkStatus();
      return absl::FailedPreconditionError(absl::StrCat(
          "--out ", out_,
          ": the job has no pictures; its rows are above (without --out, or with --out X.txt, it is text)"));
    }
    augment::SheetOptions options;
    options.draws = static_cast<int>(draws_);
    options.cell = static_cast<int>(cell_);
    PS_ASSIGN_OR_RETURN(const std::string png, augment::RenderContactSheet(job->spec(), sheet, options));
    PS_RETURN_IF_ERROR(WriteFileAtomically(out_, png));
    const bool mixed = job->spec().has_mix();
    std::printf("wrote %s: %s, %s of each%s\n", out_.c_str(), Count(sheet.size(), "record").c_str(),
                Count(static_cast<uint64_t>(options.draws), "draw").c_str(),
                mixed ? ", mixed with the rows of its group in that epoch, as trainers get them" : "");
    std::printf("  %s\n%s%s",
                EpochLine(job->spec(), EpochFactsOf(job->spec(), plan.num_positions(), job->order().batches())).c_str(),
                ShareLines(job->spec(), job->order()).c_str(), ColumnLines(job->spec(), job->schema()).c_str());
    return absl::OkStatus();
  }

 private:
  // Returns the job of the data set of --dataset alone, or the job.
  absl::StatusOr<v1::JobSpec> ChosenOf(const v1::JobSpec& job, const std::string& name) const {
    if (set_.empty()) return job;
    PS_ASSIGN_OR_RETURN(const int set, DataSetOf(job, name, set_));
    v1::JobSpec one = plan::JobOfSet(job, set);
    one.clear_blend();
    one.mutable_dataset(0)->clear_weight();
    one.mutable_dataset(0)->clear_repeats();
    return one;
  }

  // Returns the first draw of each record, or its error if the row cannot be made.
  static absl::StatusOr<std::string> RowsText(const loader::LoadJob& job, const std::vector<uint64_t>& numbers,
                                              const std::vector<augment::SheetRecord>& records) {
    augment::RowScratch scratch;
    std::string text;
    std::optional<batch::MixPlan> plan;
    if (job.spec().has_mix()) {
      PS_ASSIGN_OR_RETURN(plan, batch::MakeMixPlan(job.spec().mix(), job.schema()));
      text = "# mixed with the rows of their groups, as trainers get them\n";
    }
    for (size_t i = 0; i < records.size(); ++i) {
      const augment::SheetRecord& record = records[i];
      std::optional<RowMix> mix;
      if (plan) {
        const bool mixes = !record.partners.empty() && record.partners[0].has_value();
        mix.emplace(RowMix{*plan, mixes ? &*record.partners[0] : nullptr});
      }
      const auto row = RowText(job.PipelineOf(numbers[i]), record.bytes, record.key, &scratch, mix ? &*mix : nullptr);
      absl::StrAppend(&text, record.caption, "\n",
                      row.ok() ? *row : absl::StrCat("  cannot be made: ", row.status().message(), "\n"));
    }
    return text;
  }

  static std::string ShortName(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
  }

  LocalJob local_;
  std::string out_, set_;
  uint64_t records_ = 6, draws_ = 6, position_ = 0, epoch_ = 0, cell_ = 160;
};

}  // namespace

std::unique_ptr<Command> NewPreview(storage::Storage* storage) { return std::make_unique<Preview>(storage); }

}  // namespace penstock::cli
