// The functions that create the commands.
#ifndef PENSTOCK_CLIENT_CLI_COMMANDS_H_
#define PENSTOCK_CLIENT_CLI_COMMANDS_H_

#include <memory>

#include "client/cli/command.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

// `storage` opens all files and objects that a user may name, and must outlive the command.
//
// Local commands, which need no daemon.
std::unique_ptr<Command> NewInit(storage::Storage* storage);
std::unique_ptr<Command> NewIndex(storage::Storage* storage);
std::unique_ptr<Command> NewVerify(storage::Storage* storage);
std::unique_ptr<Command> NewSelect(storage::Storage* storage);
std::unique_ptr<Command> NewPreview(storage::Storage* storage);
std::unique_ptr<Command> NewBench(storage::Storage* storage);
std::unique_ptr<Command> NewCache();
std::unique_ptr<Command> NewCheckConfig(storage::Storage* storage);
std::unique_ptr<Command> NewImport(storage::Storage* storage);
std::unique_ptr<Command> NewBake(storage::Storage* storage);
std::unique_ptr<Command> NewConvert();
std::unique_ptr<Command> NewPack(storage::Storage* storage);
std::unique_ptr<Command> NewSchema();
std::unique_ptr<Command> NewOps();
std::unique_ptr<Command> NewToken();
std::unique_ptr<Command> NewManual(storage::Storage* storage);
// For trainers in other languages and for the Python package, not for direct use.
std::unique_ptr<Command> NewFeed(storage::Storage* storage);
std::unique_ptr<Command> NewFetch(storage::Storage* storage);
// Commands that call the coordinator.
std::unique_ptr<Command> NewSubmit(storage::Storage* storage);
std::unique_ptr<Command> NewRead(storage::Storage* storage);
std::unique_ptr<Command> NewStatus();
std::unique_ptr<Command> NewDescribe();
std::unique_ptr<Command> NewExplain();
std::unique_ptr<Command> NewTop();
std::unique_ptr<Command> NewTrace();
std::unique_ptr<Command> NewSupport();
std::unique_ptr<Command> NewJobs();
std::unique_ptr<Command> NewWorkers();
std::unique_ptr<Command> NewShards();
std::unique_ptr<Command> NewContinue(storage::Storage* storage);
std::unique_ptr<Command> NewQuarantine();
std::unique_ptr<Command> NewDoctor();
std::unique_ptr<Command> NewDrain();
std::unique_ptr<Command> NewRevoke();
std::unique_ptr<Command> NewCancel();
std::unique_ptr<Command> NewDelete();
std::unique_ptr<Command> NewPause();
std::unique_ptr<Command> NewResume();
// Calls any daemon.
std::unique_ptr<Command> NewHealth();

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_COMMANDS_H_
