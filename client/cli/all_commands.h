// The list of all commands.
#ifndef PENSTOCK_CLIENT_CLI_ALL_COMMANDS_H_
#define PENSTOCK_CLIENT_CLI_ALL_COMMANDS_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "config/manual/program_text.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {

// Returns all commands in the order of the overview. `storage` must outlive them. It may be null if no command runs.
std::vector<std::unique_ptr<Command>> AllCommands(storage::Storage* storage);

// Returns the text of `penstock --help`.
std::string OverviewText(const std::vector<std::unique_ptr<Command>>& commands);

// Returns the texts of all commands, for man pages and completions.
config::ProgramText ProgramTextOf(const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_ALL_COMMANDS_H_
