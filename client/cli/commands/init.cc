#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/job_argument.h"
#include "client/cli/local_data.h"

namespace penstock::cli {
namespace {

class Init final : public Command {
 public:
  std::string name() const override { return "init"; }
  std::string arguments() const override { return "GLOB [flags]"; }
  std::string summary() const override { return "write a job file from what the first records hold"; }
  std::string description() const override {
    return "Looks at the first records of the first shards and writes a job that fits them: features with their types\n"
           "and shapes, and, where there is an image, a training recipe. Read it, change it, then submit it. A folder\n"
           "stands for all files in it.\n\n"
           "  penstock init '/data/train-*' --out train.textproto";
  }
  void AddFlags(Flags* flags) override {
    data_.AddFlags(flags);
    flags->AddString("out", &out_, "FILE", "where to write the job (default: standard output)");
    flags->AddSwitch("force", &force_, "replace FILE when it is there");
    flags->AddString("name", &name_, "NAME", "the job's name (default: from the glob)");
    flags->AddUint("records", &records_, "N", "how many records to look at (default: 100)");
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    PS_ASSIGN_OR_RETURN(const std::string glob, OneArgument(arguments, "GLOB"));
    if (!out_.empty() && !force_ && StatFile(out_).ok()) {
      return absl::AlreadyExistsError(absl::StrCat(out_, " is there already; --force replaces it"));
    }
    PS_ASSIGN_OR_RETURN(const std::string text, MakeJobText(data_, glob, name_, records_));
    if (out_.empty()) {
      std::fputs(text.c_str(), stdout);
      return absl::OkStatus();
    }
    PS_RETURN_IF_ERROR(WriteFileAtomically(out_, text));
    std::printf("wrote %s; `penstock preview %s --out sheet.png` shows what it makes\n", out_.c_str(), out_.c_str());
    return absl::OkStatus();
  }

 private:
  LocalData data_;
  std::string out_, name_;
  bool force_ = false;
  uint64_t records_ = 100;
};

}  // namespace

std::unique_ptr<Command> NewInit() { return std::make_unique<Init>(); }

}  // namespace penstock::cli
