#include "client/cli/all_commands.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "client/cli/commands.h"

namespace penstock::cli {
namespace {

constexpr char kEpilog[] =
    "A first job on your own shards:\n"
    "  penstockd standalone --data-root /data &\n"
    "  penstock init '/data/train-*' --out train.textproto\n"
    "  penstock preview train.textproto --out sheet.png\n"
    "  penstock submit train.textproto\n"
    "  penstock read train --steps 100\n\n"
    "Commands that talk to the coordinator take --coordinator HOST:PORT (or the environment's\n"
    "PENSTOCK_COORDINATOR; localhost:7070 otherwise).";

template <typename... Commands>
std::vector<std::unique_ptr<Command>> ListOf(Commands... commands) {
  std::vector<std::unique_ptr<Command>> list;
  (list.push_back(std::move(commands)), ...);
  return list;
}

}  // namespace

std::vector<std::unique_ptr<Command>> AllCommands(storage::Storage* storage) {
  return ListOf(NewImport(storage), NewConvert(), NewInit(storage), NewOps(), NewIndex(storage), NewVerify(storage),
                NewSelect(storage), NewSubmit(storage), NewContinue(storage), NewRead(storage), NewStatus(),
                NewDescribe(), NewExplain(), NewTop(), NewTrace(), NewSupport(), NewJobs(), NewWorkers(), NewShards(),
                NewQuarantine(), NewDrain(), NewRevoke(), NewCancel(), NewDelete(), NewPause(), NewResume(),
                NewHealth(), NewDoctor(), NewToken(), NewPreview(storage), NewBench(storage), NewBake(storage),
                NewPack(storage), NewCache(), NewCheckConfig(storage), NewFeed(storage), NewFetch(storage), NewSchema(),
                NewManual(storage));
}

std::string OverviewText(const std::vector<std::unique_ptr<Command>>& commands) {
  std::string out =
      "penstock: data preparation for training, as a service\n\n"
      "usage: penstock COMMAND [ARGUMENTS] [FLAGS]        penstock COMMAND --help\n\n";
  for (const auto& command : commands) {
    std::string name = "  " + command->name();
    name.resize(16, ' ');
    absl::StrAppend(&out, name, command->summary(), "\n");
  }
  absl::StrAppend(&out, "\n", kEpilog, " Exit code: 0 for success,\n1 for failure, 2 for a wrong command line.\n");
  return out;
}

config::ProgramText ProgramTextOf(const std::vector<std::unique_ptr<Command>>& commands) {
  config::ProgramText program;
  program.name = "penstock";
  program.version = std::string(Version());
  program.summary = "data preparation for training, as a service";
  program.synopsis = "COMMAND [ARGUMENTS] [FLAGS]";
  program.description = kEpilog;
  program.see_also = {"penstockd(8)"};
  for (const auto& command : commands) {
    config::Flags flags;
    command->AddFlags(&flags);
    program.commands.push_back(
        {command->name(), command->arguments(), command->summary(), command->description(), flags.Texts()});
  }
  return program;
}

}  // namespace penstock::cli
