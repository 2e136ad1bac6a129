// `penstock manual`: man pages and shell completions.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/all_commands.h"
#include "client/cli/commands.h"
#include "config/manual/manual_files.h"

namespace penstock::cli {
namespace {

class Manual final : public Command {
 public:
  explicit Manual(storage::Storage* storage) : storage_(storage) {}
  std::string name() const override { return "manual"; }
  std::string arguments() const override { return "[man|bash|zsh] [flags]"; }
  std::string summary() const override { return "the man page, or the completion for bash or zsh"; }
  std::string description() const override {
    return "Prints the man page, or a completion script. The completion offers commands, flags, files, values, and\n"
           "the names of the coordinator's jobs and workers. Packages install these files. With --out, writes all of\n"
           "them below a folder such as ~/.local/share, where man and bash find them.\n\n"
           "  source <(penstock manual bash)\n"
           "  penstock manual --out ~/.local/share";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString("out", &out_, "DIR", "write all files below this folder, which corresponds to /usr/share");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (arguments.size() > 1) return UsageError(absl::StrCat("unexpected argument: ", arguments[1]));
    const absl::Status status =
        config::RunManual(ProgramTextOf(AllCommands(storage_)), arguments.empty() ? "" : arguments[0], out_);
    return absl::IsInvalidArgument(status) ? UsageError(std::string(status.message())) : status;
  }

 private:
  storage::Storage* const storage_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> NewManual(storage::Storage* storage) { return std::make_unique<Manual>(storage); }

}  // namespace penstock::cli
