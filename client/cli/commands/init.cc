#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/local_data.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

class Init final : public Command {
 public:
  explicit Init(storage::Storage* storage) : data_(storage) {}

  std::string name() const override { return "init"; }
  std::string arguments() const override { return "GLOB|FOLDER [flags]"; }
  std::string summary() const override { return "write a job file from what the first records hold"; }
  std::string description() const override {
    return "Looks at the first records of the first shards and writes a job that fits them: features with their types\n"
           "and shapes, and, where there is an image, a training recipe. Read it, change it, then submit it. A folder\n"
           "stands for all files in it. Records that cannot be read are left out and named, and so is what is "
           "added.\n\n"
           "  penstock init '/data/train-*' --out train.textproto\n"
           "  penstock init '/data/val-*' --eval --out val.textproto";
  }
  void AddFlags(config::Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("out", &out_, "FILE", "where to write the job (default: standard output)");
    flags->AddSwitch("force", &force_, "replace FILE when it is there");
    flags->AddString("name", &name_, "NAME", "the job's name (default: from the glob)");
    flags->AddSwitch(
        "eval", &evaluation_,
        "write an evaluation: resize and center crop, no shuffling, last: PAD, so that each record comes once");
    flags->AddUint("records", &records_, "N", "how many records to look at (default: 100)");
    flags->AddSwitch("json", &json_, "print one JSON object with the written file and the notes");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string glob, OneArgument(arguments, "GLOB or FOLDER"));
    if (records_ == 0) return UsageError("--records must be at least 1");
    if (!out_.empty() && !force_ && StatFile(out_).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(out_, " is there already; --force replaces it"));
    }
    PS_ASSIGN_OR_RETURN(const MadeJob made,
                        MakeJob(data_, glob, name_, records_, evaluation_ ? Recipe::kEvaluation : Recipe::kTraining));
    if (!out_.empty()) PS_RETURN_IF_ERROR(WriteFileAtomically(out_, made.text));
    if (json_) {
      PrintJson(made);
      return absl::OkStatus();
    }
    for (const std::string& note : made.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    if (out_.empty()) {
      std::fputs(made.text.c_str(), stdout);
    } else {
      if (!made.label_range.empty()) std::printf("%s\n", made.label_range.c_str());
      std::printf("wrote %s; `penstock preview %s%s` shows its rows\n", out_.c_str(), out_.c_str(),
                  made.has_pictures ? " --out sheet.png" : "");
    }
    return absl::OkStatus();
  }

 private:
  void PrintJson(const MadeJob& made) const {
    std::vector<std::string> notes;
    for (const std::string& note : made.notes) notes.push_back(Json::Quote(note));
    Json json;
    json.Field("name", made.name)
        .Field("records", made.records)
        .Field("label_range", made.label_range)
        .Raw("notes", Json::Array(notes));
    if (out_.empty()) {
      json.Field("text", made.text);
    } else {
      json.Field("out", out_);
    }
    std::printf("%s\n", json.Object().c_str());
  }

  LocalData data_;
  std::string out_, name_;
  bool force_ = false, json_ = false, evaluation_ = false;
  uint64_t records_ = 100;
};

}  // namespace

std::unique_ptr<Command> NewInit(storage::Storage* storage) { return std::make_unique<Init>(storage); }

}  // namespace penstock::cli
