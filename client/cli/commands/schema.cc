#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/job_schema.h"

namespace penstock::cli {
namespace {

class Schema final : public Command {
 public:
  std::string name() const override { return "schema"; }
  std::string arguments() const override { return "--json"; }
  std::string summary() const override { return "the messages, fields and ops of a job file, for programs"; }
  std::string description() const override {
    return "Prints what a job file may hold as one JSON object: `root`, `messages` and `enums`, with the types and "
           "the\n"
           "comments of their fields. Python's penstock.Job is made from it.\n\n"
           "  penstock schema --json";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddSwitch("json", &json_, "print JSON; required, because there is no other form");
  }
  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    if (!json_) return UsageError("--json is missing: the schema is for programs; proto/penstock/v1 is for people");
    std::printf("%s\n", JobSchemaJson().c_str());
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSchema() { return std::make_unique<Schema>(); }

}  // namespace penstock::cli
