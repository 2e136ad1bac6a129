// penstock: the admin command.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/commit.h"
#include "base/heap.h"
#include "base/json.h"
#include "base/near_name.h"
#include "base/open_files.h"
#include "client/cli/all_commands.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/stop_signals.h"
#include "net/grpc_log.h"
#include "net/resolver.h"
#include "pipeline/storage/files.h"

namespace penstock::cli {
namespace {

constexpr int kFailed = 1, kUsage = 2;

std::string HelpOf(Command& command, const config::Flags& flags) {
  std::string out =
      absl::StrCat("usage: penstock ", command.name(), " ", command.arguments(), "\n\n", command.description(), "\n");
  const std::string help = flags.Help();
  if (!help.empty()) absl::StrAppend(&out, "\nflags:\n", help);
  return out;
}

int Main(std::vector<std::string> args) {
  const auto commands = AllCommands(storage::AnyFiles());
  if (args.size() == 2 && args[0] == "help") args = {args[1], "--help"};
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    std::fputs(OverviewText(commands).c_str(), args.empty() ? stderr : stdout);
    return args.empty() ? kUsage : 0;
  }
  if (args[0] == "--version") {
    std::printf("penstock %s (commit %s)\n", PENSTOCK_VERSION, std::string(Commit()).c_str());
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : commands) {
    names.push_back(command->name());
    if (command->name() != args[0]) continue;
    config::Flags flags;
    command->AddFlags(&flags);
    const std::vector<std::string> rest(args.begin() + 1, args.end());
    for (const std::string& arg : rest) {
      if (arg == "--") break;
      if (arg == "--help" || arg == "-h") {
        std::fputs(HelpOf(*command, flags).c_str(), stdout);
        return 0;
      }
    }
    absl::Status status;
    if (auto arguments = flags.Parse(rest); arguments.ok()) {
      status = command->Run(*arguments);
    } else {
      status = UsageError(std::string(arguments.status().message()));
    }
    if (status.ok()) return 0;
    std::fflush(stdout);
    if (const char* form = std::getenv("PENSTOCK_ERRORS"); form != nullptr && std::string_view(form) == "json") {
      // For programs that run this one and must distinguish errors.
      std::fprintf(stderr, "%s\n",
                   Json()
                       .Field("code", absl::StatusCodeToString(status.code()))
                       .Field("message", std::string(status.message()))
                       .Object()
                       .c_str());
      if (absl::IsCancelled(status) && StopSignals::Came() != 0) DieOf(StopSignals::Came());
      return IsUsageError(status) ? kUsage : kFailed;
    }
    std::fprintf(stderr, "penstock %s: %s\n", args[0].c_str(), std::string(status.message()).c_str());
    if (absl::IsCancelled(status) && StopSignals::Came() != 0) DieOf(StopSignals::Came());
    if (!IsUsageError(status)) return kFailed;
    std::fprintf(stderr, "usage: penstock %s %s   (see penstock %s --help)\n", args[0].c_str(),
                 command->arguments().c_str(), args[0].c_str());
    return kUsage;
  }
  std::fprintf(stderr, "penstock: there is no command '%s'%s; `penstock --help` lists them\n", args[0].c_str(),
               DidYouMean(args[0], names).c_str());
  return kUsage;
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  penstock::RaiseOpenFileLimit();
  penstock::IgnoreFileSizeSignal();
  penstock::KeepFreedMemory(size_t{64} << 20);  // received rows that wait to be copied are about 32 MiB
  penstock::net::QuietGrpcLog();
  penstock::net::UseHostResolver();
  return penstock::cli::Main(std::vector<std::string>(argv + 1, argv + argc));
}
