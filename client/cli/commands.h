// All commands, in the order of the help text.
#ifndef PENSTOCK_CLIENT_CLI_COMMANDS_H_
#define PENSTOCK_CLIENT_CLI_COMMANDS_H_

#include <memory>

#include "client/cli/command.h"

namespace penstock::cli {

// Local commands, which need no daemon.
std::unique_ptr<Command> NewInit();
std::unique_ptr<Command> NewIndex();
std::unique_ptr<Command> NewVerify();
std::unique_ptr<Command> NewPreview();
std::unique_ptr<Command> NewBench();
std::unique_ptr<Command> NewCache();
std::unique_ptr<Command> NewCheckConfig();
std::unique_ptr<Command> NewImport();
std::unique_ptr<Command> NewBake();
std::unique_ptr<Command> NewPack();
std::unique_ptr<Command> NewSchema();
std::unique_ptr<Command> NewOps();
// For trainers in other languages, not for direct use.
std::unique_ptr<Command> NewFeed();
// Commands that call the coordinator.
std::unique_ptr<Command> NewSubmit();
std::unique_ptr<Command> NewRead();
std::unique_ptr<Command> NewStatus();
std::unique_ptr<Command> NewExplain();
std::unique_ptr<Command> NewTop();
std::unique_ptr<Command> NewTrace();
std::unique_ptr<Command> NewJobs();
std::unique_ptr<Command> NewWorkers();
std::unique_ptr<Command> NewShards();
std::unique_ptr<Command> NewQuarantine();
std::unique_ptr<Command> NewDrain();
std::unique_ptr<Command> NewCancel();
std::unique_ptr<Command> NewDelete();

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_COMMANDS_H_
