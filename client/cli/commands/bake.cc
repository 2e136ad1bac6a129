#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/local_job.h"
#include "client/cli/shard_output.h"
#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/import/bake_source.h"
#include "pipeline/import/job_text.h"

namespace penstock::cli {
namespace {

class Bake final : public Command {
 public:
  explicit Bake(storage::Storage* storage) : local_(storage), output_(storage) {}

  std::string name() const override { return "bake"; }
  std::string arguments() const override { return "JOB.textproto --out DIR [flags]"; }
  std::string summary() const override {
    return "write a job's augmented rows as new shards, with several variants of each record";
  }
  std::string description() const override {
    return "For small data sets that are read many times: the pipeline runs once, and training reads finished rows.\n"
           "Variant v of a record has exactly the bytes of the job's row in epoch v (--format raw). The new shards\n"
           "hold all columns. DIR/job.textproto reads them, with the order, batch and mix of the job. To resume a\n"
           "killed run, repeat the command. Bad records are skipped if the job's errors policy is not FAIL.\n\n"
           "  penstock bake train.textproto --out /data/baked --variants 10\n"
           "  penstock bake train.textproto --out /data/baked-jpeg --variants 10 --format jpeg --quality 95";
  }
  void AddFlags(config::Flags* flags) override {
    flags_ = flags;
    flags->AddUint("variants", &options_.variants, "N", "rows of each record (default: 1)");
    flags->AddUint("epoch", &options_.epoch, "E", "the epoch of the first variant's draws (default: 0)");
    flags->AddString("format", &format_, "raw|jpeg", "uncompressed images, or JPEG (default: raw)");
    flags->AddUint("quality", &quality_, "Q", "quality of the JPEGs, 1 to 100 (default: 90)");
    flags->AddStrings("column", &columns_, "NAME", "a column to compress as JPEG; may be repeated (default: image)");
    output_.AddFlags(flags);
    local_.AddFlags(flags);
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string argument, OneArgument(arguments, "JOB.textproto"));
    PS_RETURN_IF_ERROR(output_.Check(false));
    if (options_.variants == 0) return UsageError("--variants must be at least 1");
    if (format_ != "raw" && format_ != "jpeg") return UsageError(absl::StrCat("--format ", format_, ": raw or jpeg"));
    for (const char* name : {"quality", "column"}) {
      if (format_ == "raw" && flags_->Given(name))
        return UsageError(absl::StrCat("--", name, " goes with --format jpeg"));
    }
    if (quality_ < 1 || quality_ > 100) return UsageError(absl::StrCat("--quality ", quality_, ": 1 to 100"));
    options_.quality = static_cast<int>(quality_);
    if (format_ == "jpeg") options_.jpeg_columns = columns_.empty() ? std::vector<std::string>{"image"} : columns_;

    PS_ASSIGN_OR_RETURN(const v1::JobSpec spec, local_.Load(argument));
    PS_ASSIGN_OR_RETURN(const auto job, local_.Open(spec, output_.threads()));
    PS_ASSIGN_OR_RETURN(const auto source, imports::BakeSource::Create(job, options_));
    const std::string text = source->JobText(imports::JobName(absl::StrCat(spec.name(), "-baked")), output_.Glob());
    v1::JobSpec reading;
    PS_RETURN_IF_ERROR(config::MistakesToStatus("the job that would be written",
                                                config::CheckJobText(text, augment::CheckPipeline, &reading)));
    if (spec.errors().policy() != v1::FAIL) output_.set_skip_bad();
    return output_.Write(*source, "baking", options_.Arguments(), {{"job.textproto", text}},
                         absl::StrCat("next: penstock submit ", output_.folder(), "/job.textproto"));
  }

 private:
  const config::Flags* flags_ = nullptr;
  LocalJob local_;
  ShardOutput output_;
  imports::BakeOptions options_;
  std::string format_ = "raw";
  std::vector<std::string> columns_;
  uint64_t quality_ = 90;
};

}  // namespace

std::unique_ptr<Command> NewBake(storage::Storage* storage) { return std::make_unique<Bake>(storage); }

}  // namespace penstock::cli
